"""What the docstring of a function says of its arguments, in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

GOOGLE = r"(?:Args|Arguments|Parameters|Params):\s*"
GOOGLE_ENTRY = r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)"
UNDERLINE = r"-{3,}\s*"
NUMPY_ENTRY = r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?"
SPHINX = r":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)"
FIELD = r":\w+[^:]*:"


class Docs(Struct, frozen=True, kw_only=True):
    """The first paragraph of a docstring, and what it says of the arguments, by name."""

    summary: str
    arguments: Mapping[str, str]


def read_docstring(text: str) -> Docs:
    """What `text`, a docstring without its indentation, says. Anything may stand in it."""
    lines = text.strip().splitlines()
    arguments = {**_google(lines), **_numpy(lines), **_sphinx(lines)}
    summary: list[str] = []
    for line in lines:
        if not line.strip() or re.fullmatch(GOOGLE, line) or re.match(SPHINX, line.strip()):
            break
        summary.append(line.strip())
    return Docs(
        summary=" ".join(summary),
        arguments={name: " ".join(words.split()) for name, words in arguments.items() if words.strip()},
    )


def _google(lines: list[str]) -> dict[str, str]:
    """Entries below `Args:`, each deeper than it; what is deeper than an entry goes on with it."""
    texts: dict[str, str] = {}
    start = next((n for n, line in enumerate(lines) if re.fullmatch(GOOGLE, line.strip())), None)
    if start is None:
        return texts
    depth, outer, name = None, _depth(lines[start]), ""
    for line in lines[start + 1 :]:
        if not line.strip():
            continue
        here = _depth(line)
        if here <= outer:
            break
        depth = here if depth is None else depth
        entry = re.fullmatch(GOOGLE_ENTRY, line.strip()) if here <= depth else None
        if entry is not None:
            name = entry[1]
            texts[name] = entry[2]
        elif name:
            texts[name] += f" {line.strip()}"
    return texts


def _numpy(lines: list[str]) -> dict[str, str]:
    """Entries below `Parameters` and its line of dashes; what is deeper than an entry describes it."""
    texts: dict[str, str] = {}
    heads = (n for n in range(len(lines) - 1) if lines[n].strip() in ("Parameters", "Other Parameters"))
    start = next((n for n in heads if re.fullmatch(UNDERLINE, lines[n + 1].strip())), None)
    if start is None:
        return texts
    outer, names = _depth(lines[start]), list[str]()
    rest = lines[start + 2 :]
    for number, line in enumerate(rest):
        if not line.strip():
            continue
        if number + 1 < len(rest) and re.fullmatch(UNDERLINE, rest[number + 1].strip()):
            break
        entry = re.fullmatch(NUMPY_ENTRY, line.strip()) if _depth(line) <= outer else None
        if entry is not None:
            names = [name.strip().lstrip("*") for name in entry[1].split(",")]
            texts.update(dict.fromkeys(names, ""))
        elif _depth(line) > outer:
            for name in names:
                texts[name] += f" {line.strip()}"
        else:
            break
    return texts


def _sphinx(lines: list[str]) -> dict[str, str]:
    """Fields `:param name:`; what follows up to the next field goes on with one."""
    texts: dict[str, str] = {}
    name = ""
    for line in lines:
        entry = re.fullmatch(SPHINX, line.strip())
        if entry is not None:
            name = entry[1]
            texts[name] = entry[2]
        elif not line.strip() or re.match(FIELD, line.strip()):
            name = ""
        elif name:
            texts[name] += f" {line.strip()}"
    return texts


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
