"""Blocks as lines: once, when they are finished, for a width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from caliban_commands.answer import AnswerPart, ShownChange, ShownChoice, ShownTable, ShownText
from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.markdown.draw import markdown_lines, plain_lines
from caliban_tui.markdown.splitter import OpenReply, closed, fed
from caliban_tui.markdown.table import table_lines
from caliban_tui.markdown.words import WordSpan, flat
from caliban_tui.render.calls import FULL_CHARS, call_lines, task_lines
from caliban_tui.render.diff import change_lines, counts
from caliban_tui.render.ends import end_lines
from caliban_tui.render.look import NORMAL, TranscriptLook
from caliban_tui.render.todos import todo_lines
from caliban_tui.transcript.blocks import (
    AnswerBlock,
    CallBlock,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    ReplyBlock,
    ShellBlock,
    SummaryBlock,
    TaskBlock,
    TodoBlock,
    TranscriptBlock,
)

THOUGHT_LINES = 200
UNBROKEN = 1 << 30
"""Columns for prose that the terminal breaks."""


def block_lines(
    block: TranscriptBlock, columns: int, look: TranscriptLook = NORMAL
) -> tuple[ScreenLine, ...]:
    """The lines of a finished block."""
    return tuple(_lines(block, columns, look))


def prose_lines(text: str, columns: int, style: str = "") -> tuple[ScreenLine, ...]:
    """Text wrapped at words, no line wider than `columns`."""
    return tuple(plain_lines(neutral(text), columns, style, hard=True))


def reply_lines(text: str, columns: int) -> Iterator[ScreenLine]:
    """Markdown of any size that is there as a whole."""
    reply, blocks = fed(OpenReply(), text)
    for number, block in enumerate((*blocks, *closed(reply))):
        if number and not block.is_joined:
            yield ()
        yield from _reply(block, columns)


def _reply(block: ReplyBlock, columns: int) -> list[ScreenLine]:
    return markdown_lines(
        block.markdown, columns, ordinal=block.ordinal, fence=block.fence, references=block.references
    )


def _lines(block: TranscriptBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    match block:
        case PromptBlock():
            yield ()
            mark = ">" if not block.steered else ">>"
            yield from prose_lines(f"{mark} {block.text}", columns, "prompt")
            for name in block.attached:
                yield plain(f"  + {flat(name)}", "dim")
        case ReplyBlock():
            if not block.is_joined:
                yield ()
            width = columns if look.wraps_prose else UNBROKEN
            yield from _reply(block, width)
        case ReasoningBlock():
            yield from _thought(block, columns, look)
        case CallBlock():
            yield from call_lines(block, columns, look)
        case TodoBlock():
            if block.is_apart:
                yield ()
            yield from todo_lines(block.rows, columns, only_changed=look.detail != "full")
        case TaskBlock():
            yield from task_lines(block, columns, look)
        case _:
            yield from _told(block, columns)


def _told(
    block: NoticeBlock | AnswerBlock | ShellBlock | SummaryBlock | EndBlock, columns: int
) -> Iterator[ScreenLine]:
    match block:
        case NoticeBlock():
            style = {"info": "dim", "error": "error"}.get(block.level, "warning")
            yield from prose_lines(block.text, columns, style)
            if block.hint:
                yield from prose_lines(block.hint, columns, "dim")
        case AnswerBlock():
            yield plain(flat(block.line), "dim")
            for part in block.parts:
                yield from _part(part, columns)
        case ShellBlock():
            for number, line in enumerate(neutral(block.command).split("\n")):
                yield plain(f"{'  ' if number else '! '}{line}", "code")
            output = block.output.rstrip("\n")
            for line in neutral(output[:FULL_CHARS]).split("\n") if output else ():
                yield plain(line)
            if len(output) > FULL_CHARS:
                yield plain(f"… {len(output) - FULL_CHARS:,} more characters", "dim")
            if block.code:
                yield plain(f"exit code {block.code}", "error")
        case SummaryBlock():
            words = f"{block.reason}: {block.tokens_before:,} → {block.tokens_after:,} tokens"
            yield plain(flat(words), "dim")
        case EndBlock():
            yield from end_lines(block, columns)
        case _:
            assert_never(block)


def _thought(block: ReasoningBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """How long the model thought; in the full view what."""
    words = "thought" if block.duration_s < 0.5 else f"thought for {block.duration_s:.0f} s"
    yield plain(words, "reasoning")
    if look.detail == "full":
        rows = prose_lines(block.text.strip(), max(columns - 2, 1), "reasoning")
        for row in rows[:THOUGHT_LINES]:
            yield (StyledText("  "), *row)
        if len(rows) > THOUGHT_LINES:
            yield plain(f"  … {len(rows) - THOUGHT_LINES:,} more lines", "dim")


def _changed(part: ShownChange, columns: int) -> Iterator[ScreenLine]:
    """A file that was changed: its name, how many lines came and went, and these."""
    word = "new" if part.is_new else "deleted" if part.is_gone else ""
    about = ", ".join(filter(None, (word, part.note)))
    yield (
        StyledText(flat(part.path), "bold"),
        StyledText(flat(f"  {counts(part.change)}" + (f"  {about}" if about else "")), "dim"),
    )
    yield from change_lines(part.change, columns)


def _part(part: AnswerPart, columns: int) -> Iterator[ScreenLine]:
    match part:
        case ShownText():
            yield from reply_lines(part.markdown, columns)
        case ShownTable():
            if part.title:
                yield plain(flat(part.title), "bold")
            rows = [[(WordSpan(flat(cell)),) for cell in row] for row in (part.columns, *part.rows)]
            yield from table_lines(rows, columns)
            for note in part.notes:
                yield from prose_lines(note, columns, "dim")
        case ShownChoice():
            yield plain(flat(part.title), "bold")
            for choice in part.rows:
                mark = "›" if choice.is_current else " "
                detail = f"  {choice.detail}" if choice.detail else ""
                yield plain(flat(f"{mark} {choice.line}  {choice.label}{detail}"))
        case ShownChange():
            yield from _changed(part, columns)
        case _:
            assert_never(part)
