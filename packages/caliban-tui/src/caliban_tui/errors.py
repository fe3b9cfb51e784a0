"""What the terminal interface cannot go on with.

TerminalError            the terminal is none that can be worked with
└── TerminalGone         it was closed, or takes nothing any more
ThemeError               a theme that there is not, or whose file says something else
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class TerminalError(CalibanError):
    """The terminal is none that can be worked with."""


class TerminalGone(TerminalError):
    """The terminal was closed, or takes nothing any more."""


class ThemeError(CalibanError):
    """There is no such theme, or its file is none."""
