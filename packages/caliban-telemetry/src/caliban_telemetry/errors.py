"""What can be wrong with prices and budgets.

    CalibanError
    ├── RatesError    a rates file cannot be read, or an entry of it is not what its format promises
    └── BudgetError   an amount of money that is none

A model without a price is no error: its price is `None`, and what it costs is unknown.
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class RatesError(CalibanError):
    """The rates cannot be used; the message begins with the file and names the entry."""


class BudgetError(CalibanError):
    """The text is not an amount in dollars."""
