"""A command as data."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from caliban.cli.flag import Flag

if TYPE_CHECKING:
    from caliban.cli.invocation import Invocation


class Subcommand(NamedTuple):
    """A command: a new one is a row and its module.

    `usage` is what follows the name in the list of commands, `description` the head of its own help. `run` is
    the `module:function` that does it, given an `Invocation`; only the one asked for is loaded. Without
    arguments a command that `needs_words` shows its help. What is written to one that is `discreet` is never
    repeated in an error: it may be a key. Where it has `verbs`, the word behind its name is one of them: rows
    of their own, whose names hold both words.
    """

    name: str
    summary: str
    run: str
    flags: tuple[Flag, ...] = ()
    usage: str = ""
    description: str = ""
    needs_words: bool = False
    discreet: bool = False
    verbs: tuple[Subcommand, ...] = ()

    @property
    def verb(self) -> str:
        """Its last word: what stands behind the command whose verb it is."""
        return self.name.rpartition(" ")[2]

    @property
    def line(self) -> str:
        """How it is called, in short."""
        return f"{self.name} {self.usage}".rstrip()

    def load(self) -> Callable[[Invocation], int]:
        """The function that does it; gives the exit code."""
        module, _, name = self.run.partition(":")
        function: Callable[[Invocation], int] = getattr(import_module(module), name)
        return function
