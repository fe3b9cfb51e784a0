"""What Caliban runs cost: rates, budgets and meters."""

from caliban_telemetry.account import Account
from caliban_telemetry.book import PriceBook
from caliban_telemetry.budget import Budget, Unpriced, Verdict
from caliban_telemetry.card import CardEntry, RateCard
from caliban_telemetry.errors import BudgetError, RatesError
from caliban_telemetry.format import cost_report, parse_usd, usd
from caliban_telemetry.frames import dollars, model_usage
from caliban_telemetry.meter import CostMeter, MeterRow
from caliban_telemetry.rate import Cost, Rate, Tier

__all__ = [
    "Account",
    "Budget",
    "BudgetError",
    "CardEntry",
    "Cost",
    "CostMeter",
    "MeterRow",
    "PriceBook",
    "Rate",
    "RateCard",
    "RatesError",
    "Tier",
    "Unpriced",
    "Verdict",
    "cost_report",
    "dollars",
    "model_usage",
    "parse_usd",
    "usd",
]
