"""What the model is told of each tool: the schemas as data here, the descriptions in `text/<name>.md`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caliban_common.tool import ToolKind, ToolSpec

NAMES = ("Read", "Write", "Edit", "Glob", "Grep", "Bash")
_TEXTS = Path(__file__).with_name("text")


def spec_of(name: str) -> ToolSpec:
    """The spec of one of `NAMES`."""
    properties, required, kind = _shape(name)
    return ToolSpec(
        name=name,
        description=(_TEXTS / f"{name.lower()}.md").read_text(encoding="utf-8").strip(),
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        kind=kind,
        main_argument=required[0],
    )


def _shape(name: str) -> tuple[Mapping[str, Any], tuple[str, ...], ToolKind]:
    """The arguments, which of them are required (the main one first), and what a call can do at most."""
    match name:
        case "Read":
            offset = _whole("first line, from 1", low=1)
            limit = _whole("lines to show (default 2000)", low=1)
            return {"path": _text("file to read"), "offset": offset, "limit": limit}, ("path",), "read"
        case "Write":
            properties = {"path": _text("file to write"), "content": _text("the whole content")}
            return properties, ("path", "content"), "edit"
        case "Edit":
            properties = {
                "path": _text("file to change"),
                "old_string": _text("text to replace, as the file has it"),
                "new_string": _text("text to put in its place"),
                "replace_all": {"type": "boolean", "description": "replace every occurrence (default false)"},
            }
            return properties, ("path", "old_string", "new_string"), "edit"
        case "Glob":
            properties = {"pattern": _text("path glob"), "path": _text("directory to start from")}
            return properties, ("pattern",), "read"
        case "Grep":
            properties = {
                "pattern": _text("regular expression"),
                "path": _text("file or directory"),
                "include": _text("glob of the files to search"),
                "max_matches": _whole("default 100", low=1, high=500),
            }
            return properties, ("pattern",), "read"
        case "Bash":
            properties = {
                "command": _text("shell command"),
                "timeout_seconds": _whole("limit (default 60)", low=1, high=600),
                "cwd": _text("directory to run in (default: the workspace)"),
            }
            return properties, ("command",), "execute"
        case _:
            raise KeyError(name)


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


def _whole(about: str, *, low: int, high: int | None = None) -> dict[str, Any]:
    bounds = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "description": about, **bounds}
