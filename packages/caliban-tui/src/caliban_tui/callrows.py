"""A tool call as lines: what it was, what came of it, and as much of its output as is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from caliban_common.hunks import TextChange
from caliban_tui.blocks import CallBlock, TaskBlock, TranscriptBlock
from caliban_tui.clean import neutral
from caliban_tui.diff import change_lines, counts
from caliban_tui.images import image_lines
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.look import TranscriptLook
from caliban_tui.markdown.words import broken
from caliban_tui.width import cut

MARKS: Final[Mapping[str, str]] = MappingProxyType(
    {"ran": "●", "failed": "✗", "denied": "⊘", "invalid": "✗", "interrupted": "◌"}
)
OUTPUT_LINES: Final = 5
DIFF_LINES: Final = 40
FULL_CHARS: Final = 200_000
"""Of an output even the full view shows no more: the viewer and the editor have it whole."""
OWN: Final = "→ "
"""How an answer begins that sums itself up: its first line is for a person, the rest for the model."""
INNER_CALLS: Final = 3
INDENT: Final = "  "


def call_lines(block: CallBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """The lines of a call that has ended."""
    change = TextChange.of_details(block.details)
    yield _headline(block, change)
    yield from inner_lines(block.inner, block.left_out, columns, look)
    if block.outcome in ("denied", "invalid") and block.reason:
        yield from _bounded(block.reason, columns, look, "error")
    elif change is not None and block.outcome == "ran":
        if look.detail != "brief":
            limit = DIFF_LINES if look.detail == "normal" else None
            yield from change_lines(change, columns, limit=limit)
    elif look.detail != "brief" or block.outcome == "failed":
        yield from _command(block, columns, look)
        yield from _bounded(_said(block, look), columns, look, "dim")
    for image in block.images:
        yield from image_lines(image, columns, look)


def task_lines(block: TaskBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """The lines of work in the background that is over."""
    good = block.status == "completed"
    yield (
        StyledText(f"{'●' if good else '✗'} ", "tool" if good else "error"),
        StyledText(neutral(block.title).replace("\n", " ")),
        StyledText(f"  {block.status} in the background, {block.duration_s:.0f} s", "dim"),
    )
    yield from inner_lines(block.inner, block.left_out, columns, look)


def inner_lines(
    inner: tuple[TranscriptBlock, ...], left_out: int, columns: int, look: TranscriptLook, depth: int = 1
) -> Iterator[ScreenLine]:
    """What an agent below a call did, as a tree of its calls."""
    calls = [block for block in inner if isinstance(block, CallBlock)]
    if not calls or look.detail == "brief":
        return
    shown = calls if look.detail == "full" else calls[-INNER_CALLS:]
    more = len(calls) - len(shown)
    if more or left_out:
        words = f"{more} more call{'s' * (more != 1)}" if more else "more"
        yield plain(f"{INDENT * depth}├ … {words}", "dim")
    for number, call in enumerate(shown):
        branch = "└" if number == len(shown) - 1 else "├"
        style = "dim" if call.outcome == "ran" else "error"
        line = (
            StyledText(f"{INDENT * depth}{branch} ", "dim"),
            StyledText(neutral(call.summary).replace("\n", " "), style),
        )
        yield cut(line, columns)
        if depth < 8:
            yield from inner_lines(call.inner, call.left_out, columns, look, depth + 1)


def output_of(block: CallBlock) -> str:
    """What a call gave, without the words that tell the model what it called."""
    text = block.output
    if "exit_code" not in block.details:
        return text
    start = text.find("→ Stdout:\n")
    middle = text.rfind("\n→ Stderr:\n")
    if start < 0 or middle < start:
        return text
    out, err = text[start + len("→ Stdout:\n") : middle], text[middle + len("\n→ Stderr:\n") :]
    return "\n".join(part for part in (out, err) if part.strip() and part != "(empty)")


def place_link(block: CallBlock) -> str:
    """Where the file of a call is, as an address; empty where it has none."""
    path = block.details.get("path")
    if not isinstance(path, str) or not path.startswith("/") or len(path) > 1_024:
        return ""
    return f"file://{quote(path, errors='replace')}"


def _headline(block: CallBlock, change: TextChange | None) -> ScreenLine:
    good = block.outcome == "ran"
    name, _, rest = neutral(block.summary).replace("\n", " ").partition(" ")
    line = [StyledText(f"{MARKS.get(block.outcome, '●')} ", "tool" if good else "error")]
    if block.agent:
        line.append(StyledText(f"{neutral(block.agent)} ", "dim"))
    line.append(StyledText(name, "tool"))
    if rest:
        line += (StyledText(" "), StyledText(rest, "", place_link(block)))
    facts = []
    if change is not None and good:
        facts.append(counts(change))
    code = block.details.get("exit_code")
    if isinstance(code, int) and code:
        facts.append(f"exit code {code}")
    elif block.details.get("timed_out"):
        facts.append("timed out")
    elif block.outcome not in ("ran", "failed"):
        facts.append(block.outcome)
    if block.duration_s >= 1:
        facts.append(f"{block.duration_s:.0f} s")
    if facts:
        line.append(StyledText("  " + ", ".join(facts), "dim" if good else "error"))
    return tuple(line)


def _command(block: CallBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """A command of several lines, or one too long for the summary, as it ran."""
    command = block.arguments.get("command")
    if isinstance(command, str) and ("\n" in command or look.detail == "full"):
        yield from _bounded(f"$ {command}", columns, look, "code")


def _said(block: CallBlock, look: TranscriptLook) -> str:
    text = output_of(block)
    sums_up = text.startswith(OWN) and block.outcome == "ran"
    if look.detail == "brief" or (look.detail == "normal" and sums_up):
        text = text.split("\n", 1)[0]
    return text.removeprefix(OWN)


def _bounded(text: str, columns: int, look: TranscriptLook, style: str) -> Iterator[ScreenLine]:
    """The first lines of a text, indented, and how many more there are. No row is wider than the screen.

    What a tool writes stands behind an indentation on every row: it cannot draw what looks like ours.
    """
    room = max(columns - len(INDENT), 1)
    total = text.rstrip("\n").count("\n") + 1 if text.strip() else 0
    limit = total if look.detail == "full" else min(total, OUTPUT_LINES)
    head = text[: FULL_CHARS if look.detail == "full" else limit * columns * 8]
    shown = 0
    for line in neutral(head).split("\n")[:limit]:
        shown += 1
        rows = (
            broken((StyledText(line, style),), room)
            if look.detail == "full"
            else [cut(plain(line, style), room)]
        )
        for row in rows:
            yield (StyledText(INDENT), *row)
    if shown < total:
        yield plain(f"{INDENT}… {total - shown:,} more line{'s' * (total - shown != 1)}", "dim")
    elif len(head) < len(text.rstrip("\n")) and look.detail == "full":
        yield plain(f"{INDENT}… {len(text) - len(head):,} more characters", "dim")
