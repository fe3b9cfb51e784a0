"""Results of calls, and entries of lists but for those of tools, as values."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from caliban_common.text import one_line
from caliban_mcp_client.content import (
    AudioContent,
    CallResult,
    Completions,
    Content,
    EmbeddedResource,
    ImageContent,
    McpPrompt,
    McpResource,
    PromptArgument,
    PromptMessage,
    PromptMessages,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    TextContent,
    UnknownContent,
)
from caliban_mcp_client.entries import Entry, Say, shown_name, text
from caliban_mcp_client.errors import ProtocolError
from caliban_mcp_client.frames import matched_id

_MAX_VALUES = 100
_DATA_URL: Final = r"data:[^,]{0,200};base64,"
_URL_SAFE: Final = str.maketrans("-_", "+/", " \t\r\n")


def read_prompt(entry: Entry, say: Say) -> McpPrompt | None:
    """A prompt."""
    name = text(entry, "name")
    if not name:
        return None
    arguments = entry.get("arguments")
    if arguments is not None and not isinstance(arguments, list):
        say(f"the prompt {shown_name(name)} has arguments that are no list")
    return McpPrompt(
        name=name,
        title=text(entry, "title"),
        description=text(entry, "description"),
        arguments=tuple(
            PromptArgument(
                name=text(item, "name"),
                description=text(item, "description"),
                required=item.get("required") is True,
            )
            for item in (arguments if isinstance(arguments, list) else ())
            if isinstance(item, dict) and text(item, "name")
        ),
    )


def read_resource_entry(entry: Entry, say: Say) -> McpResource | None:
    """A resource, or a link to one."""
    del say
    uri = text(entry, "uri")
    if not uri:
        return None
    size = matched_id(entry.get("size")) if not isinstance(entry.get("size"), str) else None
    return McpResource(
        uri=uri,
        name=text(entry, "name"),
        title=text(entry, "title"),
        description=text(entry, "description"),
        mime_type=text(entry, "mimeType"),
        size_bytes=size if size is not None and size >= 0 else None,
    )


def read_template(entry: Entry, say: Say) -> ResourceTemplate | None:
    """A family of resources."""
    del say
    uri = text(entry, "uriTemplate")
    if not uri:
        return None
    return ResourceTemplate(
        uri_template=uri,
        name=text(entry, "name"),
        title=text(entry, "title"),
        description=text(entry, "description"),
        mime_type=text(entry, "mimeType"),
    )


def call_result(result: Mapping[str, Any]) -> CallResult:
    """The result of a tool. Raises `ProtocolError` where it is neither content nor a structured value."""
    items = result.get("content")
    has_structured = result.get("structuredContent") is not None
    problems: list[str] = []
    if not isinstance(items, list):
        if not has_structured:
            items = [] if items is None else [items]
            if "content" not in result and "isError" not in result:
                raise ProtocolError("tools/call: the server answered with neither content nor a value")
        else:
            items = []
    content = tuple(content_of(item) for item in items)
    problems += [f"content of the kind {item.kind!r} is left out: {item.words}" for item in _unknown(content)]
    meta = result.get("_meta")
    return CallResult(
        content=content,
        structured=result.get("structuredContent"),
        has_structured=has_structured,
        is_error=result.get("isError") is True,
        meta=meta if isinstance(meta, dict) else {},
        problems=tuple(problems),
    )


def prompt_messages(result: Mapping[str, Any]) -> PromptMessages:
    """A prompt. Raises `ProtocolError` where it has no list of messages."""
    items = result.get("messages")
    if not isinstance(items, list):
        raise ProtocolError("prompts/get: the server answered without messages")
    messages: list[PromptMessage] = []
    for item in items:
        if not isinstance(item, dict):
            continue
        parts = item.get("content")
        for part in parts if isinstance(parts, list) else [parts]:
            role: Literal["user", "assistant"] = "assistant" if item.get("role") == "assistant" else "user"
            messages.append(PromptMessage(role=role, content=content_of(part)))
    return PromptMessages(description=text(result, "description"), messages=tuple(messages))


def resource_contents(result: Mapping[str, Any]) -> tuple[ResourceContents, ...]:
    """What was read. Raises `ProtocolError` where it has no list of contents."""
    items = result.get("contents")
    if not isinstance(items, list):
        raise ProtocolError("resources/read: the server answered without contents")
    return tuple(part for item in items if (part := _contents(item)) is not None)


def completions(result: Mapping[str, Any]) -> Completions:
    """What an argument may be."""
    completion = result.get("completion")
    completion = completion if isinstance(completion, dict) else {}
    values = completion.get("values")
    total = completion.get("total")
    return Completions(
        values=tuple(item for item in (values if isinstance(values, list) else ()) if isinstance(item, str))[
            :_MAX_VALUES
        ],
        total=matched_id(total) if not isinstance(total, str) else None,
        has_more=completion.get("hasMore") is True,
    )


def content_of(item: object) -> Content:
    """One block of content. A text that is no string is its JSON: what a server means by it is lost else."""
    if isinstance(item, str):
        return TextContent(text=item)
    if not isinstance(item, dict):
        return UnknownContent(kind="none", words="it is no object")
    kind = item.get("type")
    match kind:
        case "text" if isinstance(item.get("text"), str):
            return TextContent(text=text(item, "text"))
        case "text" if item.get("text") is not None:
            return TextContent(text=json.dumps(item["text"], ensure_ascii=False))
        case "image" | "audio":
            data, mime_type = plain_base64(item.get("data")), text(item, "mimeType")
            if not data:
                return UnknownContent(kind=kind, words="its data is no base64")
            if kind == "image":
                return ImageContent(data=data, mime_type=mime_type)
            return AudioContent(data=data, mime_type=mime_type)
        case "resource" if (resource := _contents(item.get("resource"))) is not None:
            return EmbeddedResource(resource=resource)
        case "resource_link" if (link := read_resource_entry(item, lambda _: None)) is not None:
            return ResourceLink(resource=link)
        case str():
            known = kind in ("text", "resource", "resource_link")
            words = "it lacks what it should hold" if known else f"the kind is not known: {json.dumps(item)}"
            return UnknownContent(kind=one_line(kind, max_chars=40), words=words)
        case _:
            return UnknownContent(kind="none", words="it has no type")


def plain_base64(data: object) -> str:
    """`data` in the one spelling of base64 that everybody reads; empty where it cannot be decoded.

    Servers write it in lines, for addresses, without its padding, or as a whole `data:` address.
    """
    if not isinstance(data, str):
        return ""
    start = re.match(_DATA_URL, data)
    plain = (data[start.end() :] if start is not None else data).translate(_URL_SAFE).rstrip("=")
    plain += "=" * (-len(plain) % 4)
    try:
        binascii.a2b_base64(plain.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError):
        return ""
    return plain


def _contents(item: object) -> ResourceContents | None:
    if not isinstance(item, dict):
        return None
    has_text, blob = isinstance(item.get("text"), str), plain_base64(item.get("blob"))
    has_blob = bool(blob) or item.get("blob") == ""
    if not has_text and not has_blob:
        return None
    return ResourceContents(
        uri=text(item, "uri"),
        mime_type=text(item, "mimeType"),
        text=text(item, "text") if has_text else None,
        blob=blob if has_blob else None,
    )


def _unknown(content: tuple[Content, ...]) -> list[UnknownContent]:
    return [item for item in content if isinstance(item, UnknownContent)]
