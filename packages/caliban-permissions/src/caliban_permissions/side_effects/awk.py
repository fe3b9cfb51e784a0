"""Reading an awk program far enough to say that it only prints.

The programs that pass use neither `system` nor `getline` nor a redirection or pipe; where a slash may be a
division or a regular expression the program does not pass.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_common.lazy import lazy_pattern
from caliban_permissions.side_effects.row import LOADS, Evidence, whole

_DOES_MORE = "uses awk features that run programs or touch files"
_NAMED = lazy_pattern(r"system|getline|fflush|close|@|/inet|ENVIRON|PROCINFO|popen|\bload\b|include")
_TOKEN = lazy_pattern(
    r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|[0-9.]+|\|\||&&|[<>=!]=|>>|[^\sA-Za-z0-9_]'
)
_REGEX = lazy_pattern(r"/(?:[^/\\\n]|\\.)+/")
_BRACKET = lazy_pattern(r"\[\^?\]?[^]/]*\]")
_BEFORE_REGEX = frozenset({"", "(", ",", "{", "}", ";", "!", "~", "&&", "||", "\n"})
_KEYWORDS = frozenset("print printf return in else do exit case delete if while for getline".split())
_TAKES = "Fv"


def awk_evidence(argv: tuple[str, ...]) -> list[Evidence]:
    """Evidence for program files and loaded extensions, and for a program that does more than print."""
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--":
            index += 1
            break
        if not word.startswith("-") or word == "-":
            break
        if word[:2] in ("-F", "-v"):
            index += len(word) == 2
        elif word.startswith("--") and word.partition("=")[0] in ("--field-separator", "--assign"):
            index += "=" not in word
        elif word not in ("--version", "--help", "--posix", "--traditional", "--re-interval"):
            return [whole(argv, index, LOADS)]
        index += 1
    if index >= len(argv) or prints_only(argv[index]):
        return []
    return [whole(argv, index, _DOES_MORE)]


def prints_only(program: str) -> bool:
    """Whether the program has no way to run a program or to write a file."""
    if _NAMED.search(program):
        return False
    at, previous, printing, depth = 0, "", False, 0
    while at < len(program):
        char = program[at]
        if char in " \t":
            at += 1
            continue
        if char in ("#", "\\"):
            return False
        if char == "/":
            regex = _REGEX.match(program, at)
            if previous in _BEFORE_REGEX and regex and "[" not in _BRACKET.sub("", regex.group()):
                at, previous = regex.end(), "/"
                continue
            if previous in _BEFORE_REGEX or previous == ")" or previous in _KEYWORDS or previous == "/":
                return False
        longest = _TOKEN.match(program, at)
        token = longest.group() if longest else char
        at += len(token)
        depth += (token == "(") - (token == ")")
        if token in ("print", "printf"):
            printing, depth = True, 0
        elif token in (";", "}"):
            printing = False
        if token in ("|", '"') or token == ">>" or (token == ">" and printing and depth <= 0):
            return False
        previous = token
    return True
