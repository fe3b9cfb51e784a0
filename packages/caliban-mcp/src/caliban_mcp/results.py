"""What a tool answered, as the model reads it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeGuard, assert_never

from anyio import to_thread

from caliban_common.message import ResultPart, TextBlock
from caliban_common.text import clean, one_line
from caliban_common.tool import ToolOutput
from caliban_mcp.parts import unseen
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

MAX_PROBLEM_CHARS: Final = 300
TEXTS: Final = ("text/", "application/json", "application/xml", "application/yaml")
"""How the types of files begin that are texts, whichever way they are sent."""

Look: TypeAlias = Callable[[bytes], ResultPart | str | None]
"""What a model is shown of some bytes, which are an image or a document: a block, or why none is shown.

`None` where they are neither. What a server says that they are is not asked: a model refuses the whole
conversation for one image that is none. It may take its time, and is called on a thread.
"""


async def read_output(result: CallResult, look: Look) -> ToolOutput:
    """The output of a call (see `output_of`), its images looked at on a thread."""
    if any(_is_seen(content) for content in result.content):
        return await to_thread.run_sync(output_of, result, look)
    return output_of(result, look)


async def read_content(content: Content, look: Look) -> tuple[ResultPart, ...]:
    """What a model is shown of one piece of content, an image looked at on a thread."""
    return await to_thread.run_sync(lambda: tuple(parts_of(content, look)))


async def read_contents(contents: Iterable[ResourceContents], look: Look) -> tuple[ResultPart, ...]:
    """What a model is shown of what was read of a resource, its images looked at on a thread."""

    def parts() -> tuple[ResultPart, ...]:
        return tuple(part for one in contents for part in parts_of_resource(one, look))

    return await to_thread.run_sync(parts)


def output_of(result: CallResult, look: Look = unseen) -> ToolOutput:
    """The output of a call: its content, or where that says nothing its structured value, never both.

    An error whose structured value says more than its text has both: a model mends by what it reads.
    """
    parts = [part for content in result.content for part in parts_of(content, look)]
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


def parts_of(content: Content, look: Look = unseen) -> Iterable[ResultPart]:
    """What a model is shown of one piece of content."""
    match content:
        case TextContent(text=text):
            yield TextBlock(text=clean(text))
        case ImageContent(data=data, mime_type=kind):
            seen = look(b64decode(data))
            words = seen if isinstance(seen, str) else "which is not shown"
            yield seen if _is_part(seen) else _line(f"an image of type {_kind(kind)}, {words}")
        case AudioContent(mime_type=kind):
            yield _line(f"a sound of type {_kind(kind)}, which is not played")
        case EmbeddedResource(resource=resource):
            yield from parts_of_resource(resource, look)
        case ResourceLink(resource=resource):
            named = f" ({one_line(resource.name, max_chars=80)})" if resource.name else ""
            yield _line(f"resource: {one_line(resource.uri, max_chars=500)}{named}")
        case UnknownContent(kind=kind, words=words):
            yield _line(f"{one_line(kind, max_chars=60)}: {one_line(words, max_chars=200)}")
        case _:
            assert_never(content)


def parts_of_resource(resource: ResourceContents, look: Look = unseen) -> Iterable[ResultPart]:
    """What a model is shown of a resource: its text, its image or document, or one line."""
    uri = one_line(resource.uri, max_chars=500)
    if resource.text is not None:
        yield TextBlock(text=f"[embedded resource: {uri}]\n{clean(resource.text)}")
        return
    data = b64decode(resource.blob or "")
    text = _decoded(data) if resource.mime_type.lower().startswith(TEXTS) else None
    seen = look(data) if data and text is None else None
    if text is not None:
        yield TextBlock(text=f"[embedded resource: {uri}]\n{clean(text)}")
    elif _is_part(seen):
        yield _line(f"embedded resource: {uri}")
        yield seen
    else:
        size = f", {len(data):,} bytes" if data else ""
        yield _line(f"embedded resource: {uri}{size}, {seen or 'which is no text'}")


def _is_seen(content: Content) -> bool:
    return isinstance(content, ImageContent | EmbeddedResource)


def _is_part(seen: ResultPart | str | None) -> TypeGuard[ResultPart]:
    return seen is not None and not isinstance(seen, str)


def _kind(mime_type: str) -> str:
    return one_line(mime_type, max_chars=60) or "unknown"


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


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
