"""A tool call as lines: what it was, what came of it, and as much of its output as is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from caliban_common.hunks import TextChange
from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.markdown.words import broken, flat
from caliban_tui.render.diff import change_lines, counts
from caliban_tui.render.ends import seconds
from caliban_tui.render.images import image_lines
from caliban_tui.render.look import TranscriptLook
from caliban_tui.transcript.blocks import CallBlock, TaskBlock, TranscriptBlock
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
    if block.is_apart:
        yield ()
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
        # Of what failed the last lines say why.
        yield from _bounded(_said(block, look), columns, look, "dim", at_end=block.outcome == "failed")
    for image in block.images:
        yield from image_lines(image, columns, look)


def task_lines(block: TaskBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """The lines of work in the background that is over."""
    good = block.status == "completed"
    yield (
        StyledText(f"{'●' if good else '✗'} ", "tool" if good else "error"),
        StyledText(flat(block.title)),
        StyledText(f"  {flat(block.status)} in the background, {seconds(block.duration_s)}", "dim"),
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
            StyledText(flat(call.summary), style),
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
    from urllib.parse import quote

    return f"file://{quote(path, errors='replace')}"


def _headline(block: CallBlock, change: TextChange | None) -> ScreenLine:
    good = block.outcome == "ran"
    name, _, rest = flat(block.summary).partition(" ")
    line = [StyledText(f"{MARKS.get(block.outcome, '●')} ", "tool" if good else "error")]
    if block.agent:
        line.append(StyledText(f"{flat(block.agent)} ", "agent"))
    line.append(StyledText(name, "tool"))
    if rest:
        link = place_link(block)
        line += (StyledText(" "), StyledText(rest, "", link))
        if link and change is not None and change.hunks:
            line.append(StyledText(f":{_first_line(change)}", "", link))
    facts = []
    if change is not None and good:
        facts.append(counts(change))
    code = block.details.get("exit_code")
    if isinstance(code, int) and code:
        facts.append(f"exit code {code}")
    elif block.details.get("timed_out"):
        facts.append("timed out")
    elif block.outcome not in ("ran", "failed"):
        facts.append(flat(block.outcome))
    if block.duration_s >= 1:
        facts.append(seconds(block.duration_s))
    if facts:
        line.append(StyledText("  " + ", ".join(facts), "dim" if good else "error"))
    return tuple(line)


def _first_line(change: TextChange) -> int:
    """The first line that a change made: editors go there."""
    hunk = change.hunks[0]
    return hunk.new_start + next((n for n, line in enumerate(hunk.lines) if line[:1] != " "), 0)


def _command(block: CallBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """A command of several lines, or one too long for the summary, as it ran."""
    command = block.arguments.get("command")
    if isinstance(command, str) and ("\n" in command or look.detail == "full"):
        yield from _bounded(f"$ {command}", columns, look, "code")


def _said(block: CallBlock, look: TranscriptLook) -> str:
    text = output_of(block)
    sums_up = text.startswith(OWN) and block.outcome == "ran"
    if look.detail == "brief":
        text = text.rstrip("\n").rsplit("\n", 1)[-1] if block.outcome == "failed" else text.split("\n", 1)[0]
    elif look.detail == "normal" and sums_up:
        text = text.split("\n", 1)[0]
    return text.removeprefix(OWN)


def _bounded(
    text: str, columns: int, look: TranscriptLook, style: str, *, at_end: bool = False
) -> Iterator[ScreenLine]:
    """The first lines of a text, or its last, indented, and how many more there are; none is too wide.

    What a tool writes stands behind an indentation on every row: it cannot draw what looks like ours.
    """
    text = text.rstrip("\n")
    if not text.strip():
        return
    total = text.count("\n") + 1
    is_full = look.detail == "full"
    limit = total if is_full else min(total, OUTPUT_LINES)
    chars = FULL_CHARS if is_full else limit * columns * 8
    part = text[-chars:] if at_end else text[:chars]
    lines = neutral(part).split("\n")
    shown = lines[-limit:] if at_end else lines[:limit]
    more = _more(total - len(shown), len(text) - len(part) if is_full else 0)
    if more and at_end:
        yield more
    for line in shown:
        yield from _indented(line, columns, style, is_full=is_full)
    if more and not at_end:
        yield more


def _more(lines: int, characters: int) -> ScreenLine:
    """What is not shown."""
    if lines > 0:
        return plain(f"{INDENT}… {lines:,} more line{'s' * (lines != 1)}", "dim")
    return plain(f"{INDENT}… {characters:,} more characters", "dim") if characters else ()


def _indented(line: str, columns: int, style: str, *, is_full: bool) -> Iterator[ScreenLine]:
    room = max(columns - len(INDENT), 1)
    whole = plain(line, style)
    for row in broken(whole, room) if is_full else (cut(whole, room),):
        yield (StyledText(INDENT), *row)
