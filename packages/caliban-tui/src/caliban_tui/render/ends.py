"""The end of a prompt: what it took, and why where it is no success."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine
from caliban_tui.markdown.draw import plain_lines
from caliban_tui.transcript.blocks import EndBlock

if TYPE_CHECKING:
    from caliban_drive.result import PromptResult


def end_block(result: PromptResult, duration_s: float, hint: str = "") -> EndBlock:
    """The block of a result; `hint` says in the words of the face what would help."""
    costs = [cost for _, _, cost in result.model_usage]
    known = [cost for cost in costs if cost is not None]
    words = ""
    if result.is_error:
        words = "interrupted" if result.subtype == "cancelled" else result.error or result.subtype
    return EndBlock(
        duration_s=duration_s,
        turns=result.turns,
        cost_usd=sum(known) if len(known) == len(costs) else None,
        words=words,
        hint=hint if result.is_error else "",
        input_tokens=result.usage.input_tokens,
        output_tokens=result.usage.output_tokens,
    )


def end_lines(block: EndBlock, columns: int) -> Iterator[ScreenLine]:
    """The lines of it."""
    if block.words:
        style = "warning" if block.words == "interrupted" else "error"
        yield from plain_lines(neutral(block.words), columns, style, hard=True)
    if block.hint:
        yield from plain_lines(neutral(block.hint), columns, "dim", hard=True)
    facts = [seconds(block.duration_s)]
    if block.turns > 1:
        facts.append(f"{block.turns} turns")
    if block.input_tokens or block.output_tokens:
        facts.append(f"{compact(block.input_tokens)} in, {compact(block.output_tokens)} out")
    if block.cost_usd is None:
        facts.append("price unknown")
    elif block.cost_usd:
        facts.append(f"${block.cost_usd:.4f}" if block.cost_usd < 0.1 else f"${block.cost_usd:.2f}")
    yield from plain_lines(" · ".join(facts), columns, "dim", hard=True)


def seconds(duration_s: float) -> str:
    """A time for people."""
    if duration_s < 60:
        return f"{duration_s:.1f} s"
    minutes, rest = divmod(round(duration_s), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def compact(count: int) -> str:
    """A count of tokens for people: 950, 1.2k, 34k, 1.2M."""
    if count < 1_000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1_000:.1f}k" if count < 10_000 else f"{count / 1_000:.0f}k"
    return f"{count / 1_000_000:.1f}M"
