"""Reading the JSON form of `calls` while it is being written: text streams, arguments stream."""

from __future__ import annotations

import json
import re
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct


class CallBegun(Struct, frozen=True):
    """The model calls the tool `name`; its arguments follow."""

    name: str


class CallInput(Struct, frozen=True):
    """A piece of the arguments' JSON text."""

    partial_json: str


class AnswerText(Struct, frozen=True):
    """A piece of the answer."""

    text: str


Piece: TypeAlias = CallBegun | CallInput | AnswerText

_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*')
_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*')
_STOP = re.compile(r'["\\]')
_BRACKET = re.compile(r'["{}\[\]]')
_HEAD_LIMIT = 2048


class EnvelopeReader:
    """A state machine over the text of one reply; how the text is cut into pieces changes nothing.

    `raw_answer` says that the answer is any JSON value whose text is wanted as it is, not a string to decode.
    Text that does not have the form at all comes out as the answer. `called` tells whether a call was begun.
    """

    def __init__(self, *, raw_answer: bool = False) -> None:
        self.called: bool = False
        self._raw_answer = raw_answer
        self._state: Literal["head", "quote", "string", "arguments", "value", "done", "loose"] = "head"
        self._held = ""
        self._value = _ValueEnd()

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of the reply."""
        pieces: list[Piece] = []
        self._held += text
        while self._step(pieces):
            pass
        return pieces

    def close(self) -> list[Piece]:
        """The reply is over: what was held back because it could have been the form."""
        held, state = self._held, self._state
        self._held, self._state = "", "done"
        if state == "string" and held:
            return [AnswerText(_decoded(held))]
        if state == "head" and held.strip() and not held.lstrip().startswith("{"):
            return [AnswerText(held)]
        return []

    def _step(self, pieces: list[Piece]) -> bool:
        """Make one move; whether another may follow at once."""
        match self._state:
            case "head":
                return self._head(pieces)
            case "quote":
                return self._quote()
            case "string":
                return self._string(pieces)
            case "arguments" | "value":
                return self._raw(pieces)
            case "loose":
                if self._held:
                    pieces.append(AnswerText(self._held))
                self._held = ""
                return False
            case "done":
                self._held = ""
                return False
            case _:
                assert_never(self._state)

    def _head(self, pieces: list[Piece]) -> bool:
        if call := _CALL.match(self._held):
            self.called = True
            pieces.append(CallBegun(_decoded(call[1][1:-1])))
            self._held, self._state = self._held[call.end() :], "arguments"
            return True
        if answer := _ANSWER.match(self._held):
            self._held = self._held[answer.end() :]
            self._state = "value" if self._raw_answer else "quote"
            return True
        if len(self._held) > _HEAD_LIMIT or (self._held.strip() and not self._held.lstrip().startswith("{")):
            self._state = "loose"
            return True
        return False

    def _quote(self) -> bool:
        self._held = self._held.lstrip()
        if not self._held:
            return False
        self._state = "string" if self._held.startswith('"') else "value"
        self._held = self._held[1:] if self._state == "string" else self._held
        return True

    def _string(self, pieces: list[Piece]) -> bool:
        end, closed = _string_end(self._held)
        if end:
            pieces.append(AnswerText(_decoded(self._held[:end])))
        self._held = self._held[end:]
        if closed:
            self._state = "done"
        return closed

    def _raw(self, pieces: list[Piece]) -> bool:
        if not self._value.begun:
            self._held = self._held.lstrip()
        end, closed = self._value.find(self._held)
        text = self._held[:end]
        if text:
            pieces.append(CallInput(text) if self._state == "arguments" else AnswerText(text))
        self._held = ""
        if closed:
            self._state = "done"
        return closed


class _ValueEnd:
    """Looks for the brace that closes the form around a JSON value, and forgets nothing between pieces."""

    def __init__(self) -> None:
        self.begun = False
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def find(self, text: str) -> tuple[int, bool]:
        """How much of `text` belongs to the value, and whether the value ends there."""
        self.begun = self.begun or bool(text)
        at = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        pattern = _STOP if self._quoted else _BRACKET
        while mark := pattern.search(text, at):
            at = mark.end()
            match mark[0]:
                case "\\":
                    self._escaped = at == len(text)
                    at += 1
                case '"':
                    self._quoted = not self._quoted
                case "{" | "[":
                    self._depth += 1
                case "}" if self._depth == 0:
                    return mark.start(), True
                case _:
                    self._depth -= 1
            pattern = _STOP if self._quoted else _BRACKET
        return len(text), False


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[^u])")


def _string_end(text: str) -> tuple[int, bool]:
    """How much of the inside of a JSON string can be decoded now, and whether a quote ends it there."""
    at = 0
    while mark := _STOP.search(text, at):
        start = mark.start()
        if mark[0] == '"':
            return start, True
        escape = _ESCAPE.match(text, start)
        if escape is None:
            return start, False
        at = escape.end()
        if escape[1] and escape[1][:2].lower() in ("d8", "d9", "da", "db"):
            rest = text[at : at + 6]
            if len(rest) < 6 and "\\u".startswith(rest[:2]) and '"' not in rest:
                return start, False
    return len(text), False


def _decoded(inside: str) -> str:
    """The inside of a JSON string as text; half a surrogate pair becomes U+FFFD, nonsense stays as it is."""
    if "\\" not in inside:
        return inside
    try:
        text = json.loads(f'"{inside}"', strict=False)
    except ValueError:
        return inside
    return (
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(text, str)
        else inside
    )
