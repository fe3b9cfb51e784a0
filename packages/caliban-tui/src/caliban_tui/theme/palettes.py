"""The themes that come with the program, as words: `bold #d7875f`, read as a custom theme's are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban_tui.theme.colour import ColourDepth

_SHAPES: Final = MappingProxyType(
    {
        "bold": "bold",
        "emphasis": "italic",
        "struck": "strike",
        "heading": "bold",
        "selected": "reverse",
        "key": "bold",
        "todo_now": "bold",
    }
)

_TERMINAL: Final = MappingProxyType(
    {
        **_SHAPES,
        "dim": "dim",
        "prompt": "bold cyan",
        "reasoning": "dim italic",
        "code": "cyan",
        "link": "underline blue",
        "quote": "dim",
        "rule": "dim",
        "added": "green",
        "removed": "red",
        "added_part": "reverse green",
        "removed_part": "reverse red",
        "hunk": "dim",
        "error": "red",
        "warning": "yellow",
        "success": "green",
        "info": "cyan",
        "tool": "bold blue",
        "agent": "magenta",
        "match": "bold yellow",
        "mode": "yellow",
        "danger": "bold red",
        "working": "cyan",
        "todo_done": "dim",
        "syntax_keyword": "magenta",
        "syntax_string": "green",
        "syntax_number": "yellow",
        "syntax_comment": "dim",
        "syntax_name": "blue",
        "syntax_type": "cyan",
        "syntax_error": "red",
    }
)

_DARK: Final = MappingProxyType(
    {
        **_SHAPES,
        "dim": "#9a9a9a",
        "prompt": "bold #7fd5e8",
        "reasoning": "italic #a3a3a3",
        "heading": "bold #e8c07a",
        "code": "#8fd3c8",
        "link": "underline #8ab8ff",
        "quote": "italic #b0b0b0",
        "rule": "#949494",
        "added": "#8fd18f",
        "removed": "#f29b9b",
        "added_part": "bold #0b2b0b on #8fd18f",
        "removed_part": "bold #330808 on #f29b9b",
        "hunk": "#9aa7bd",
        "error": "#ff8f87",
        "warning": "#e8c07a",
        "success": "#8fd18f",
        "info": "#7fd5e8",
        "tool": "bold #8ab8ff",
        "agent": "#d3a6f0",
        "match": "bold #ffd75f",
        "mode": "#e8c07a",
        "danger": "bold #ff8f87",
        "working": "#7fd5e8",
        "todo_done": "#9a9a9a",
        "syntax_keyword": "#d3a6f0",
        "syntax_string": "#a8d08d",
        "syntax_number": "#e8b07a",
        "syntax_comment": "italic #9a9a9a",
        "syntax_name": "#8ab8ff",
        "syntax_type": "#7fd5e8",
        "syntax_operator": "#c5c5c5",
        "syntax_variable": "#e0d3b8",
        "syntax_error": "#ff8f87",
    }
)

_LIGHT: Final = MappingProxyType(
    {
        **_SHAPES,
        "dim": "#6a6a6a",
        "prompt": "bold #005f74",
        "reasoning": "italic #636363",
        "heading": "bold #7a4f00",
        "code": "#00665c",
        "link": "underline #1a4fb4",
        "quote": "italic #5f5f5f",
        "rule": "#707070",
        "added": "#1d6b1d",
        "removed": "#a31515",
        "added_part": "bold #ffffff on #1d6b1d",
        "removed_part": "bold #ffffff on #a31515",
        "hunk": "#4f5f78",
        "error": "#b00020",
        "warning": "#7a4f00",
        "success": "#1d6b1d",
        "info": "#005f74",
        "tool": "bold #1a4fb4",
        "agent": "#7030a0",
        "match": "bold #8a3b00",
        "mode": "#7a4f00",
        "danger": "bold #b00020",
        "working": "#005f74",
        "todo_done": "#6a6a6a",
        "syntax_keyword": "#7030a0",
        "syntax_string": "#1d6b1d",
        "syntax_number": "#8a3b00",
        "syntax_comment": "italic #6a6a6a",
        "syntax_name": "#1a4fb4",
        "syntax_type": "#005f74",
        "syntax_operator": "#4a4a4a",
        "syntax_variable": "#5f4b1f",
        "syntax_error": "#b00020",
    }
)

_BLUE_AND_ORANGE: Final = MappingProxyType(
    {
        "added": "#7fb8ff",
        "removed": "#ffb060",
        "added_part": "bold #00172e on #7fb8ff",
        "removed_part": "bold #2e1700 on #ffb060",
        "success": "#7fb8ff",
        "error": "bold #ffb060",
        "danger": "bold underline #ffb060",
        "warning": "#f0e07a",
        "syntax_string": "#7fb8ff",
        "syntax_number": "#ffb060",
        "syntax_error": "underline #ffb060",
    }
)

PALETTES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "dark": _DARK,
        "light": _LIGHT,
        "dark-daltonized": MappingProxyType({**_DARK, **_BLUE_AND_ORANGE}),
        "light-daltonized": MappingProxyType(
            {
                **_LIGHT,
                "added": "#00509e",
                "removed": "#9a4a00",
                "added_part": "bold #ffffff on #00509e",
                "removed_part": "bold #ffffff on #9a4a00",
                "success": "#00509e",
                "error": "bold #9a4a00",
                "danger": "bold underline #9a4a00",
                "warning": "#6b5900",
                "syntax_string": "#00509e",
                "syntax_number": "#9a4a00",
                "syntax_error": "underline #9a4a00",
            }
        ),
        "terminal": _TERMINAL,
    }
)
"""`terminal` has the sixteen colours that a person gave it; daltonized ones tell by blue and orange."""

_DARK_16: Final = MappingProxyType(
    {
        **_TERMINAL,
        "link": "underline cyan",
        "removed": "bright-red",
        "added_part": "black on green",
        "removed_part": "black on bright-red",
        "error": "bright-red",
        "tool": "bold cyan",
        "agent": "bright-magenta",
        "danger": "bold bright-red",
        "syntax_keyword": "bright-magenta",
        "syntax_name": "cyan",
        "syntax_error": "bright-red",
    }
)

_LIGHT_16: Final = MappingProxyType(
    {
        **_TERMINAL,
        "prompt": "bold blue",
        "code": "magenta",
        "added": "blue",
        "added_part": "bright-white on blue",
        "removed_part": "bright-white on red",
        "warning": "bold magenta",
        "success": "blue",
        "info": "blue",
        "match": "bold underline magenta",
        "mode": "magenta",
        "working": "blue",
        "syntax_string": "blue",
        "syntax_number": "red",
        "syntax_name": "bright-blue",
        "syntax_type": "bright-blue",
    }
)

_SIXTEEN: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "dark": _DARK_16,
        "light": _LIGHT_16,
        "dark-daltonized": MappingProxyType(
            {
                **_DARK_16,
                "added": "cyan",
                "removed": "yellow",
                "added_part": "black on cyan",
                "removed_part": "black on yellow",
                "success": "cyan",
                "error": "bold yellow",
                "danger": "bold underline yellow",
                "warning": "bold white",
                "syntax_string": "cyan",
                "syntax_error": "underline yellow",
            }
        ),
        "light-daltonized": _LIGHT_16,
    }
)


def palette(name: str, depth: ColourDepth) -> Mapping[str, str]:
    """The words of a built-in theme for a terminal of so many colours.

    Of sixteen the nearest one is seldom the right one: half of them cannot be read on black, or on white, and
    what is added would be as grey as what is removed.
    """
    return _SIXTEEN.get(name, PALETTES[name]) if depth == "16" else PALETTES[name]
