"""Path globs: `*` and `?` within a name, `**` across directories, `[a-z]`, `[!a]`, `{a,b}`, `\\` escapes.

Matching takes time linear in the path for every pattern: between two stars the leftmost match is as good as
any, so the expression that a glob becomes never goes back behind one (atomic groups).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_tools_builtin.errors import SearchFailed

MAX_CHARS = 4096
MAX_ALTERNATIVES = 64
MAX_CLASSES = 3
"""So many `[…]` of a pattern that matches nothing are tried as names."""
_MAGIC = lazy_pattern(r"[*?\[{\\]")
_DOT_NAME = lazy_pattern(r"(?:^|[/{,])\.(?!\.?(?:/|$))")
_NAME_FOR_RG = lazy_pattern(r"(?:[\w.+@ ~#%=,*?{}-]|\[!?[\w.+-]+\])+", re.ASCII)
_GROUPS_FOR_RG = lazy_pattern(r"[^{}]*(?:\{[^{},]+(?:,[^{},]+)+\}[^{}]*)*")
_ONE_CHARACTER = lazy_pattern(r"(?:\[[^\]]*\]|[?*])+")


class GlobPlan(Struct, frozen=True, kw_only=True):
    """A glob split into the directory that it names outright and what is matched below it.

    `name` is the file name part, `depth` the number of directory levels, where they are plain enough for
    ripgrep; `exact` says that these two alone decide.
    """

    base: str
    rest: str
    hidden: bool
    name: str | None
    depth: int | None
    exact: bool


def plan(pattern: str) -> GlobPlan:
    """How to search for `pattern`. Raises `SearchFailed` for what is no glob."""
    checked(pattern)
    parts = pattern.split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not _MAGIC.search(parts[fixed]):
        fixed += 1
    base = "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ".")
    rest = "/".join(parts[fixed:]) or "**"
    if ".." in re.split(r"[/{},]", rest):
        raise SearchFailed(f"invalid pattern {pattern!r}: '..' may only stand before the first wildcard")
    below = rest.split("/")
    plain = "{" not in "/".join(below[:-1])
    anywhere = below[0] == "**"
    name = name_for_rg(below[-1]) if plain and below[-1] not in ("*", "**") else None
    return GlobPlan(
        base=base,
        rest=rest,
        hidden=bool(_DOT_NAME.search(rest)),
        name=name,
        depth=len(below) if plain and "**" not in below else None,
        exact=(name == below[-1] or below[-1] in ("*", "**"))
        and (len(below) == 1 or (len(below) == 2 and anywhere)),
    )


def name_for_rg(name: str) -> str | None:
    """A file name glob as ripgrep reads it, or `None` if it might read it otherwise.

    It gives all the names that are meant. Where it is another than `name`, it gives more: what stands for one
    character stands for one byte there, so that `?` would not be `é`.
    """
    if not _NAME_FOR_RG.fullmatch(name) or not _GROUPS_FOR_RG.fullmatch(name) or "**" in name:
        return None
    return _ONE_CHARACTER.sub("*", name) if "?" in name or "[" in name else name


def checked(pattern: str) -> None:
    """Raise `SearchFailed` if `pattern` is malformed or stands for too many patterns."""
    if not pattern or len(pattern) > MAX_CHARS:
        raise SearchFailed(
            "invalid pattern: it is empty" if not pattern else "invalid pattern: it is too long"
        )
    try:
        pattern.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SearchFailed("invalid pattern: it is not valid Unicode text") from error
    if "\0" in pattern or "\n" in pattern:
        raise SearchFailed("invalid pattern: it holds a control character")
    expand(pattern)


def literals(pattern: str) -> Iterator[str]:
    """The pattern with some of its `[…]` meant as names, as frameworks give them to directories of routes."""
    places = [match.start() for match in re.finditer(r"(?<!\\)\[", pattern)][:MAX_CLASSES]
    for chosen in range(2 ** len(places) - 1, 0, -1):
        text = pattern
        for number in reversed(range(len(places))):
            if chosen >> number & 1:
                text = f"{text[: places[number]]}\\{text[places[number] :]}"
        yield text


def compiled(pattern: str) -> re.Pattern[str]:
    """The expression whose `fullmatch` fits relative paths with `/`. Raises `SearchFailed`."""
    try:
        return re.compile("|".join(f"(?:{_path(one)})" for one in expand(pattern)), re.DOTALL)
    except re.error as error:
        raise SearchFailed(f"invalid pattern {pattern!r}: {error}") from error


def expand(pattern: str) -> list[str]:
    """The patterns without braces that `pattern` stands for. Raises `SearchFailed`, also above the bound."""
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        one = open_ones.pop()
        group = _first_group(one)
        if group is None:
            done.append(one)
        else:
            start, end, choices = group
            open_ones += (one[:start] + choice + one[end:] for choice in reversed(choices))
        if len(done) + len(open_ones) > MAX_ALTERNATIVES:
            raise SearchFailed(f"invalid pattern: its braces stand for more than {MAX_ALTERNATIVES} patterns")
    return done


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """The first outermost `{a,b}`: where it starts and ends, and its choices."""
    start, depth, cuts, at = -1, 0, [], 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _class_end(pattern, at)
        elif char == "{":
            depth += 1
            if depth == 1:
                start, cuts = at, [at]
        elif char == "," and depth == 1:
            cuts.append(at)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and len(cuts) > 1:
                edges = [*cuts, at]
                return start, at + 1, [pattern[a + 1 : b] for a, b in pairwise(edges)]
        at += 1
    if depth:
        raise SearchFailed(f"invalid pattern {pattern!r}: unclosed '{{'")
    return None


def _class_end(pattern: str, start: int) -> int:
    """The place of the `]` that closes the class at `start`."""
    at = start + 1
    if pattern[at : at + 1] in ("!", "^"):
        at += 1
    end = pattern.find("]", at + 1)
    if end < 0:
        raise SearchFailed(f"invalid pattern {pattern!r}: unclosed '['")
    return end


def _path(pattern: str) -> str:
    """One pattern without braces as an expression."""
    runs: list[list[str]] = [[]]
    for segment in pattern.split("/"):
        if segment == "**":
            runs.append([])
        elif segment not in ("", "."):
            runs[-1].append(_segment(segment))
    first, *others = ("/".join(run) for run in runs)
    if not others:
        return first
    text = first + "/" if first else ""
    for run in others[:-1]:
        text += f"(?>(?:[^/]+/)*?{run}/)" if run else ""
    last = others[-1]
    return text + (f"(?:[^/]+/)*{last}" if last else ".+")


def _segment(segment: str) -> str:
    chunks, at = [""], 0
    while at < len(segment):
        char = segment[at]
        if char == "*":
            chunks.append("")
        elif char == "?":
            chunks[-1] += "[^/]"
        elif char == "[":
            end = _class_end(segment, at)
            chunks[-1] += _class(segment[at + 1 : end])
            at = end
        else:
            at += char == "\\" and at + 1 < len(segment)
            chunks[-1] += re.escape(segment[at])
        at += 1
    first, *others = chunks
    if not others:
        return first
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in others[:-1] if chunk)
    return f"{first}{middle}[^/]*{others[-1]}"


def _class(body: str) -> str:
    negated = body[0] in "!^"
    inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[1:] if negated else body)
    return f"(?!/)[{'^' if negated else ''}{inner}]"
