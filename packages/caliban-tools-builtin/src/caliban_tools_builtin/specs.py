"""What is known of each tool: arguments and facts as data here, descriptions in `text/<name>.md`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from caliban_common.tool import ArgumentRole, RepeatKey, ToolKind, ToolSpec

NAMES = ("Read", "Write", "Edit", "Glob", "Grep", "Bash")
_TEXTS = Path(__file__).with_name("text")


def builtin_specs() -> tuple[ToolSpec, ...]:
    """The specs of the built-in tools, in the order in which they are offered."""
    return tuple(_spec(name) for name in NAMES)


class _Facts(Struct, frozen=True, kw_only=True):
    """What a spec says beside name and description; the first required argument is the main one."""

    kind: ToolKind
    properties: Mapping[str, Any]
    required: tuple[str, ...]
    roles: Mapping[str, ArgumentRole]
    repeat_key: RepeatKey | None = None


def _spec(name: str) -> ToolSpec:
    facts = _facts(name)
    return ToolSpec(
        name=name,
        description=(_TEXTS / f"{name.lower()}.md").read_text(encoding="utf-8").strip(),
        input_schema={
            "type": "object",
            "properties": facts.properties,
            "required": list(facts.required),
            "additionalProperties": False,
        },
        kind=facts.kind,
        main_argument=facts.required[0],
        roles=facts.roles,
        repeat_key=facts.repeat_key,
    )


def _facts(name: str) -> _Facts:
    match name:
        case "Read":
            return _Facts(
                kind="read",
                properties={
                    "path": _text("file to read"),
                    "offset": _whole("first line, from 1", low=1),
                    "limit": _whole("lines to show (default 2000)", low=1),
                },
                required=("path",),
                roles={"path": "reads"},
                repeat_key=("path", "offset", "limit"),
            )
        case "Write":
            return _Facts(
                kind="edit",
                properties={"path": _text("file to write"), "content": _text("the whole content")},
                required=("path", "content"),
                roles={"path": "writes"},
            )
        case "Edit":
            every = {"type": "boolean", "description": "replace every occurrence (default false)"}
            return _Facts(
                kind="edit",
                properties={
                    "path": _text("file to change"),
                    "old_string": _text("text to replace, as the file has it"),
                    "new_string": _text("text to put in its place"),
                    "replace_all": every,
                },
                required=("path", "old_string", "new_string"),
                roles={"path": "writes"},
            )
        case "Bash":  # no repeat key: the same command asks something else each time
            return _Facts(
                kind="execute",
                properties={
                    "command": _text("shell command"),
                    "timeout_seconds": _whole("limit (default 60)", low=1, high=600),
                    "cwd": _text("directory to run in (default: the workspace)"),
                },
                required=("command",),
                roles={"command": "command", "cwd": "directory"},
            )
        case _:
            return _search_facts(name)


def _search_facts(name: str) -> _Facts:
    match name:
        case "Glob":
            properties = {"pattern": _text("path glob"), "path": _text("directory to start from")}
        case "Grep":
            properties = {
                "pattern": _text("regular expression"),
                "path": _text("file or directory"),
                "include": _text("glob of the files to search"),
                "max_matches": _whole("default 100", low=1, high=500),
            }
        case _:
            raise KeyError(name)
    return _Facts(
        kind="read",
        properties=properties,
        required=("pattern",),
        roles={"path": "searches"},
        repeat_key="all",
    )


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


def _whole(about: str, *, low: int, high: int | None = None) -> dict[str, Any]:
    bounds = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "description": about, **bounds}
