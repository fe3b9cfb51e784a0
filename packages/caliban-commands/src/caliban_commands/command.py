"""A slash command as data, and what it is given when it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from caliban_commands.answer import CommandAnswer

if TYPE_CHECKING:
    from caliban_drive.notice import Report
    from caliban_drive.result import Costs
    from caliban_drive.session import Session

Group: TypeAlias = Literal[
    "Session", "Model", "Permissions", "Context", "Memory", "Extensions", "Screen", "Diagnostics", "Yours"
]
"""The headings of `/help` and of the menu, in order; `Yours` are files, skills and prompts of servers."""

GROUPS: Final[tuple[Group, ...]] = (
    "Session",
    "Model",
    "Permissions",
    "Context",
    "Memory",
    "Extensions",
    "Screen",
    "Diagnostics",
    "Yours",
)

Place: TypeAlias = Literal["idle", "running", "headless"]
"""Where a command may run: between prompts, while one is at work, in a run without a person."""

CommandSource: TypeAlias = Literal["built-in", "user", "project", "plugin", "skill", "server"]

Use: TypeAlias = Literal["model", "session", "servers"]
"""What a command cannot do without: somebody to ask, the saved session open for writing, servers of tools."""

EVERYWHERE: Final[frozenset[Place]] = frozenset(["idle", "running", "headless"])
BETWEEN_PROMPTS: Final[frozenset[Place]] = frozenset(["idle", "headless"])
ON_SCREEN: Final[frozenset[Place]] = frozenset(["idle", "running"])


class SlashContext(Protocol):
    """What a command works with: the conversation, its cost, and where to report."""

    @property
    def session(self) -> Session:
        """The conversation of now."""
        ...

    @property
    def costs(self) -> Costs:
        """What the model calls of this process have cost."""
        ...

    @property
    def report(self) -> Report:
        """Reports a notice, for what should be known before the answer."""
        ...


Handler: TypeAlias = Callable[[SlashContext, str], Awaitable[CommandAnswer]]
"""Does the command, given the words behind its name. Raises `CommandError` and other `CalibanError`s."""


class AskedWords(Struct, frozen=True, kw_only=True):
    """Words that somebody has to be asked for: `ask` gives them, in the place of what was `typed` of one.

    `ends` says that nothing more is needed behind it. `ask` raises `CalibanError`.
    """

    typed: str
    ask: Callable[[], Awaitable[tuple[str, ...]]]
    ends: bool = True


class SlashCommand(Struct, frozen=True, kw_only=True):
    """One command. `run` is its handler, or `module:function`, loaded when it is called.

    `arguments` is the hint behind its name, such as `[id]`; `complete` gives words for the menu behind it,
    `asks` says whom to ask for some. What `opens` a list or a view says so, `bare` without words or `always`:
    a face lets keys wait for it.
    A `hidden` one is known and not listed. `later` says why a command of the guide is not built: calling it
    says so. `uses` is what it needs of a run; one that `submits` answers with a prompt. `instead` is what to
    do where there is no terminal interface.
    """

    name: str
    summary: str
    group: Group
    run: Handler | str
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    places: frozenset[Place] = BETWEEN_PROMPTS
    hidden: bool = False
    source: CommandSource = "built-in"
    later: str = ""
    uses: frozenset[Use] = frozenset()
    submits: bool = False
    opens: Literal["", "bare", "always"] = ""
    instead: str = ""
    complete: Callable[[str], tuple[str, ...]] | None = None
    asks: Callable[[str], AskedWords | None] | None = None

    def opens_for(self, words: str) -> bool:
        """Whether it opens something with these words behind its name."""
        return self.opens == "always" or (self.opens == "bare" and not words)

    def handler(self) -> Handler:
        """What does it."""
        if not isinstance(self.run, str):
            return self.run
        module, _, name = self.run.partition(":")
        handler: Handler = getattr(import_module(module), name)
        return handler
