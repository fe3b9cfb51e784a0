"""Cutting a command into words and operators, in one pass.

Blanks are space and tab, a line ends at LF: what bash says, not what Python's `str` methods say.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell.line import COPIES, Opacity, Segment, Word
from caliban_permissions.shell.words import METACHARACTERS, brace_words, read_word

_BLANKS = lazy_pattern(r"[ \t]+")
_GAP = lazy_pattern(r"(?:[ \t]|\\\n)*")
_OPERATOR = lazy_pattern(
    r"&>>|&>|&&|&|\|\||\|&|\||;;&|;;|;&|;|<<<|<<-|<<|<>|<&|<\(|<|>>|>&|>\||>\(|>|\(|\)|\n"
)
_REDIRECTS = frozenset({"<", "<<", "<<-", "<<<", "<>", "<&", ">", ">>", ">&", ">|", "&>", "&>>"})
_EXPANDED_IN_BODY = lazy_pattern(r"`|\$[({\[]")
_NAMED_DESCRIPTOR = lazy_pattern(r"\{[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\}")
_DIGITS = lazy_pattern(r"[0-9]+")
_MAX_SPREAD = 512
_MAX_DESCRIPTOR = 2_147_483_647


class LexToken(Struct, frozen=True):
    """A word, an operator or a redirection operator; `descriptor` is the number before the latter."""

    kind: Literal["word", "operator", "redirect"]
    text: str
    start: int
    word: Word | None = None
    descriptor: str = ""


class HereDocument(Struct, frozen=True):
    """A here-document's announcement: the index of its `<<` token and how its end is recognised."""

    token: int
    delimiter: str
    quoted: bool
    strip_tabs: bool


class Lexer:
    """Reads one command. `tokens`, `bodies` (by token index) and `doubts` are complete after `run`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position: int = 0
        self.tokens: list[LexToken] = []
        self.bodies: dict[int, str] = {}
        self.doubts: list[Opacity] = []
        self._pending: list[HereDocument] = []
        self._awaited: int | None = None
        self._spread = 0

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
            elif char in METACHARACTERS and not text.startswith(("<(", ">("), self.position):
                self._operator()
            else:
                self._word()
        if self._pending or self._awaited is not None:
            self.doubts.append(Opacity("here-document without an end", runs=True))
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
        self.tokens.append(LexToken("redirect", operator, start, None, self._descriptor(operator, start)))
        if operator in ("<<", "<<-"):
            self._awaited = len(self.tokens) - 1
        elif operator in COPIES:
            self._close_descriptor()

    def _descriptor(self, operator: str, start: int) -> str:
        """Take back the word right before a redirect, if it is the descriptor of it."""
        last = self.tokens[-1] if self.tokens else None
        if last is None or last.word is None or last.word.end != start or operator in ("&>", "&>>"):
            return ""
        copied = len(self.tokens) > 1 and self.tokens[-2].text in COPIES and self.tokens[-2].word is None
        raw = last.word.raw
        if _DIGITS.fullmatch(raw) and not copied:
            digits = raw.lstrip("0") or "0"
            # A larger number is a word for bash.
            if len(digits) <= len(str(_MAX_DESCRIPTOR)) and int(digits) <= _MAX_DESCRIPTOR:
                self.tokens.pop()
                return digits
        elif raw.startswith("{") and raw.endswith("}"):
            self.doubts.append(Opacity("named descriptor", raw))
            if _NAMED_DESCRIPTOR.fullmatch(raw):
                return self.tokens.pop().text
        return ""

    def _close_descriptor(self) -> None:
        """After `<&` or `>&` a `-` ends the redirect; what is glued to it is a word of its own."""
        gap = _GAP.match(self.text, self.position)
        at = gap.end() if gap else self.position
        if self.text.startswith("-", at):
            word = Word("-", "-", at, at + 1, segments=(Segment("text", "-"),))
            self.tokens.append(LexToken("word", "-", at, word))
            self.position = at + 1

    def _word(self) -> None:
        word = read_word(self.text, self.position)
        self.position = word.end
        target = bool(self.tokens) and self.tokens[-1].kind == "redirect"
        words = None
        if any(item.what == "brace expansion" for item in word.opaque) and not target:
            words = brace_words(word) if self._spread < _MAX_SPREAD else None
            self._spread += len(words or ())
        self.tokens += (LexToken("word", each.text, each.start, each) for each in words or [word])
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
            self.bodies[document.token] = "".join(line + "\n" for line in lines)
            if not closed:
                self.doubts.append(Opacity("here-document without an end", document.delimiter, runs=True))
            body = self.bodies[document.token]
            if not document.quoted and any(char in body for char in "$`\\"):
                what = "here-document with an unquoted delimiter"
                self.doubts.append(Opacity(what, document.delimiter, bool(_EXPANDED_IN_BODY.search(body))))
        self._pending.clear()
