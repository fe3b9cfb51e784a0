"""Specs of the built-in tools: the schema stands beside the tool, the description in `text/<name>.md`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caliban_common.tool import ToolKind, ToolSpec

TEXTS = Path(__file__).with_name("text")


def tool_spec(
    name: str, properties: Mapping[str, Any], *, required: tuple[str, ...], kind: ToolKind, main_argument: str
) -> ToolSpec:
    """The spec of the tool `name`, with the description that is packaged for it."""
    return ToolSpec(
        name=name,
        description=(TEXTS / f"{name.lower()}.md").read_text(encoding="utf-8").strip(),
        input_schema={
            "type": "object",
            "properties": dict(properties),
            "required": list(required),
            "additionalProperties": False,
        },
        kind=kind,
        main_argument=main_argument,
    )


def text(about: str, **more: Any) -> dict[str, Any]:
    """The schema of a string argument."""
    return {"type": "string", "description": about, **more}


def whole(about: str, *, low: int, high: int | None = None) -> dict[str, Any]:
    """The schema of a whole number from `low`, up to `high` where there is one."""
    bounds = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "description": about, **bounds}
