"""How a person wants the screen: what the app reads of settings and variables, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

PainterName: TypeAlias = Literal["inline", "full", "linear"]
DetailLevel: TypeAlias = Literal["brief", "normal", "full"]
EditorName: TypeAlias = Literal["emacs", "vim"]
GraphicsName: TypeAlias = Literal["", "kitty", "iterm", "sixel", "none"]
NotifyBy: TypeAlias = Literal["both", "bell", "osc9", "off"]


class TerminalOptions(Struct, frozen=True, kw_only=True):
    """See `docs/reference/settings.md`, keys `tui.*`, `editor_mode` and `view_mode`.

    An empty `theme` follows the terminal; a person's own are files in `theme_folders`, and `theme_files` are
    the paths of others by name.
    `keys` are a person's own: the name of an action, and the keys that do it (none: it has no key). `wraps`
    breaks prose at words; without it the terminal breaks it. `title` names the window, empty for no name.
    `graphics` is the protocol for images, empty where the terminal is to say it.
    """

    painter: PainterName = "inline"
    theme: str = ""
    theme_folders: tuple[str, ...] = ()
    theme_files: Mapping[str, str] = field(default_factory=dict)
    editor: EditorName = "emacs"
    detail: DetailLevel = "normal"
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mouse: bool = False
    wraps: bool = True
    reduces_motion: bool = False
    notify: NotifyBy = "both"
    title: str = ""
    shows_cost: bool = True
    graphics: GraphicsName = ""
