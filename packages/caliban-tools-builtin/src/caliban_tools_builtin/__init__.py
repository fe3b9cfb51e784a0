"""The built-in tools of Caliban: Read, Write, Edit, Glob, Grep and Bash."""

from caliban_tools_builtin.catalog import ToolOptions, builtin_tools
from caliban_tools_builtin.errors import (
    EditRefused,
    FileMissing,
    FileRefused,
    PathRefused,
    SearchFailed,
    ShellFailed,
    ToolFailed,
)
from caliban_tools_builtin.fence import Fence, Place

__all__ = [
    "EditRefused",
    "Fence",
    "FileMissing",
    "FileRefused",
    "PathRefused",
    "Place",
    "SearchFailed",
    "ShellFailed",
    "ToolFailed",
    "ToolOptions",
    "builtin_tools",
]
