"""What an answer may change beyond its call, as values: for whoever asks and for whoever keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, get_args

from caliban_common.permission import Action, PermissionMode

Destination: TypeAlias = Literal["session", "cliArg", "localSettings", "projectSettings", "userSettings"]
"""How far an update reaches; `cliArg` is the session, too."""

DESTINATIONS: Final[tuple[Destination, ...]] = get_args(Destination)


class RuleWords(NamedTuple):
    """A rule as the dialect writes it: without `content` it is about every call of the tool."""

    tool: str
    content: str | None


class PermissionUpdate(NamedTuple):
    """A change that an answer asks for: rules of one `behavior` to add, or the `mode` to go to.

    `comment` says to people what the rules are for.
    """

    destination: Destination
    rules: tuple[RuleWords, ...] = ()
    behavior: Action = "allow"
    mode: PermissionMode | None = None
    comment: str = ""


class Updates(Protocol):
    """Who carries out what an answer changes beyond its call."""

    async def apply(
        self, updates: tuple[PermissionUpdate, ...], offered: Mapping[RuleWords, str]
    ) -> str | None:
        """Carry out all `updates`, or none; why none, in words. `offered` are our own patterns by words."""
        ...
