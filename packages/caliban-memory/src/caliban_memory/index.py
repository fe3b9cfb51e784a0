"""The index of notes: what of it a session is told, and how its lines are kept in step with the files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from caliban_common.lazy import lazy_pattern

MAX_LINES: Final = 200
MAX_BYTES: Final = 25_000
"""Of the index, as much as a session is told (guide: 200 lines, 25 KB)."""

CONVENTIONS: Final = """\
# Memory index

<!--
One line for each note: - [name](name.md) — type: what it says
Types: user (who they are, what they prefer), feedback (how they want work done), project (what the
repository does not say itself), reference (places and names outside of it). Comments like this one are not
shown to the model. A line whose note is gone is dropped, and a note without a line gets one.
-->
"""
_COMMENT = lazy_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ENTRY = lazy_pattern(r"[-*] \[([^\]\n]+)\]\(([^)\n]+)\)")
_GAPS = lazy_pattern(r"\n{3,}")


def loaded_index(text: str) -> tuple[str, int]:
    """What a session is told of the index, without comments, and how many bytes of it were too many.

    Empty where nothing but a heading remains.
    """
    body = _GAPS.sub("\n\n", _COMMENT.sub("", text)).strip()
    if not any(line.strip() and not line.startswith("#") for line in body.split("\n")):
        return "", 0
    kept = "\n".join(body.split("\n")[:MAX_LINES])
    kept = kept.encode("utf-8")[:MAX_BYTES].decode("utf-8", "ignore")
    if len(kept) < len(body) and "\n" in kept:
        kept = kept.rpartition("\n")[0] if not body.startswith(f"{kept}\n") else kept
    return kept, len(body.encode("utf-8")) - len(kept.encode("utf-8"))


def entry_line(slug: str, kind: str, description: str) -> str:
    """The line of a note."""
    return f"- [{slug}]({slug}.md) — {kind}: {description}"


def updated_index(text: str, lines: Mapping[str, str]) -> str:
    """The index with exactly the notes of `lines` (slug -> line), in the order it has them, new ones last.

    Whatever else a person wrote there stays.
    """
    rest = dict(lines)
    kept: list[str] = []
    for line in (text or CONVENTIONS).rstrip("\n").split("\n"):
        match = _ENTRY.match(line)
        if match is None or match[2] != f"{match[1]}.md":
            kept.append(line)
        elif match[1] in rest:
            kept.append(rest.pop(match[1]))
    if rest and kept and kept[-1].strip() and _ENTRY.match(kept[-1]) is None:
        kept.append("")
    return "\n".join((*kept, *rest.values())) + "\n"
