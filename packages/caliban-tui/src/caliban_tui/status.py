"""The line below the draft: where, who, how much."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.markdown.words import flat
from caliban_tui.width import cells, cut, graphemes

SEPARATOR: Final = " · "
CHIPS: Final = MappingProxyType(
    {
        "acceptEdits": "✎ accept edits",
        "plan": "📋 plan",
        "auto": "🤖 auto",
        "dontAsk": "⏭ don't ask",
        "bypassPermissions": "⚠ bypass",
        "disabled": "⚠ no permissions",
    }
)
"""What stands for a permission mode; the default one says nothing."""

SGR: Final = re.compile(r"\x1b\[([0-9;:]{0,40})m")
LEAST_PATH: Final = 12


class StatusLine(Struct, frozen=True, kw_only=True):
    """What it says. `context_share` is from 0 to 1; `script` is what a person's own program printed.

    `cwd` is already short at its beginning (`~`). `state` is what the program is at where it is not ready,
    such as "starting". `editor` is the mode of the line editor, where it has some. `took_s` is how long the
    last prompt took.
    """

    cwd: str = ""
    branch: str = ""
    model: str = ""
    mode: str = "default"
    session: str = ""
    context_share: float | None = None
    cost_usd: float | None = None
    background: int = 0
    script: str = ""
    padding: int = 0
    state: str = ""
    took_s: float | None = None
    editor: str = ""


def status_line(status: StatusLine, columns: int) -> ScreenLine:
    """The line, cut to the width; the default mode says nothing.

    Where it is too long the folder loses its middle first, then what stands last is cut.
    """
    first = [piece for piece in (script_segments(status.script, status.padding),) if piece]
    rest = [
        (StyledText(flat(text), style),)
        for text, style in (
            (status.editor, "bold"),
            (CHIPS.get(status.mode, "" if status.mode == "default" else status.mode), "warning"),
            (status.model, "dim"),
            (status.state, "dim"),
            (f"{status.context_share:.0%} context" if status.context_share is not None else "", "dim"),
            (f"${status.cost_usd:.2f}" if status.cost_usd else "", "dim"),
            (f"{status.background} in the background" if status.background else "", "dim"),
            (f"{status.took_s:.0f} s" if status.took_s is not None else "", "dim"),
            (status.session, "dim"),
        )
        if text
    ]
    taken = sum(cells(part.text) for piece in (*first, *rest) for part in piece)
    taken += len(SEPARATOR) * (len(first) + len(rest))
    branch = flat(status.branch)
    where = middle_cut(flat(status.cwd), max(columns - taken - (len(branch) + 3 if branch else 0), 0))
    where = f"{where} ({branch})" if branch else where
    pieces = [*first, *([(StyledText(where, "dim"),)] if where else []), *rest]
    line: list[StyledText] = []
    for piece in pieces:
        if line:
            line.append(StyledText(SEPARATOR, "dim"))
        line += piece
    return cut(tuple(line), columns)


def middle_cut(path: str, width: int) -> str:
    """`path` in at most `width` cells, but no less than a few: its middle gives way, names stay whole."""
    width = max(width, LEAST_PATH)
    if cells(path) <= width:
        return path
    head, _, rest = path.partition("/")
    names = rest.split("/")
    kept: list[str] = []
    used = cells(head) + 2
    for name in reversed(names):
        if kept and used + cells(name) + 1 > width:
            break
        kept.insert(0, name)
        used += cells(name) + 1
    short = "/".join((head, "…", *kept))
    if cells(short) <= width:
        return short
    tail = kept[-1]
    while cells(tail) > width - 2 and len(tail) > 1:
        tail = tail[1:]
    return f"…{tail}"


def script_segments(text: str, padding: int = 0) -> ScreenLine:
    """The first line of what a script printed: its colours stay, whatever else a terminal obeys goes."""
    text = next((line for line in text.splitlines() if neutral(line).strip()), "")
    if not text:
        return ()
    segments: list[StyledText] = []
    style = "dim"
    end = 0
    for match in (*SGR.finditer(text), None):
        words = neutral(text[end : match.start()] if match is not None else text[end:])
        if words:
            segments.append(StyledText("".join(graphemes(words)), style))
        if match is not None:
            end = match.end()
            style = _style(match[1], style)
    pad = (StyledText(" " * padding),) if padding else ()
    return (*pad, *segments, *pad)


def _style(parameters: str, before: str) -> str:
    """The style after an SGR sequence: `sgr:` and the parameters so far."""
    if parameters in ("", "0"):
        return ""
    if parameters.startswith(("0;", ";")):
        return f"sgr:{parameters.lstrip('0').lstrip(';')}"
    return f"{before};{parameters}" if before.startswith("sgr:") else f"sgr:{parameters}"
