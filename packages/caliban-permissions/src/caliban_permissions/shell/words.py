"""Reading one word: its text, its file-name pattern, and the segments that it is printed from."""

from __future__ import annotations

import re
from itertools import product
from typing import Literal

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.characters import disguised
from caliban_permissions.shell import expansion
from caliban_permissions.shell.line import HOLE, Opacity, Segment, Word

METACHARACTERS = frozenset(" \t\n;|&<>()")

_PLAIN = lazy_pattern(r"[A-Za-z0-9_./:=,@%+^-]+")
_PLAIN_WORD = lazy_pattern(r"[A-Za-z0-9_./:=,@%+^-]+(?=[ \t\n;|&)]|\Z)")
_QUOTED_RUN = lazy_pattern(r'[^"\\$`]+')
_TILDE = lazy_pattern(r"~(?:/|[ \t\n;|&<>()]|$)")
_ASSIGNED_TILDE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=(?:.*:)?", re.DOTALL)
_ESCAPED_IN_GLOB = frozenset("*?[]\\")
_PLAIN_BRACKETS = lazy_pattern(r"[A-Za-z0-9_./:=,@%+~*?!^\[\]-]+")
_ITEM = r"[A-Za-z0-9_./:@%+*?-]*"
_NUMBER = r"(?:0|-?[1-9][0-9]{0,3})"
_GROUP = rf"\{{{_ITEM}(?:,{_ITEM})+\}}|\{{{_NUMBER}\.\.{_NUMBER}\}}|\{{[a-z]\.\.[a-z]\}}"
_BRACES = re.compile(rf"~?(?:[A-Za-z0-9_./:@%+*?-]|{_GROUP})+")
_BRACE_PART = re.compile(rf"({_GROUP})")
_MAX_BRACE_WORDS = 64


def read_word(text: str, start: int) -> Word:
    """The word that begins at `start` and ends at the next unquoted metacharacter."""
    plain = _PLAIN_WORD.match(text, start)
    if plain is not None:  # most words are: they need no reader
        raw = plain.group()
        return Word(raw, raw, start, plain.end(), segments=(Segment("text", raw),))
    return _WordReader(text, start).read()


def brace_words(word: Word) -> list[Word] | None:
    """The words that simple unquoted braces make of a word; `None` where they are not simple."""
    if _BRACES.fullmatch(word.raw) is None:
        return None
    choices = [_choices(part) for part in _BRACE_PART.split(word.raw) if part]
    count = 1
    for choice in choices:
        count *= len(choice)
        if count > _MAX_BRACE_WORDS:
            return None
    texts = ("".join(parts) for parts in product(*choices))
    return [
        replace(read_word(text, 0), raw=word.raw, start=word.start, end=word.end) for text in texts if text
    ]


def _choices(part: str) -> list[str]:
    if not part.startswith("{"):
        return [part]
    inside = part[1:-1]
    if "," in inside:
        return inside.split(",")
    first, _, last = inside.partition("..")
    if first.isalpha():
        low, high = ord(first), ord(last)
        codes = range(low, high + 1) if low <= high else range(low, high - 1, -1)
        return [chr(code) for code in codes]
    low, high = int(first), int(last)
    if abs(high - low) > _MAX_BRACE_WORDS:
        return [""] * (_MAX_BRACE_WORDS + 1)
    return [str(number) for number in (range(low, high + 1) if low <= high else range(low, high - 1, -1))]


