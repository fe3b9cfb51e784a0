"""What a tool answered, as the model reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, assert_never

from caliban_common.message import ImageBlock, ResultPart, TextBlock
from caliban_common.text import clean, one_line
from caliban_common.tool import ToolOutput
from caliban_mcp_client.content import (
    AudioContent,
    CallResult,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    UnknownContent,
)

IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_PROBLEM_CHARS: Final = 300


def output_of(result: CallResult) -> ToolOutput:
    """The output of a call: its content, or where that says nothing its structured value, never both.

    An error whose structured value says more than its text has both: a model mends by what it reads.
    """
    parts = [part for content in result.content for part in parts_of(content)]
    structured = _json(result.structured) if result.has_structured else ""
    says = any(not isinstance(part, TextBlock) or part.text.strip() for part in parts)
    if structured and (not says or (result.is_error and not _holds(parts, result.structured, structured))):
        parts.append(TextBlock(text=structured))
    if not parts:
        parts.append(TextBlock(text="(the tool answered with nothing)"))
    details: dict[str, Any] = {}
    if result.has_structured:
        details["structured"] = result.structured
    if result.problems:
        details["problems"] = [one_line(text, max_chars=MAX_PROBLEM_CHARS) for text in result.problems]
    return ToolOutput(content=tuple(parts), is_error=result.is_error, details=details)


def parts_of(content: Content) -> Iterable[ResultPart]:
    """What a model is shown of one piece of content."""
    match content:
        case TextContent(text=text):
            yield TextBlock(text=clean(text))
        case ImageContent(data=data, mime_type=kind):
            if kind in IMAGES:
                yield ImageBlock.of(kind, data)
            else:
                yield _line(
                    f"an image of type {one_line(kind, max_chars=60) or 'unknown'}, which is not shown"
                )
        case AudioContent(mime_type=kind):
            yield _line(f"a sound of type {one_line(kind, max_chars=60) or 'unknown'}, which is not played")
        case EmbeddedResource(resource=resource):
            yield from parts_of_resource(resource)
        case ResourceLink(resource=resource):
            named = f" ({one_line(resource.name, max_chars=80)})" if resource.name else ""
            yield _line(f"resource: {one_line(resource.uri, max_chars=500)}{named}")
        case UnknownContent(kind=kind, words=words):
            yield _line(f"{one_line(kind, max_chars=60)}: {one_line(words, max_chars=200)}")
        case _:
            assert_never(content)


def parts_of_resource(resource: ResourceContents) -> Iterable[ResultPart]:
    """What a model is shown of a resource: its text, its image, or one line."""
    uri = one_line(resource.uri, max_chars=500)
    if resource.text is not None:
        yield TextBlock(text=f"[embedded resource: {uri}]\n{clean(resource.text)}")
    elif resource.blob is not None and resource.mime_type in IMAGES:
        yield _line(f"embedded resource: {uri}")
        yield ImageBlock.of(resource.mime_type, resource.blob)
    else:
        size = f", {len(resource.blob or '') * 3 // 4:,} bytes" if resource.blob else ""
        yield _line(f"embedded resource: {uri}{size}, which is no text")


def _line(words: str) -> TextBlock:
    return TextBlock(text=f"[{words}]")


def _json(value: Any) -> str:
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return ""


def _holds(parts: Iterable[ResultPart], value: Any, written: str) -> bool:
    """Whether one of the texts is the structured value already, however it is written."""
    for part in parts:
        if not isinstance(part, TextBlock):
            continue
        if written in part.text:
            return True
        try:
            if json.loads(part.text) == value:
                return True
        except (ValueError, RecursionError):
            continue
    return False
