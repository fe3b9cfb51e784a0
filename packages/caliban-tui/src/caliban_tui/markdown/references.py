"""Addresses that a reply gives by name: `[name]: address` on a line of its own, `[words][name]` elsewhere.

A block is drawn once, when it closes, so it knows the names that were given until then; one that is given
later leads nowhere from there. The line that gives it is shown in its place, with the address to follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_tui.transcript.blocks import ReplyBlock

LinkReference: TypeAlias = tuple[str, str]
"""A name as it was written, and its address."""

MAX_REFERENCES: Final = 200
DEFINITION: Final = lazy_pattern(
    r"(?m)^ {0,3}(\[([^\]\[^\s][^\]\[]{0,199})\]:[ \t]*(?:<([^<>\s]{1,2048})>|([^\s<]\S{0,2047}))"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*)$"
)


def defined(line: str) -> LinkReference | None:
    """What a whole line gives a name to. A footnote, `[^1]: words`, is none."""
    if "]:" not in line:
        return None
    match = DEFINITION.fullmatch(line.rstrip("\r"))
    return None if match is None else (match[2], match[3] or match[4])


def with_reference(references: tuple[LinkReference, ...], line: str) -> tuple[LinkReference, ...]:
    """`references` and what `line` gives a name to; the first address of a name counts."""
    reference = defined(line)
    if reference is None or len(references) >= MAX_REFERENCES:
        return references
    name = _folded(reference[0])
    return references if any(_folded(known) == name for known, _ in references) else (*references, reference)


def referring(block: ReplyBlock, references: tuple[LinkReference, ...]) -> ReplyBlock:
    """`block` with those of `references` that its text may mean."""
    text = block.markdown
    if not references or "[" not in text or block.fence:
        return block
    folded = _folded(text)
    used = tuple(each for each in references if f"[{_folded(each[0])}]" in folded)
    return replace(block, references=used) if used else block


def without_definitions(text: str) -> str:
    """`text` whose lines that give names are words to a parser; in code they stand as they are."""
    if "]:" not in text or "```" in text or "~~~" in text or text.startswith(("    ", "\t")):
        return text
    return DEFINITION.sub(lambda match: match[0].replace("[", "\\[", 1), text)


def environment(references: Sequence[LinkReference]) -> dict[str, Any]:
    """What the parser takes for the names that are known."""
    from markdown_it.common.utils import normalizeReference

    return {
        "references": {
            normalizeReference(name): {"title": "", "href": address} for name, address in references
        }
    }


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
