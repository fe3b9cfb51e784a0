"""What is drawn, before it has colours: lines of styled segments."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class StyledText(NamedTuple):
    """Text in one style, a role of the theme such as `code`; with `link`, a place that it leads to.

    The text holds no control character: `caliban_tui.clean` has been over it.
    """

    text: str
    style: str = ""
    link: str = ""


ScreenLine: TypeAlias = tuple[StyledText, ...]
"""One line. A finished one may be wider than the screen: code, commands and addresses are for the terminal to
wrap, so that a copy of them is whole. One of a live frame never is."""


def plain(text: str, style: str = "") -> ScreenLine:
    """A line of one segment."""
    return (StyledText(text, style),)


def text_of(line: ScreenLine) -> str:
    """The words of a line."""
    return "".join(segment.text for segment in line)
