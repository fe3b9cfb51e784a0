"""Cutting a command into words and operators, in one pass.

Blanks are space and tab, a line ends at LF: what bash says, not what Python's `str` methods say.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from caliban_permissions.characters import disguised
from caliban_permissions.shell import expansion
from caliban_permissions.shell.line import HOLE, Opacity, Word

_BLANKS = re.compile(r"[ \t]+")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+^-]+")
_QUOTED_RUN = re.compile(r'[^"\\$`]+')
_OPERATOR = re.compile(r"&>>|&>|&&|&|\|\||\|&|\||;;&|;;|;&|;|<<<|<<-|<<|<>|<&|<\(|<|>>|>&|>\||>\(|>|\(|\)|\n")
_REDIRECTS = frozenset({"<", "<<", "<<-", "<<<", "<>", "<&", ">", ">>", ">&", ">|", "&>", "&>>"})
_METACHARACTERS = frozenset(" \t\n;|&<>()")
_TILDE = re.compile(r"~(?:/|[ \t\n;|&<>()]|$)")
_EXPANDED_IN_BODY = re.compile(r"`|\$[({\[]")
_ESCAPED_IN_GLOB = frozenset("*?[]\\")


class LexToken(NamedTuple):
    """A word, an operator or a redirection operator; `descriptor` is the number before the latter."""

    kind: Literal["word", "operator", "redirect"]
    text: str
    start: int
    word: Word | None = None
    descriptor: str = ""


class HereDocument(NamedTuple):
    """A here-document's announcement: the index of its `<<` token and how its end is recognised."""

    token: int
    delimiter: str
    quoted: bool
    strip_tabs: bool


class Lexer:
    """Reads one command. `tokens`, `bodies` (by token index) and `doubts` are complete after `run`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.tokens: list[LexToken] = []
        self.bodies: dict[int, str] = {}
        self.doubts: list[Opacity] = []
        self._pending: list[HereDocument] = []
        self._awaited: int | None = None

    def run(self) -> Lexer:
        """Read everything; never raises."""
        text, size = self.text, len(self.text)
        while self.position < size:
            char = text[self.position]
            if char in " \t":
                blanks = _BLANKS.match(text, self.position)
                self.position = blanks.end() if blanks else self.position + 1
            elif text.startswith("\\\n", self.position):
                self.position += 2
            elif char == "#":
                end = text.find("\n", self.position)
                self.position = size if end < 0 else end
            elif char in _METACHARACTERS and not text.startswith(("<(", ">("), self.position):
                self._operator()
            else:
                self._word()
        if self._pending or self._awaited is not None:
            self.doubts.append(Opacity("here-document without an end"))
        return self

    def _operator(self) -> None:
        longest = _OPERATOR.match(self.text, self.position)
        operator = longest.group() if longest else self.text[self.position]
        start = self.position
        self.position += len(operator)
        if operator not in _REDIRECTS:
            self.tokens.append(LexToken("operator", operator, start))
            if operator == "\n":
                self._read_bodies()
            return
        descriptor = ""
        last = self.tokens[-1] if self.tokens else None
        if last and last.word and last.word.end == start:
            if last.word.raw.isascii() and last.word.raw.isdigit() and operator not in ("&>", "&>>"):
                descriptor = self.tokens.pop().text
            elif last.word.raw.startswith("{") and last.word.raw.endswith("}"):
                self.doubts.append(Opacity("named descriptor", last.word.raw))
        self.tokens.append(LexToken("redirect", operator, start, None, descriptor))
        if operator in ("<<", "<<-"):
            self._awaited = len(self.tokens) - 1

    def _word(self) -> None:
        word = _WordReader(self.text, self.position).read()
        self.position = word.end
        self.tokens.append(LexToken("word", word.text, word.start, word))
        if self._awaited is not None:
            operator = self.tokens[self._awaited].text
            self._pending.append(HereDocument(self._awaited, word.text, word.quoted, operator == "<<-"))
            self._awaited = None

    def _read_bodies(self) -> None:
        for document in self._pending:
            lines: list[str] = []
            closed = False
            while not closed and self.position < len(self.text):
                end = self.text.find("\n", self.position)
                end = len(self.text) if end < 0 else end
                line = self.text[self.position : end]
                self.position = min(end + 1, len(self.text))
                if document.strip_tabs:
                    line = line.lstrip("\t")
                closed = line == document.delimiter
                if not closed:
                    lines.append(line)
            self.bodies[document.token] = "\n".join(lines)
            if not closed:
                self.doubts.append(Opacity("here-document without an end", document.delimiter))
            if not document.quoted:
                what, body = "here-document with an unquoted delimiter", self.bodies[document.token]
                self.doubts.append(Opacity(what, document.delimiter, bool(_EXPANDED_IN_BODY.search(body))))
        self._pending.clear()


class _WordReader:
    """Reads one word from `start` to the next unquoted metacharacter."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = self.position = start
        self.parts: list[str] = []
        self.pattern: list[str] = []
        self.opaque: list[Opacity] = []
        self.quoted = False
        self.wild = self.bracket = False
        self.brace = False

    def read(self) -> Word:
        text, size = self.text, len(self.text)
        if text[self.start] == "~" and _TILDE.match(text, self.start) is None:
            self.opaque.append(Opacity("tilde expansion", text[self.start : self.start + 20]))
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
        joined = "".join(self.parts)
        return Word(joined, raw, self.start, self.position, self.quoted, glob, tuple(self.opaque))

    def _special(self, char: str) -> bool:
        """Read one unquoted construct; false at the end of the word."""
        if char in _METACHARACTERS:
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
            return
        if char == "{":
            self.brace = True
        elif not char.isascii() and disguised(char):
            self.opaque.append(Opacity("character that looks like shell syntax", f"U+{ord(char):04X}", True))
        self._literal(char)

    def _literal(self, text: str) -> None:
        self.parts.append(text)
        if any(char in _ESCAPED_IN_GLOB for char in text):
            text = "".join("\\" + char if char in _ESCAPED_IN_GLOB else char for char in text)
        self.pattern.append(text)

    def _brace_expansion(self) -> None:
        self.brace = False
        self.opaque.append(Opacity("brace expansion", self.text[self.start : self.start + 40]))
        self.parts.append(HOLE)

    def _hole(self, hole: tuple[int, Opacity] | None) -> None:
        if hole is None:
            hole = len(self.text), Opacity("unclosed quote", self.text[self.position :], runs=True)
        self.position, opacity = hole
        self.opaque.append(opacity)
        self.parts.append(HOLE)

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
                expanded = expansion.dollar(text, self.position)
                if expanded is None:
                    self._literal("$")
                    self.position += 1
                else:
                    self._hole(expanded)
        self._hole(None)

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
                self._hole(expanded)
