"""Which arguments make an allowed program run, write or fetch something else: a table and a few readers."""

from caliban_permissions.side_effects.row import ArgumentRule, Evidence
from caliban_permissions.side_effects.table import ROWS, side_effects

__all__ = ["ROWS", "ArgumentRule", "Evidence", "side_effects"]
