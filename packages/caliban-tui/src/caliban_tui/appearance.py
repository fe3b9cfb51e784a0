"""How the screen looks now: what settings say, and what a person has changed since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from caliban_commands.answer import UseScreen
from caliban_common.errors import CalibanError
from caliban_tui.editor import LineEditor
from caliban_tui.errors import TerminalError
from caliban_tui.look import NORMAL, DetailLevel, TranscriptLook
from caliban_tui.options import TerminalOptions
from caliban_tui.stage import Stage

DETAILS: Final[tuple[DetailLevel, ...]] = ("brief", "normal", "full")
WORDS: Final[Mapping[DetailLevel, str]] = MappingProxyType(
    {"brief": "in a line", "normal": "in short", "full": "whole"}
)


class Appearance:
    """Lets `stage` and `editor` be as `options` say; what settings change later counts from then on.

    `say` shows words for a moment, `complain` an error.
    """

    def __init__(
        self,
        stage: Stage,
        editor: LineEditor,
        *,
        say: Callable[[str], None],
        complain: Callable[[CalibanError], None],
    ) -> None:
        self.options: TerminalOptions = TerminalOptions()
        self.look: TranscriptLook = NORMAL
        self._stage = stage
        self._editor = editor
        self._say = say
        self._complain = complain
        self._is_vim = False

    def use(self, options: TerminalOptions) -> None:
        """The settings are `options` now."""
        before, self.options = self.options, options
        if options.keys != before.keys:
            self._use_keys(options)
        if options.editor != before.editor:
            self._use_vim(options.editor == "vim")
        self.look = replace(
            self.look,
            detail=options.detail if options.detail != before.detail else self.look.detail,
            wraps_prose=options.wraps,
        )
        self._stage.is_still = options.reduces_motion

    def change(self, wanted: UseScreen) -> None:
        """Another way to use the screen, for as long as the program runs. Raises `TerminalError`."""
        if wanted.editor:
            self._use_vim(not self._is_vim if wanted.editor == "other" else wanted.editor == "vim")
            self._say("vim keys" if self._is_vim else "emacs keys")
        if wanted.detail:
            self._show(wanted.detail)
        if wanted.painter or wanted.theme:
            raise TerminalError("the screen has one painter and one theme yet")

    def next_detail(self) -> None:
        """Show more of what tools say, or least again."""
        place = DETAILS.index(self.look.detail)
        self._show(DETAILS[(place + 1) % len(DETAILS)])

    def _show(self, detail: DetailLevel) -> None:
        self.look = replace(self.look, detail=detail)
        self._say(f"what tools say is shown {WORDS[detail]} from here on")

    def _use_vim(self, wanted: bool) -> None:
        self._is_vim = wanted
        self._editor.use_vim(wanted)

    def _use_keys(self, options: TerminalOptions) -> None:
        """Bind a person's own keys; where they are none, the usual ones stay, and it is told."""
        from caliban_tui.keys.custom import own_rows

        try:
            self._editor.use_keys(own_rows(options.keys))
        except CalibanError as error:
            self._complain(error)
