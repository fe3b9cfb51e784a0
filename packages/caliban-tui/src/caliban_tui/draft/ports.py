"""What the line editor needs of others, as values: each can be left out, and is then told or not there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from caliban_commands.command import AskedWords
from caliban_tui.draft.files import FileSuggestionSource
from caliban_tui.draft.history import PromptHistory
from caliban_tui.draft.suggest import Suggester
from caliban_tui.keys.table import KEYS, KeyRow


class TerminalPrograms(Protocol):
    """Programs beside the conversation: editors, what lists files, what reads the clipboard."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The person's environment."""
        ...

    async def output(self, argv: Sequence[str], cwd: str, stdin: bytes) -> bytes:
        """What a program prints. Raises `CalibanError` where it cannot be started or fails."""
        ...

    def which(self, name: str) -> str | None:
        """Where a program is."""
        ...

    def foreground(self, words: Sequence[str]) -> int:
        """Run a program that a person works in, on this terminal; its exit code. Raises `OSError`."""
        ...


class EditorPorts(Struct, frozen=True, kw_only=True):
    """Who else has a part in the draft.

    `answer` is given each answer and report of the terminal, `say` words for a moment. `suggesters` fill the
    menu, `jobs` run beside the editor. `programs` gives what runs others, `given_over` leaves the terminal to
    them for the length of a block. Images that are pasted go below `image_folder`, as do those of outside the
    `workspace` that are dropped.
    """

    answer: Callable[[bytes], None] = lambda data: None
    say: Callable[[str], None] = lambda words: None
    suggesters: tuple[Suggester, ...] = ()
    jobs: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()
    programs: Callable[[], TerminalPrograms | None] = lambda: None
    given_over: Callable[[], AbstractContextManager[None]] = nullcontext
    image_folder: Callable[[], Path | None] = lambda: None
    workspace: Callable[[], Path | None] = lambda: None


class DraftHelp(Struct, frozen=True, kw_only=True):
    """What an app knows that helps to write a draft.

    `files` lists what can stand behind an `@`, `resources` what servers offer there, as `server:uri`.
    `mentioned` says whom to ask how what is typed there could go on.
    """

    programs: TerminalPrograms
    files: FileSuggestionSource
    resources: Callable[[], Awaitable[Sequence[str]]]
    mentioned: Callable[[str], AskedWords | None] = lambda typed: None
    history: PromptHistory
    image_folder: Path
    workspace: Path


class EditorOptions(Struct, frozen=True, kw_only=True):
    """How a person writes: from which descriptor, with which keys."""

    read_fd: int = 0
    vim: bool = False
    rows: tuple[KeyRow, ...] = KEYS
