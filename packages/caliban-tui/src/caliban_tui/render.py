"""Blocks as lines: once, when they are finished, for a width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from caliban_commands.answer import AnswerPart, ShownChoice, ShownTable, ShownText
from caliban_tui.blocks import (
    AnswerBlock,
    CallBlock,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    ReplyBlock,
    ShellBlock,
    SummaryBlock,
    TranscriptBlock,
)
from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, plain
from caliban_tui.width import cells, wrap


def block_lines(block: TranscriptBlock, columns: int) -> tuple[ScreenLine, ...]:
    """The lines of a finished block."""
    return tuple(_lines(block, columns))


def prose_lines(text: str, columns: int, style: str = "") -> tuple[ScreenLine, ...]:
    """Text wrapped at words."""
    return tuple(plain(line, style) for part in neutral(text).split("\n") for line in wrap(part, columns))


def _lines(block: TranscriptBlock, columns: int) -> Iterator[ScreenLine]:
    match block:
        case PromptBlock():
            yield ()
            yield from prose_lines(f"> {block.text}", columns, "prompt")
        case ReplyBlock():
            yield ()
            yield from prose_lines(block.markdown.strip("\n"), columns)
        case ReasoningBlock():
            yield plain(f"thought for {block.duration_s:.0f} s", "dim")
        case CallBlock():
            mark = {"ran": "●", "failed": "✗", "denied": "⊘"}.get(block.outcome, "○")
            style = "tool" if block.outcome == "ran" else "error"
            yield plain(f"{mark} {neutral(block.summary)}", style)
            for line in neutral(block.output).splitlines()[:3]:
                yield plain(f"  {line}"[:columns], "dim")
        case NoticeBlock():
            yield from prose_lines(block.text, columns, "warning" if block.level != "info" else "dim")
            if block.hint:
                yield from prose_lines(block.hint, columns, "dim")
        case AnswerBlock():
            yield plain(neutral(block.line), "dim")
            for part in block.parts:
                yield from _part(part, columns)
        case ShellBlock():
            yield plain(f"! {neutral(block.command)}", "code")
            for line in neutral(block.output).splitlines():
                yield plain(line)
        case SummaryBlock():
            yield plain(f"{block.reason}: {block.tokens_before:,} → {block.tokens_after:,} tokens", "dim")
        case EndBlock():
            yield plain(block.words or f"{block.duration_s:.1f} s", "dim")
        case _:
            assert_never(block)


def _part(part: AnswerPart, columns: int) -> Iterator[ScreenLine]:
    match part:
        case ShownText():
            yield from prose_lines(part.markdown, columns)
        case ShownTable():
            rows = (part.columns, *part.rows)
            widths = [max(cells(row[n]) for row in rows) for n in range(len(part.columns))]
            for row in rows:
                padded = (text + " " * (width - cells(text)) for text, width in zip(row, widths, strict=True))
                yield plain("  ".join(padded).rstrip())
            for note in part.notes:
                yield plain(note, "dim")
        case ShownChoice():
            yield plain(part.title, "bold")
            for choice in part.rows:
                yield plain(f"  {choice.line}  {choice.label}")
        case _:
            assert_never(part)
