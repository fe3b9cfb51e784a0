"""Every text in a command that might be run as a command: for deny rules on lines that are not clear.

Quotes, escapes and expansions are made transparent and the text is cut wherever a shell could begin a
command. This sees too much, never too little of what is spelled out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell import expansion
from caliban_permissions.shell.line import HOLE

_ANSI_C = lazy_pattern(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_FIELD_SEPARATOR = lazy_pattern(r"\$\{IFS[^}]*\}|\$IFS(?:\$[0-9])?")
_VARIABLE = lazy_pattern(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-]|\{[A-Za-z0-9_]+\})")
_CUT = lazy_pattern(r"[;&|\n(){}<>`\x00]+")
_REDIRECT = lazy_pattern(r"[0-9]*(?:&>>?|>>|>&|>\||<>|<&|<<<|<<-?|[<>])(?!\()[ \t]*[^ \t\n;&|()<>`{}]*")
_KEYWORD = lazy_pattern(r"(?:^| )(?:do|then|else|elif|-exec|-execdir|-ok|-okdir) ")
_BLANKS = lazy_pattern(r"[ \t]+")
_LEADING = lazy_pattern(
    r"(?:(?:!|if|then|elif|else|fi|for|while|until|do|done|case|esac|in|coproc|\[\[|time(?:\s+-p)?(?:\s+--)?)(?=\s|$)"
    r"|[A-Za-z_][A-Za-z0-9_]*\+?=\S*(?=\s|$)|\s)+"
)
_MAX_SCRIPTS = 32
_QUOTES = str.maketrans("", "", "'\"\\")


def dequoted(text: str) -> str:
    """The text with quotes, escapes and line continuations removed, blanks collapsed, variables as holes."""
    text = text.replace("\\\n", "")
    if "$" in text:
        text = _ANSI_C.sub(lambda mark: _decode(mark.group()), text)
        text = _FIELD_SEPARATOR.sub(" ", text)
        text = _VARIABLE.sub(HOLE, text)
    return _BLANKS.sub(" ", text.translate(_QUOTES))


@lru_cache(maxsize=64)
def loose_commands(text: str) -> tuple[str, ...]:
    """The candidate commands in a text, blanks collapsed, assignments and reserved words cut off."""
    texts: dict[str, None] = {}
    braces = "{" in text
    plain = dequoted(text)
    parts = _CUT.split(plain)
    if "<" in plain or ">" in plain:
        parts += _CUT.split(_REDIRECT.sub(" ", plain))
    parts += [inner for part in parts for inner in _KEYWORD.split(part)[1:]]
    for part in parts:
        leading = _LEADING.match(part)
        command = part[leading.end() :].strip(" ") if leading else part.strip(" ")
        if command:
            texts.setdefault(command)
            if braces and "," in command:
                texts.setdefault(command.replace(",", " "))
    return tuple(texts)


def _decode(quoted: str) -> str:
    decoded = expansion.ansi_c(quoted, 0)
    return decoded[1] if decoded else quoted


def loose_scripts(text: str) -> tuple[str, ...]:
    """What may be substituted anywhere in a text, quoted or not: behind `$(`, or between backticks.

    It ends at its bracket, or at the last one: that of a pattern in it has no opening one.
    """
    scripts: dict[str, None] = {}
    opened: list[int] = []
    for at, char in enumerate(text):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            start = opened.pop()
            if text[start - 1 : start] == "$" and len(scripts) < _MAX_SCRIPTS:
                scripts.setdefault(text[start + 1 : at])
                scripts.setdefault(text[start + 1 : text.rfind(")")])
    rest = (text[start + 1 :] for start in opened[:_MAX_SCRIPTS] if text[start - 1 : start] == "$")
    return tuple(dict.fromkeys((*scripts, *rest, *text.split("`")[1::2][:_MAX_SCRIPTS])))
