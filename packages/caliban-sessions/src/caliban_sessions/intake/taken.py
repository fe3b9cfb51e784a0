"""What came of an import: a session, and a sentence on everything that could not be taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from caliban_common.text import one_line, plural
from caliban_sessions.state import SessionState

NAMED: Final = 8
"""Lines of one kind that are named by their numbers."""


class Taken(Struct, frozen=True, kw_only=True):
    """A session that is written nowhere yet.

    `facts` are members of stored messages beside those of the message itself, by its id: when it came and
    what it took. `left_out` names what is not in it.
    """

    state: SessionState
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


class Omissions:
    """Counts what is left out, by what it is, with the lines where it stands."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = {}

    def add(self, what: str, line: int) -> None:
        """Something of the kind `what`, a noun in the singular, is left out of line `line`."""
        self._lines.setdefault(one_line(what, max_chars=160), []).append(line)

    def sentences(self) -> tuple[str, ...]:
        """One for each kind."""
        return tuple(_sentence(what, lines) for what, lines in self._lines.items())


def _sentence(what: str, lines: list[int]) -> str:
    named = ", ".join(map(str, lines[:NAMED]))
    more = f" and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    return f"{plural(len(lines), 'part')} left out: {what} (line {named}{more})"
