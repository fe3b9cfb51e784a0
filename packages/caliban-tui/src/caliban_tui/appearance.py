"""How the screen looks now: what settings say, what the terminal can, what a person has changed since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from caliban_commands.answer import UseScreen
from caliban_common.errors import CalibanError
from caliban_tui.draft.editor import LineEditor
from caliban_tui.keys.custom import own_rows
from caliban_tui.options import PainterName, TerminalOptions
from caliban_tui.paint.choose import painter_for
from caliban_tui.paint.full import FullPainter
from caliban_tui.render.images import image_protocol
from caliban_tui.render.look import NORMAL, DetailLevel, ImageProtocol, TranscriptLook
from caliban_tui.stage import Stage
from caliban_tui.terminal.caps import PUSH_KEYS, UNKNOWN, TerminalCaps, answered, queries, reflows
from caliban_tui.terminal.notify import TITLE_BACK, title
from caliban_tui.theme.theme import Theme
from caliban_tui.theme.themes import choose_theme, terminal_kind

DETAILS: Final[tuple[DetailLevel, ...]] = ("brief", "normal", "full")
WORDS: Final[Mapping[DetailLevel, str]] = MappingProxyType(
    {"brief": "in a line", "normal": "in short", "full": "whole"}
)
AUTO: Final = "auto"
MOUSE: Final = b"\x1b[?1000h\x1b[?1006h"
MOUSE_OFF: Final = b"\x1b[?1006l\x1b[?1000l"


class Appearance:
    """Lets `stage` and `editor` be as `options` say; what settings change later counts from then on.

    `env` tells of the terminal. `say` shows words for a moment, `complain` an error.
    """

    def __init__(
        self,
        stage: Stage,
        editor: LineEditor,
        env: Mapping[str, str],
        *,
        say: Callable[[str], None],
        complain: Callable[[CalibanError], None],
    ) -> None:
        self.options: TerminalOptions = TerminalOptions()
        self.look: TranscriptLook = NORMAL
        self._stage = stage
        self._editor = editor
        self._env = env
        self._say = say
        self._complain = complain
        self._kind = terminal_kind(env)
        self._caps: TerminalCaps = UNKNOWN
        self._is_vim = False
        self._painter: PainterName = "inline"
        self._theme_name = AUTO
        self._theme = choose_theme(AUTO, self._kind)
        self._use_painter("linear" if self._kind.is_dumb else "inline")

    def begin(self) -> None:
        """Ask the terminal what it can."""
        self._stage.shapes_cursor = bool(queries(self._env))
        self._stage.send(queries(self._env))

    def answered(self, data: bytes) -> None:
        """The terminal says something of itself."""
        caps = answered(self._caps, data)
        if caps is None or caps == self._caps:
            return
        before, self._caps = self._caps, caps
        if caps.kitty_keys and not before.kitty_keys:
            self._stage.set_mode("keys", PUSH_KEYS)
        if caps.background != before.background and self._theme_name == AUTO:
            self._use_theme(AUTO)
        if caps.synchronised and not before.synchronised and self._painter != "linear":
            self._stage.painter.is_synchronised = True
        self.look = replace(self.look, images=self._images(), cell=self._stage.tty.cell())

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
            images=self._images(),
            cell=self._stage.tty.cell(),
        )
        self._stage.is_still = options.reduces_motion
        if options.theme != before.theme:
            self._use_theme(options.theme or AUTO)
        if options.painter != before.painter:
            self._use_painter(options.painter)
        if options.mouse != before.mouse:
            self._use_mouse()
        if options.title != before.title:
            self._use_title()

    def change(self, wanted: UseScreen) -> None:
        """Another way to use the screen, for as long as the program runs. Raises `ThemeError`."""
        if wanted.theme:
            self._theme = self._chosen(wanted.theme)
            self._theme_name = wanted.theme
            self._recolour()
        if wanted.painter:
            other: PainterName = "inline" if self._painter == "full" else "full"
            self._use_painter(other if wanted.painter == "other" else wanted.painter)
        if wanted.editor:
            self._use_vim(not self._is_vim if wanted.editor == "other" else wanted.editor == "vim")
            self._say("vim keys" if self._is_vim else "emacs keys")
        if wanted.detail == "other":
            before: DetailLevel = "normal" if self.options.detail == "brief" else self.options.detail
            self._show(before if self.look.detail == "brief" else "brief")
        elif wanted.detail:
            self._show(wanted.detail)

    def setup(self) -> str:
        """What the terminal can, and what to set in it, as Markdown."""
        from caliban_tui.terminal.setup import setup_text

        return setup_text(self._env, self._caps, self.look.images)

    def next_detail(self) -> None:
        """Show more of what tools say, or least again."""
        place = DETAILS.index(self.look.detail)
        self._show(DETAILS[(place + 1) % len(DETAILS)])

    def scroll(self, pages: int) -> bool:
        """Go pages through the transcript, up where it is negative; false where the terminal does that."""
        painter = self._stage.painter
        if not isinstance(painter, FullPainter):
            return False
        painter.page(pages)
        self._stage.changed()
        return True

    def follow(self) -> None:
        """Show the end of the transcript, and what comes."""
        if isinstance(self._stage.painter, FullPainter):
            self._stage.painter.end()

    @property
    def theme(self) -> Theme:
        """The colours of now."""
        return self._theme

    def _show(self, detail: DetailLevel) -> None:
        self.look = replace(self.look, detail=detail)
        self._say(f"what tools say is shown {WORDS[detail]} from here on")

    def _images(self) -> ImageProtocol:
        sixel: ImageProtocol = "sixel" if self._caps.sixel else ""
        answered: ImageProtocol = "kitty" if self._caps.kitty_graphics else sixel
        return image_protocol(self.options.graphics, self._env, answered)

    def _chosen(self, name: str) -> Theme:
        folders = tuple(map(Path, self.options.theme_folders))
        return choose_theme(name, self._kind, self._caps, folders, self.options.theme_files)

    def _use_theme(self, name: str) -> None:
        """Paint in other colours; where there is no such theme the ones of now stay, and it is told."""
        try:
            self._theme = self._chosen(name)
        except CalibanError as error:
            self._complain(error)
            return
        self._theme_name = name
        self._recolour()

    def _recolour(self) -> None:
        self._stage.painter.theme = self._theme
        self._stage.redraw()

    def _use_painter(self, name: PainterName) -> None:
        self._painter = name
        painter = painter_for(
            name, self._theme, tuple(self._stage.blocks), caps=self._caps, reflows=reflows(self._env)
        )
        self._stage.use_painter(painter)
        self._use_mouse()

    def _use_mouse(self) -> None:
        """Take the wheel, where that is wanted: only the whole screen has something to scroll."""
        wanted = self.options.mouse and self._painter == "full"
        if wanted:
            self._stage.set_mode("mouse", MOUSE, MOUSE_OFF)
        else:
            self._stage.end_mode("mouse")

    def _use_title(self) -> None:
        if self.options.title:
            self._stage.set_mode("title", title(self.options.title), TITLE_BACK)
        else:
            self._stage.end_mode("title")

    def _use_vim(self, wanted: bool) -> None:
        self._is_vim = wanted
        self._editor.use_vim(wanted)

    def _use_keys(self, options: TerminalOptions) -> None:
        """Bind a person's own keys; where they are none, the usual ones stay, and it is told."""
        try:
            self._editor.use_keys(own_rows(options.keys))
        except CalibanError as error:
            self._complain(error)
