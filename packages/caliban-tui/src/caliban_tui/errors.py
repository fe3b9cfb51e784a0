"""What the terminal interface cannot go on with, or cannot do.

TerminalError            the terminal is none that can be worked with
├── TerminalGone         it was closed, or takes nothing any more
├── KeysRefused          a person's own keys are none, or mean two things
├── FilesNotListed       the files of the workspace cannot be listed
├── EditorFailed         no editor, or one that failed: the draft stays as it was
└── ClipboardFailed      nothing can be read from the clipboard, or written to it
ThemeError               a theme that there is not, or whose file says something else
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class TerminalError(CalibanError):
    """The terminal is none that can be worked with."""


class TerminalGone(TerminalError):
    """The terminal was closed, or takes nothing any more."""


class KeysRefused(TerminalError):
    """A person's own keys are none, or mean two things; the message names the key."""


class FilesNotListed(TerminalError):
    """The files of the workspace cannot be listed."""


class EditorFailed(TerminalError):
    """There is no such editor, or it failed; the draft stays as it was."""


class ClipboardFailed(TerminalError):
    """Nothing can be read from the clipboard, or written to it."""


class ThemeError(CalibanError):
    """There is no such theme, or its file is none."""
