"""What settings and variables say of the terminal interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_plugins import Plugin

GRAPHICS_VARIABLE: Final = "CALIBAN_GRAPHICS"
GRAPHICS: Final = ("kitty", "iterm", "sixel", "none")
DETAILS: Final[Mapping[str, str]] = {"compact": "brief", "expanded": "full"}
TITLE: Final = "caliban"
TIMEOUT_MS: Final = 1000


class StatusScript(Struct, frozen=True, kw_only=True):
    """A person's own program for the status line: a line for a shell, seconds, cells around its words."""

    command: str
    timeout_s: float = TIMEOUT_MS / 1000
    padding: int = 0


def terminal_values(settings: Settings, environ: Mapping[str, str]) -> Mapping[str, Any]:
    """How the screen is wanted: the options of its face by name; `tui.detail` goes before `view_mode`."""

    def said(name: str, default: Any) -> Any:
        return settings.get(f"tui.{name}", default)

    view = DETAILS.get(str(settings.get("view_mode")), "normal")
    graphics = environ.get(GRAPHICS_VARIABLE, "").lower()
    return {
        "painter": said("painter", "inline"),
        "theme": said("theme", ""),
        "editor": settings.get("editor_mode", "emacs"),
        "detail": said("detail", view),
        "keys": {name: _keys(keys) for name, keys in settings.get("tui.keys", {}).items()},
        "mouse": said("mouse", False),
        "wraps": said("wrap", "words") == "words",
        "reduces_motion": said("reduce_motion", False),
        "notify": said("notifications", "both"),
        "title": TITLE if said("title", False) else "",
        "shows_cost": said("showCostInStatusline", True),
        "graphics": next((name for name in GRAPHICS if name == graphics), ""),
    }


def plugin_themes(plugins: Iterable[Plugin]) -> dict[str, str]:
    """The files of the themes of plugins, by their names among those of everybody."""
    return {plugin.full_name(file.name): str(file.path) for plugin in plugins for file in plugin.themes}


def files_command(settings: Settings) -> tuple[str, ...]:
    """The program that prints the names for `@`, where a person has one of their own."""
    return tuple(settings.get("tui.files_command", ()))


def status_script(settings: Settings) -> StatusScript | None:
    """The program of `statusLine`; that of a project counts once the project is trusted."""
    table = settings.get("statusLine")
    if not table or not str(table.get("command", "")).strip():
        return None
    return StatusScript(
        command=table["command"],
        timeout_s=table.get("timeout_ms", TIMEOUT_MS) / 1000,
        padding=table.get("padding", 0),
    )


def _keys(keys: str | list[str]) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)
