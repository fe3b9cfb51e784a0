"""One message of a history together with what its file knows about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.codec import message_from_json, message_to_json
from caliban_common.errors import DataError
from caliban_common.message import Message
from caliban_common.typed import shown, typed
from caliban_common.usage import Usage

MAX_DEPTH = 100
"""Nesting of one stored message, far above what a tool call may have; deeper data is somebody's attack."""


class StoredMessage(Struct, frozen=True, kw_only=True):
    """A message as it is stored.

    `raw` is its JSON, members that we do not know included. `parent` is the id of the message that was the
    last one when this one was written: it records how the session grew (fork, rewind, compaction) and never
    decides the order, which is that of the file. `source` is the object the caller gave, when the
    id is not its own.
    """

    id: str
    parent: str | None
    message: Message
    raw: Mapping[str, Any]
    source: Message | None = None


def entry_of(
    message: Message, *, parent: str | None, id: str, blobs: Path, at: str | None = None
) -> StoredMessage:
    """The entry of a message, of the time `at`, that was not stored before.

    Its images and documents are in `blobs` then.
    """
    source = None
    if message.id != id:
        source, message = message, replace(message, id=id)
    return StoredMessage(
        id=id,
        parent=parent,
        message=message,
        raw=without_data(
            {
                "id": id,
                "parent": parent,
                **message_to_json(message),
                **({} if at is None else {"at": at}),
            },
            blobs,
        ),
        source=source,
    )


def entry_from_json(
    raw: object, *, parent: str | None, fallback_id: str, blobs: Path
) -> tuple[StoredMessage, str | None]:
    """The entry in stored JSON, and a warning when a part of it is not understood, or not in `blobs`.

    A block that is not understood stays in `raw`, to be written again, and is a line of text in the message.
    Raises `DataError` when it is no message at all.
    """
    if not isinstance(raw, dict):
        raise DataError(f"a message must be an object, not {shown(raw)}")
    if nested_beyond(raw, MAX_DEPTH):
        raise DataError(f"a message is nested more than {MAX_DEPTH} levels deep")
    id = raw.get("id")
    if not isinstance(id, str) or not id:
        id = fallback_id
    known = raw.get("parent", parent)
    parent = known if isinstance(known, str) else None
    whole, lost = with_data(raw, blobs)
    message, warning = _message(whole)
    if lost:
        warning = f"{warning or 'data is lost'}: {', '.join(lost)} in {blobs}"
    if message.id != id:
        message = replace(message, id=id)
    stored = {"id": id, "parent": parent, **raw, **({} if raw.get("id") == id else {"id": id})}
    return StoredMessage(id=id, parent=parent, message=message, raw=stored), warning


def usage_of(raw: Mapping[str, Any]) -> Usage | None:
    """The tokens that a stored message says it took; `None` where it does not say, or not in our form."""
    if "usage" not in raw:
        return None
    try:
        return typed(raw["usage"], Usage, what="the usage")
    except DataError:
        return None


def without_data(raw: dict[str, Any], blobs: Path) -> dict[str, Any]:
    """`raw`, a message or a tool's result, with its images and documents in `blobs`."""
    if not holds_data(raw):
        return raw
    from caliban_sessions.blobs import kept

    return kept(raw, blobs)


def with_data(raw: dict[str, Any], blobs: Path) -> tuple[dict[str, Any], list[str]]:
    """`raw` with the images and documents that are in `blobs`, and the names of those that are not."""
    if not holds_data(raw):
        return raw, []
    from caliban_sessions.blobs import restored

    return restored(raw, blobs)


def holds_data(raw: Mapping[str, Any]) -> bool:
    """Whether stored JSON has an image or a document in it."""
    content = raw.get("content")
    if not isinstance(content, (list, tuple)):
        return False
    return any(
        block.get("type") in ("image", "document")
        or (block.get("type") == "tool_result" and holds_data(block))
        for block in content
        if isinstance(block, Mapping)
    )


def nested_beyond(value: dict[str, Any] | list[Any], levels: int) -> bool:
    """Whether JSON data has containers inside each other more than `levels` deep."""
    containers: list[Any] = [value]
    for _ in range(levels):
        containers = [
            item
            for container in containers
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
        if not containers:
            return False
    return True


def _message(raw: dict[str, Any]) -> tuple[Message, str | None]:
    try:
        return message_from_json(raw), None
    except DataError as error:
        content = raw.get("content")
        if not isinstance(content, list):
            raise
        readable = [_readable(raw, block) for block in content]
        return message_from_json({**raw, "content": readable}), error.message


def _readable(raw: dict[str, Any], block: object) -> object:
    try:
        message_from_json({"role": raw.get("role"), "content": [block]})
    except DataError:
        kind = block.get("type") if isinstance(block, dict) else None
        return {"type": "text", "text": f"[a block of type {kind!r:.60} that this version cannot read]"}
    return block
