"""Finding where an expansion ends, and whether it may run a program.

Every extent is found in one pass. An extent may be wrong for hostile text: that is harmless, because a word
with an expansion is opaque, and deny rules look at the raw text as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell.line import Opacity

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BACKTICK = lazy_pattern(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_IN_BACKTICKS = lazy_pattern(r"\\([\\`$])")
_ANSI_C = lazy_pattern(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_PLAIN_PARAMETER = lazy_pattern(
    r"\$\{#?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+)"
    r"(?:(?::?[-+=?]|[%#/^,])[^$`()\[\]{}@!\\'\"]*|:[ ]?-?[0-9]+(?::-?[0-9]+)?)?\}"
)
_VARIABLE = lazy_pattern(r"\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DOCUMENT = lazy_pattern(
    r"\$\([ \t\n]*cat[ \t]*<<(-?)[ \t]*(?:'([A-Za-z0-9_]+)'|\"([A-Za-z0-9_]+)\"|([A-Za-z0-9_]+))[ \t]*\n"
)
_TABS = lazy_pattern(r"^\t+", re.MULTILINE)
_NUMBERS = lazy_pattern(r"\$\(\([0-9 +*/%-]+\)\)")
_BRACKETS: Mapping[str, re.Pattern[str]] = {
    "()": lazy_pattern(r"[\\'\"()]"),
    "[]": lazy_pattern(r"[\\'\"\[\]]"),
    "{}": lazy_pattern(r"[\\'\"{}]"),
}

_ESCAPE = lazy_pattern(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LETTERS: Mapping[str, str] = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


def dollar(text: str, index: int) -> tuple[int, Opacity] | None:
    """The end and the opacity of the expansion that `$` at `index` begins, or `None` for a plain `$`."""
    following = text[index + 1 : index + 2]
    if following == "(":
        if text.startswith("$((", index):
            number = _NUMBERS.match(text, index)
            if number is not None:
                return number.end(), Opacity("arithmetic", number.group())
            return _extent(text, index, "()", "arithmetic", runs=True)
        return _extent(text, index, "()", "command substitution", runs=False)
    if following == "[":
        return _extent(text, index, "[]", "arithmetic", runs=True)
    if following == "{":
        plain = _PLAIN_PARAMETER.match(text, index)
        if plain is not None:
            simple = plain.group().rstrip("}").lstrip("${").isidentifier()
            return plain.end(), Opacity("variable" if simple else "expansion", plain.group())
        return _extent(text, index, "{}", "expansion", runs=True)
    name = _NAME.match(text, index + 1)
    if name is not None:
        return name.end(), Opacity("variable", text[index : name.end()])
    if text.startswith("\\\n", index + 1):
        return index + 1, Opacity("line continuation after $", text[index : index + 4], runs=True)
    return None


def variable_name(opacity: Opacity) -> str:
    """The name of the variable that is all of an expansion, or nothing."""
    match = _VARIABLE.fullmatch(opacity.text) if opacity.what == "variable" else None
    return "" if match is None else match.group(1) or match.group(2)


def is_number(opacity: Opacity) -> bool:
    """Whether an expansion can only become digits with a sign."""
    return opacity.text in ("$?", "$#", "$$") or (opacity.what == "arithmetic" and not opacity.runs)


def document(text: str, index: int) -> tuple[int, str] | None:
    """The end and the data of `$(cat <<'E' ... E)` at `index`: text that a command spells in lines."""
    opening = _DOCUMENT.match(text, index)
    if opening is None:
        return None
    tabs, *delimiters = opening.groups()
    delimiter = next(filter(None, delimiters))
    blanks = "\t*" if tabs else ""
    # The first line that begins with the delimiter must be it: shells differ in whether another ends it, too.
    end = re.compile(rf"^{blanks}{delimiter}(\n[ \t\n]*\))?", re.MULTILINE).search(text, opening.end())
    if end is None or end.group(1) is None:
        return None
    data = text[opening.end() : end.start()]
    if delimiters[2] and any(char in data for char in "$`\\"):
        return None
    return end.end(), (_TABS.sub("", data) if tabs else data).rstrip("\n")


def backtick(text: str, index: int) -> tuple[int, Opacity] | None:
    """The end of a backtick substitution, or `None` when it is not closed."""
    closing = _BACKTICK.match(text, index)
    if closing is None:
        return None
    script = _IN_BACKTICKS.sub(r"\1", closing.group()[1:-1])
    return closing.end(), Opacity("command substitution", closing.group(), False, script)


def process(text: str, index: int) -> tuple[int, Opacity]:
    """The end of `<(...)` or `>(...)`."""
    return _extent(text, index, "()", "process substitution", runs=False)


def ansi_c(text: str, index: int) -> tuple[int, str] | None:
    """The end and the decoded text of `$'...'`, or `None` when it is not closed."""
    literal = _ANSI_C.match(text, index)
    return None if literal is None else (literal.end(), _ESCAPE.sub(_decoded, literal.group()[2:-1]))


def _decoded(match: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, plain = match.groups()
    if control is not None:
        return chr(ord(control) & 31)
    if plain is not None:
        return _LETTERS.get(plain, plain if plain in "\\'\"?" else "\\" + plain)
    code = int(octal, 8) & 255 if octal else int(hexadecimal or short or long, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


@lru_cache(maxsize=256)
def _extent(text: str, index: int, pair: str, what: str, *, runs: bool) -> tuple[int, Opacity]:
    """Count brackets of one kind from `index + 1`, over quotes; to the end of text if none closes.

    What is nested is read once for each command around it: its extents are kept.
    """
    interesting = _BRACKETS[pair]
    depth, at, quote = 0, index + 1, ""
    while True:
        mark = interesting.search(text, at)
        if mark is None:
            return len(text), Opacity("unclosed " + what, text[index:], runs=True)
        char, at = mark.group(), mark.end()
        if char == "\\":
            at += quote != "'"
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == pair[0]:
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                script = text[index + 2 : at - 1] if what.endswith("substitution") else None
                return at, Opacity(what, text[index:at], runs, script)
