"""Which arguments make an allowed program run, write or fetch something else: a table and a few readers."""

from caliban_permissions.delegation.row import Evidence, Row
from caliban_permissions.delegation.table import ROWS, delegations

__all__ = ["ROWS", "Evidence", "Row", "delegations"]
