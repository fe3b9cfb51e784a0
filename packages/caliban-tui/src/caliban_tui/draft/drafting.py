"""The line editor with all that an app knows to help: commands, files, history, other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_commands.command import AskedWords, Place
from caliban_commands.registry import CommandRegistry
from caliban_common.errors import CalibanError
from caliban_tui.draft.asked import AskedSuggester
from caliban_tui.draft.editor import LineEditor
from caliban_tui.draft.files import FileSuggester, FileSuggestionSource
from caliban_tui.draft.ports import DraftHelp, EditorOptions, EditorPorts, TerminalPrograms
from caliban_tui.draft.suggest import CommandSuggester
from caliban_tui.keys.table import Action

if TYPE_CHECKING:
    from caliban_tui.host import TerminalHost


class DraftScreen(Struct, frozen=True, kw_only=True):
    """What the draft is drawn on: see `LineEditor` and `EditorPorts`."""

    draw: Callable[[], None]
    intercept: Callable[[str], bool]
    answer: Callable[[bytes], None]
    say: Callable[[str], None]
    given_over: Callable[[], AbstractContextManager[None]]


class Drafting:
    """Makes the `editor`, and lets it know what the conversation of now can help with."""

    def __init__(
        self, actions: Mapping[Action, Callable[[], None]], screen: DraftScreen, options: EditorOptions
    ) -> None:
        self._host: TerminalHost | None = None
        self._help: DraftHelp | None = None
        self._is_at_work: Callable[[], bool] = lambda: False
        self._say = screen.say
        self._failures: set[str] = set()
        files = FileSuggester(
            self._files, changed=self._more, resources=self._resources, failed=self._told_once
        )
        asked = AskedSuggester(self._commands, self._mentioned, changed=self._more)
        self.editor: LineEditor = LineEditor(
            actions,
            draw=screen.draw,
            intercept=screen.intercept,
            ports=EditorPorts(
                answer=screen.answer,
                say=screen.say,
                suggesters=(CommandSuggester(self._commands, self._place), asked, files),
                jobs=(files.run, asked.run),
                programs=self._programs,
                given_over=screen.given_over,
                image_folder=self._image_folder,
                workspace=lambda: None if self._help is None else self._help.workspace,
            ),
            options=options,
        )

    def use(self, host: TerminalHost | None, is_at_work: Callable[[], bool] = lambda: False) -> None:
        """The conversation of now, or none."""
        self._host, self._is_at_work = host, is_at_work
        self._help = None if host is None else host.draft_help
        if self._help is not None and self._help.history is not self.editor.history:
            self.editor.use_history(self._help.history)
        self._more()

    def _more(self) -> None:
        self.editor.more_suggested()

    def _told_once(self, error: CalibanError) -> None:
        if error.message not in self._failures:
            self._failures.add(error.message)
            self._say(error.message)

    def _commands(self) -> CommandRegistry | None:
        return None if self._host is None else self._host.commands

    def _place(self) -> Place:
        return "running" if self._is_at_work() else "idle"

    def _files(self) -> FileSuggestionSource | None:
        return None if self._help is None else self._help.files

    def _mentioned(self, typed: str) -> AskedWords | None:
        return None if self._help is None else self._help.mentioned(typed)

    async def _resources(self) -> Sequence[str]:
        return () if self._help is None else await self._help.resources()

    def _programs(self) -> TerminalPrograms | None:
        return None if self._help is None else self._help.programs

    def _image_folder(self) -> Path | None:
        return None if self._help is None else self._help.image_folder
