"""What a spec says beside name and description, as data; each room has a table of its own in `facts`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct

from caliban_common.tool import ArgumentRole, RepeatKey, ShownArgument, ToolKind

SAID: Final = ("description", "explanation", "reason", "purpose", "thought", "title")
"""Arguments that models add and that change nothing."""

PATH_ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "file_path": "path",
        "filepath": "path",
        "filePath": "path",
        "file": "path",
        "filename": "path",
        "absolute_path": "path",
        "target_file": "path",
    }
)
"""What models call the argument `path` of like tools elsewhere."""


class ToolFacts(Struct, frozen=True, kw_only=True):
    """What is known of one tool; the first required argument that is a text is the main one.

    `needs` is the option without which there is no such tool.
    """

    kind: ToolKind
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    roles: Mapping[str, ArgumentRole] = MappingProxyType({})
    repeat_key: RepeatKey | None = None
    begins_plan: bool = False
    ends_plan: bool = False
    lasts: bool = False
    deferred: bool = False
    persists: bool = False
    aliases: Mapping[str, str] = MappingProxyType({})
    extras: tuple[str, ...] = SAID
    shows: tuple[ShownArgument, ...] = ()
    needs: Literal["", "board", "tasks", "web", "search", "topics", "powershell"] = ""


def text(about: str) -> dict[str, Any]:
    """The schema of a string."""
    return {"type": "string", "description": about}


def whole(about: str, *, low: int, high: int | None = None) -> dict[str, Any]:
    """The schema of a whole number within bounds."""
    bounds = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "description": about, **bounds}


def flag(about: str) -> dict[str, Any]:
    """The schema of a boolean."""
    return {"type": "boolean", "description": about}


def plain(type: str, *values: str) -> dict[str, Any]:
    """The schema of something whose name says it all; one of `values` where there are any."""
    return {"type": type, "enum": list(values)} if values else {"type": type}


def sequence(properties: Mapping[str, Any], *, required: tuple[str, ...]) -> dict[str, Any]:
    """The schema of a list of objects."""
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": list(required)},
    }
