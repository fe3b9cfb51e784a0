"""The built-in tools of Caliban: files, search, the shell and the session itself."""

from caliban_tools_builtin.catalog import ToolOptions, builtin_tools
from caliban_tools_builtin.errors import (
    EditRefused,
    FileMissing,
    FileRefused,
    PathRefused,
    SearchFailed,
    ShellFailed,
    ToolFailed,
    WebFailed,
)
from caliban_tools_builtin.specs import builtin_specs

__all__ = [
    "EditRefused",
    "FileMissing",
    "FileRefused",
    "PathRefused",
    "SearchFailed",
    "ShellFailed",
    "ToolFailed",
    "ToolOptions",
    "WebFailed",
    "builtin_specs",
    "builtin_tools",
]
