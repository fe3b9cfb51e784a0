"""What an output style is, and where it stands in a system prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

StyleScope: TypeAlias = Literal["project", "user", "plugin", "builtin"]
"""Whose a style is, in the order in which they count."""

DEFAULT: Final = "default"
OPENING: Final = '<output-style name="'
"""How a system prompt with a style begins."""


class OutputStyle(Struct, frozen=True, kw_only=True):
    """How answers are written: `body` stands in the system prompt, and changes neither tools nor rules.

    Without `keeps_coding` the usual words on how to work with code are left out. An empty body changes
    nothing. One that `is_forced` by its plugin is taken whatever a person chose. `notes` are what a person
    should know of the file at `path`.
    """

    name: str
    description: str
    scope: StyleScope = "builtin"
    body: str = ""
    path: Path | None = None
    keeps_coding: bool = True
    is_forced: bool = False
    notes: tuple[str, ...] = ()

    def block(self) -> str:
        """What stands before the rest of the system prompt; empty where nothing does."""
        return f'{OPENING}{self.name}">\n{self.body}\n</output-style>\n\n' if self.body else ""