class _WordReader:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = self.position = start
        self.parts: list[str] = []
        self.pattern: list[str] = []
        self.segments: list[Segment] = []
        self.opaque: list[Opacity] = []
        self.printable = True
        self.quoted = False
        self.wild = self.bracket = False
        self.brace = False
        self.at_home = False

    def read(self) -> Word:
        text, size = self.text, len(self.text)
        if text[self.start] == "~":
            self._tilde()
        while self.position < size:
            plain = _PLAIN.match(text, self.position)
            if plain is not None:
                self._literal(plain.group())
                self.position = plain.end()
                if self.brace and ("," in plain.group() or ".." in plain.group()):
                    self._brace_expansion()
                continue
            if not self._special(text[self.position]):
                break
        raw = text[self.start : self.position]
        glob = "".join(self.pattern) if self.wild else None
        return Word(
            "".join(self.parts),
            raw,
            self.start,
            self.position,
            self.quoted,
            glob,
            tuple(self.opaque),
            self._printed(raw),
            self.at_home,
        )

    def _printed(self, raw: str) -> tuple[Segment, ...] | None:
        if not self.printable:
            return None
        if self.wild and self.bracket:
            return (Segment("pattern", raw),) if _PLAIN_BRACKETS.fullmatch(raw) else None
        if not self.wild:
            return tuple(
                Segment("text", item.text) if item.kind == "pattern" else item for item in self.segments
            )
        return tuple(self.segments)

    def _tilde(self) -> None:
        """A `~` at the start: the home of this person, or of one who is not known."""
        if _TILDE.match(self.text, self.start) is None:
            self.printable = False
            self.opaque.append(Opacity("tilde expansion", self.text[self.start : self.start + 20]))
            return
        self._home()
        self.position += 1

    def _home(self) -> None:
        self.at_home = True
        self.parts.append("~")
        self.pattern.append("~")
        self.segments.append(Segment("home", "~"))

    def _special(self, char: str) -> bool:
        """Read one unquoted construct; false at the end of the word."""
        if char in METACHARACTERS:
            if not self.text.startswith(("<(", ">("), self.position):
                return False
            self._hole(expansion.process(self.text, self.position))
        elif char == "'":
            self._single_quotes()
        elif char == '"':
            self.position += 1
            self._double_quotes()
        elif char == "\\":
            self._backslash()
        elif char == "$":
            self._dollar()
        elif char == "`":
            self._hole(expansion.backtick(self.text, self.position))
        else:
            self._bare(char)
        return True

    def _bare(self, char: str) -> None:
        self.position += 1
        if char in "*?[]":
            self.wild = self.wild or char in "*?" or (char == "]" and self.bracket)
            self.bracket = self.bracket or char == "["
            self.parts.append(char)
            self.pattern.append(char)
            self.segments.append(Segment("pattern", char))
            return
        if char == "{":
            self.brace = True
        elif char == "~" and _ASSIGNED_TILDE.fullmatch(self.text[self.start : self.position - 1]):
            self.printable = False
            self.opaque.append(Opacity("tilde expansion", self.text[self.start : self.start + 20]))
        elif not char.isascii() and disguised(char):
            self.opaque.append(Opacity("character that looks like shell syntax", f"U+{ord(char):04X}", True))
        self._literal(char)

    def _literal(self, text: str) -> None:
        self.parts.append(text)
        self.segments.append(Segment("text", text))
        if any(char in _ESCAPED_IN_GLOB for char in text):
            text = "".join("\\" + char if char in _ESCAPED_IN_GLOB else char for char in text)
        self.pattern.append(text)

    def _brace_expansion(self) -> None:
        self.brace = self.printable = False
        self.opaque.append(Opacity("brace expansion", self.text[self.start : self.start + 40]))
        self.parts.append(HOLE)

    def _hole(self, hole: tuple[int, Opacity] | None) -> None:
        if hole is None:
            hole = len(self.text), Opacity("unclosed quote", self.text[self.position :], runs=True)
        self.position, opacity = hole
        self.printable = False
        self.opaque.append(opacity)
        self.parts.append(HOLE)

    def _expanded(self, end: int, opacity: Opacity, *, quoted: bool) -> None:
        """Take a variable, a number or a substitution that can be printed; anything else is a hole."""
        name = expansion.variable_name(opacity)
        number = expansion.is_number(opacity)
        after = self.text[end + 1 : end + 2] if quoted and self.text[end : end + 1] == '"' else None
        follows = self.text[end : end + 1] if after is None else after
        closed = not quoted or after is not None
        first = not self.parts and (follows == "/" or (closed and (not follows or follows in METACHARACTERS)))
        if name == "HOME" and first:
            self._home()
        elif name == "PWD" and first:
            self.parts.append(".")
            self.pattern.append(".")
            self.segments.append(Segment("directory", "$PWD"))
        elif number and opacity.text in ("$?", "$#"):
            self.parts.append(HOLE)
            self.pattern.append(HOLE)
            self.segments.append(Segment("number", opacity.text))
        elif number or name or (opacity.script is not None and opacity.text.startswith("$(")):
            kind: Literal["number", "variable", "substitution"] = (
                "number" if number else "variable" if name else "substitution"
            )
            text = opacity.text if opacity.script is None else opacity.script
            self.segments.append(Segment(kind, text, quoted, name))
            script = opacity.script
            self.opaque.append(Opacity(opacity.what, opacity.text, opacity.runs, script, script is None))
            self.parts.append(HOLE)
            self.pattern.append(HOLE)
        else:
            self._hole((end, opacity))
        self.position = end

    def _single_quotes(self) -> None:
        end = self.text.find("'", self.position + 1)
        self.quoted = True
        if end < 0:
            self._hole(None)
            return
        self._literal(self.text[self.position + 1 : end])
        self.position = end + 1

    def _double_quotes(self) -> None:
        text = self.text
        self.quoted = True
        if text.startswith('"', self.position):
            self._literal("")  # it keeps what stands before it from being the home
        while self.position < len(text):
            run = _QUOTED_RUN.match(text, self.position)
            if run is not None:
                self._literal(run.group())
                self.position = run.end()
                continue
            char = text[self.position]
            if char == '"':
                self.position += 1
                return
            if char == "\\":
                self._quoted_backslash()
            elif char == "`":
                self._hole(expansion.backtick(text, self.position))
            else:
                self._quoted_dollar()
        self._hole(None)

    def _quoted_dollar(self) -> None:
        data = expansion.document(self.text, self.position)
        expanded = expansion.dollar(self.text, self.position) if data is None else None
        if data is not None:
            self.position = data[0]
            self._literal(data[1])
        elif expanded is None:
            self._literal("$")
            self.position += 1
        else:
            self._expanded(*expanded, quoted=True)

    def _quoted_backslash(self) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        self.position += 2
        if following in ("$", "`", '"', "\\"):
            self._literal(following)
        elif following != "\n":
            self._literal("\\" + following)

    def _backslash(self) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        if not following:
            self.printable = False
            self.opaque.append(Opacity("backslash at the end", runs=True))
        elif following == "\n":
            after = self.text[self.position + 2 : self.position + 3]
            if after and after not in " \t\n":
                self.opaque.append(Opacity("line continuation inside a word"))
        else:
            self.quoted = True
            self._literal(following)
        self.position += 2

    def _dollar(self) -> None:
        if self.text.startswith("$'", self.position):
            decoded = expansion.ansi_c(self.text, self.position)
            if decoded is None:
                self._hole(None)
                return
            self.quoted = True
            self.opaque.append(Opacity("ANSI-C quoting", self.text[self.position : decoded[0]]))
            self.position = decoded[0]
            self._literal(decoded[1])
        elif self.text.startswith('$"', self.position):
            self.opaque.append(Opacity("translated string", self.text[self.position : self.position + 20]))
            self.position += 2
            self._double_quotes()
        else:
            expanded = expansion.dollar(self.text, self.position)
            if expanded is None:
                self._literal("$")
                self.position += 1
            else:
                self._expanded(*expanded, quoted=False)
