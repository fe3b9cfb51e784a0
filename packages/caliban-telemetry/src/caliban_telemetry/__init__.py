"""What Caliban runs cost: the ledger and the errors; rates, prices, meters and budgets are in their modules.

Those cost 4 ms to load, which a run spends when its first reply has come.
"""

from caliban_telemetry.errors import BudgetError, RatesError
from caliban_telemetry.ledger import ModelCall, UnlimitedLedger

__all__ = ["BudgetError", "ModelCall", "RatesError", "UnlimitedLedger"]
