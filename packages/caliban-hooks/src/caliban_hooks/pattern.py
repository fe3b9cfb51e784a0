"""Regular expressions in time that is linear in the text: all states at once, and no going back.

What needs going back (look-around, back references) is refused by name. Written for names of tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from caliban_hooks.errors import PatternRefused

MAX_CHARS: Final = 1_000
MAX_STEPS: Final = 5_000
MAX_REPEATS: Final = 100
MAX_DEPTH: Final = 50

_CLASSES: Final[Mapping[str, Callable[[str], bool]]] = MappingProxyType(
    {
        "d": lambda char: char.isdecimal(),
        "w": lambda char: char.isalnum() or char == "_",
        "s": lambda char: char.isspace(),
    }
)


class PatternStep(Struct, frozen=True, kw_only=True):
    """One step of a program: take a character, begin or end of the text, or go on at other places."""

    takes: Callable[[str], bool] | None = None
    at: str = ""
    to: tuple[int, ...] = ()


Node: TypeAlias = tuple[object, ...]


class LinearPattern:
    """One expression, searched for anywhere in a text. Raises `PatternRefused`."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise PatternRefused(f"it has more than {MAX_CHARS:,} characters")
        self._steps: list[PatternStep] = []
        _emit(_Parser(text).whole(), self._steps)

    def search(self, text: str) -> bool:
        """Whether the expression is somewhere in `text`."""
        states: set[int] = set()
        for place in range(len(text) + 1):
            if self._follow({*states, 0}, states, place, len(text)):
                return True
            if place < len(text):
                char = text[place]
                states = {
                    state + 1
                    for state in states
                    if (takes := self._steps[state].takes) is not None and takes(char)
                }
        return False

    def _follow(self, begin: set[int], states: set[int], place: int, size: int) -> bool:
        """Put all that is reached without a character into `states`; whether that is the end."""
        states.clear()
        waiting = list(begin)
        while waiting:
            state = waiting.pop()
            if state in states:
                continue
            if state == len(self._steps):
                return True
            states.add(state)
            step = self._steps[state]
            if step.to:
                waiting.extend(step.to)
            elif (step.at == "^" and place == 0) or (step.at == "$" and place == size):
                waiting.append(state + 1)
        return False


def _emit(node: Node, steps: list[PatternStep]) -> None:
    """Write the program of `node` behind `steps`."""
    if len(steps) > MAX_STEPS:
        raise PatternRefused("it is too long once its repetitions are written out")
    kind, parts = node[0], node[1:]
    if kind == "char":
        steps.append(PatternStep(takes=parts[0]))  # type: ignore[arg-type]
    elif kind == "at":
        steps.append(PatternStep(at=str(parts[0])))
    elif kind == "all":
        for part in parts:
            _emit(part, steps)  # type: ignore[arg-type]
    elif kind == "any":
        _emit_any(parts, steps)
    else:
        _emit_repeat(parts, steps)


def _emit_any(parts: tuple[object, ...], steps: list[PatternStep]) -> None:
    ends: list[int] = []
    for number, part in enumerate(parts):
        if number < len(parts) - 1:
            fork = len(steps)
            steps.append(PatternStep())
            _emit(part, steps)  # type: ignore[arg-type]
            ends.append(len(steps))
            steps.append(PatternStep())
            steps[fork] = PatternStep(to=(fork + 1, len(steps)))
        else:
            _emit(part, steps)  # type: ignore[arg-type]
    for end in ends:
        steps[end] = PatternStep(to=(len(steps),))


def _emit_repeat(parts: tuple[object, ...], steps: list[PatternStep]) -> None:
    inner, low, high = parts
    assert isinstance(low, int) and isinstance(inner, tuple)
    for _ in range(low):
        _emit(inner, steps)
    if high is None:
        fork = len(steps)
        steps.append(PatternStep())
        _emit(inner, steps)
        steps.append(PatternStep(to=(fork,)))
        steps[fork] = PatternStep(to=(fork + 1, len(steps)))
        return
    assert isinstance(high, int)
    forks: list[int] = []
    for _ in range(high - low):
        forks.append(len(steps))
        steps.append(PatternStep())
        _emit(inner, steps)
    for fork in forks:
        steps[fork] = PatternStep(to=(fork + 1, len(steps)))


class _Parser:
    """Reads an expression once, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._alternatives()
        if self._at < len(self._text):
            raise PatternRefused(f"there is a {self._text[self._at]!r} too many")
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise PatternRefused("it ends too early")
        self._at += 1
        return char

    def _alternatives(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PatternRefused("its groups are nested too deep")
        parts = [self._sequence()]
        while self._peek() == "|":
            self._take()
            parts.append(self._sequence())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else ("any", *parts)

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return ("all", *parts)

    def _repeated(self, node: Node) -> Node:
        bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in bounds and char:
            self._take()
            low, high = bounds[char]
        elif char == "{":
            low, high = self._bounds()
        else:
            return node
        if self._peek() == "?":
            self._take()  # whether as little as may be is taken makes no difference to whether there is any
        if self._peek() in ("*", "+", "{") and self._peek():
            raise PatternRefused("something is repeated twice")
        return ("repeat", node, low, high)

    def _bounds(self) -> tuple[int, int | None]:
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_count(low) or (high and not _is_count(high)):
            raise PatternRefused("a { begins no number of repetitions")
        self._at = end + 1
        first = int(low)
        last = int(high) if high else None if comma else first
        if max(first, last or 0) > MAX_REPEATS or (last is not None and last < first):
            raise PatternRefused(f"repetitions go up to {MAX_REPEATS}")
        return first, last

    def _atom(self) -> Node:
        char = self._take()
        match char:
            case "(":
                return self._group()
            case "[":
                return ("char", self._set())
            case ".":
                return ("char", lambda char: char != "\n")
            case "^" | "$":
                return ("at", char)
            case "\\":
                return ("char", self._escape())
            case "*" | "+" | "?" | "{":
                raise PatternRefused(f"there is nothing that the {char!r} would repeat")
            case _:
                return ("char", char.__eq__)

    def _group(self) -> Node:
        if self._peek() == "?":
            self._take()
            if self._take() != ":":
                raise PatternRefused("look-around, flags and named groups are not taken")
        node = self._alternatives()
        if self._take() != ")":
            raise PatternRefused("a group has no end")
        return node

    def _escape(self) -> Callable[[str], bool]:
        char = self._take()
        if char.lower() in _CLASSES:
            known = _CLASSES[char.lower()]
            return known if char.islower() else lambda char: not known(char)
        if char.isalnum():
            raise PatternRefused(f"\\{char} is not taken")
        return char.__eq__

    def _set(self) -> Callable[[str], bool]:
        negated = self._peek() == "^"
        if negated:
            self._take()
        parts: list[Callable[[str], bool]] = []
        while self._peek() != "]" or not parts:
            parts.append(self._member())
        self._take()
        return lambda char: any(part(char) for part in parts) is not negated

    def _member(self) -> Callable[[str], bool]:
        first = self._take()
        if first == "\\":
            if self._peek().isalnum():
                return self._escape()
            first = self._take()
        following = self._text[self._at : self._at + 2]
        if following[:1] != "-" or following[1:] in ("", "]"):
            return first.__eq__
        self._take()
        last = self._take()
        if last == "\\":
            last = self._take()
        if last < first:
            raise PatternRefused(f"the range {first}-{last} goes backwards")
        return lambda char: first <= char <= last


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 4
