"""What models were paid for, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caliban_commands.answer import ShownTable

if TYPE_CHECKING:
    from caliban_drive.result import ModelUsage


def cost_table(
    spent: Sequence[ModelUsage], total_usd: float | None, *, title: str = "", notes: tuple[str, ...] = ()
) -> ShownTable:
    """A row per model and the total; `None` is a price that nobody knows, `notes` follow the total."""
    rows = tuple(
        (
            model,
            f"{usage.input_tokens:,}",
            f"{usage.output_tokens:,}",
            f"{usage.cache_read_tokens:,}",
            "?" if usd is None else f"${usd:.4f}",
        )
        for model, usage, usd in spent
    )
    over = "over " if any(usd is None for _, _, usd in spent) else ""
    total = "price unknown" if total_usd is None else f"{over}${total_usd:.4f}"
    columns = ("Model", "Input", "Output", "From cache", "Cost")
    return ShownTable(title=title, columns=columns, rows=rows, notes=(f"in all {total}", *notes))
