"""What a simple command needs of the whole command it stands in."""

from __future__ import annotations

from typing import Protocol

from caliban_permissions.commands.scripts import Written
from caliban_permissions.commands.wildcards import Directories
from caliban_permissions.paths import PathContext
from caliban_permissions.shell import SimpleCommand


class CommandContext(Protocol):
    """The whole command, as its simple commands see it."""

    text: str
    tools: tuple[str, ...]
    place: PathContext
    cwd: str
    directories: Directories

    @property
    def written(self) -> tuple[Written, ...]:
        """The files that the whole command writes, as far as it may run them."""
        ...

    @property
    def obscure(self) -> bool:
        """Whether more of the whole command is unknown than values."""
        ...

    @property
    def plain(self) -> bool:
        """Whether nothing in the whole command may change what the names of programs and options mean."""
        ...

    @property
    def looks(self) -> bool:
        """Whether nothing in the whole command may change a repository."""
        ...

    def holds(self, simple: SimpleCommand) -> bool:
        """Whether a simple command stands in it, as it is."""
        ...

    def linked(self, name: str) -> tuple[str, ...]:
        """What a name leads to by the links that the whole command makes."""
        ...

    def given(self, simple: SimpleCommand) -> str | None:
        """The text that the whole command hands to a simple command of it, as far as it stands in it."""
        ...
