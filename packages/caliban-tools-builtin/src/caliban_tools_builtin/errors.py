"""What can go wrong in a built-in tool.

    CalibanError
    └── ToolFailed          a call that has no result; the message is written for the model
        ├── PathRefused     the path is malformed or leads outside the allowed roots
        ├── FileRefused     the file is not regular, too large, not text, or may not be touched
        │   └── FileMissing there is no such file
        ├── EditRefused     the edit does not fit the file; nothing was written
        ├── SearchFailed    a pattern that cannot be searched for, or a search that could not run
        │   └── SearchBlocked an ignore file holds the program up that searches
        ├── ShellFailed     a command that could not be started
        └── WebFailed       an address that gave nothing

`ToolFailed` never leaves `invoke`: `answer.answered` turns it into an output with `is_error`.
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class ToolFailed(CalibanError):
    """A call that has no result; `kind` leads the text that the model reads."""

    kind = "execution failed"


class PathRefused(ToolFailed):
    """The path is malformed or leads outside the allowed roots."""

    kind = "invalid input"


class FileRefused(ToolFailed):
    """The file is not regular, too large, not text that can be kept byte for byte, or may not be touched."""


class FileMissing(FileRefused):
    """There is no such file."""


class EditRefused(ToolFailed):
    """The edit does not fit the file; nothing was written."""


class SearchFailed(ToolFailed):
    """A pattern that cannot be searched for, or a search that could not run."""


class SearchBlocked(SearchFailed):
    """An ignore file holds the program up that searches; the same search works when it is asked again."""


class ShellFailed(ToolFailed):
    """A command that could not be started."""


class WebFailed(ToolFailed):
    """An address that gave nothing: not reached, not allowed, not text, too large or too slow."""
