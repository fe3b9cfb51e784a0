"""Messages and usage as JSON, in and out; events as JSON, out.

The shapes are those of the session file and stand in the types themselves (`message`, `usage`); unknown
members are ignored, so that a newer file can still be read. What only needs good will is put right first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from msgspec import to_builtins
from msgspec.structs import replace

from caliban_common.errors import DataError
from caliban_common.event import AgentEvent
from caliban_common.message import Block, Message, new_id
from caliban_common.text import clean
from caliban_common.typed import typed
from caliban_common.usage import Usage

_T = TypeVar("_T")
_TOO_DEEP: Final = "a value is nested too deeply to be written as JSON"
# The standard library's: msgspec writes floats in another form (1e30 for 1e+30), and files keep their bytes.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


MAX_LEVELS: Final = 200
"""Levels of data from outside: whoever masks, stores and shows it goes down them, and has a stack."""


def is_deep(value: object) -> bool:
    """Whether plain data is nested deeper than `MAX_LEVELS`.

    How deep a parser goes is another thing in each version of the interpreter; this goes level by level.
    """
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def dumps(value: object) -> bytes:
    """`value` as compact JSON in UTF-8, on one line.

    What JSON or UTF-8 does not have gives way to its nearest (see `nearest`). Raises `DataError` for a value
    that is nested too deeply.
    """
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except (ValueError, RecursionError):
        return _ENCODER.encode(nearest(value)).encode("utf-8")


def nearest(value: _T) -> _T:
    """`value` itself if it can be written as JSON in UTF-8, else the nearest value that can.

    A lone surrogate becomes U+FFFD; NaN and the infinities become null. Raises `DataError` for a value that
    is nested too deeply.
    """
    try:
        _ENCODER.encode(value).encode("utf-8")
    except RecursionError as error:
        raise DataError(_TOO_DEEP) from error
    except ValueError:
        text = clean(json.dumps(value, ensure_ascii=False))
        return cast(_T, json.loads(text, parse_constant=_null))
    return value


def message_to_json(message: Message) -> dict[str, Any]:
    """`message` as plain data, lists as tuples. Raises `DataError` for one that is nested too deeply."""
    return cast(dict[str, Any], _plain(message))


def block_to_json(block: Block) -> dict[str, Any]:
    """`block` as plain data, lists as tuples. Raises `DataError` for one that is nested too deeply."""
    return cast(dict[str, Any], _plain(block))


def event_to_json(event: AgentEvent) -> dict[str, Any]:
    """`event` as plain data with its `type`, lists as tuples, for whoever follows a run from elsewhere.

    Values of types that are not ours, such as the `output` of a `RunEnd`, are as pydantic or dataclasses
    write them, and text where neither knows them. Raises `DataError` for one that is nested too deeply.
    """
    return cast(dict[str, Any], _plain(event, _anything))


def usage_to_json(usage: Usage) -> dict[str, int]:
    """`usage` under the session file's names; counts of zero that are optional there are left out."""
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, **to_builtins(usage)}


def message_from_json(value: object) -> Message:
    """The message in plain data; one without an id gets one. Raises `DataError` naming what is wrong."""
    message = typed(value, Message, what="a message", mend=_put_right)
    return message if message.id else replace(message, id=new_id())


def _plain(value: object, other: Callable[[object], Any] | None = None) -> Any:
    try:
        return to_builtins(value, enc_hook=other or _table, str_keys=other is not None)
    except RecursionError as error:
        raise DataError(_TOO_DEEP) from error


def _table(value: object) -> dict[str, Any]:
    """A mapping of another type as a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError


def _anything(value: object) -> Any:
    """Whatever tools put into their details, and types of answers."""
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def _null(constant: str) -> None:
    """What stands for `constant` (NaN, Infinity, -Infinity), which JSON does not have."""


def _put_right(value: object) -> object:
    """A message that others wrote in our shape, as far as that takes no more than good will."""
    if not isinstance(value, dict):
        return value
    message = {name: member for name, member in value.items() if member is not None}
    content = _parts(message.get("content"))
    if isinstance(content, (list, tuple)):
        content = [_block(block) if isinstance(block, dict) else block for block in content]
    return {**message, "content": content} if "content" in message else message


def _block(block: dict[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "image" | "document", "source": dict(source)}:
            return {**block, "source": _source(source)}
        case {"type": "tool_use", "input": dict()}:
            return block
        case {"type": "tool_use"}:
            body, raw = block.get("input"), block.get("raw_input")
            return {**block, "input": {}, "raw_input": _text_of(body) if raw is None else raw}
        case {"type": "tool_result"}:
            is_error = bool(block.get("is_error"))
            return {**block, "content": _result_parts(block.get("content", [])), "is_error": is_error}
        case _:
            return block


def _result_parts(content: object) -> object:
    """The parts of a tool's result, without those of kinds that results of ours do not hold."""
    content = _parts(content)
    if not isinstance(content, (list, tuple)):
        return content
    return [
        _block(part) if isinstance(part, dict) else part
        for part in content
        if not isinstance(part, dict) or part.get("type") in ("text", "image", "document")
    ]


def _parts(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _source(source: dict[str, Any]) -> dict[str, Any]:
    return {"type": "base64", **{name: member for name, member in source.items() if member is not None}}


def _text_of(value: object) -> str:
    """`value` as JSON text; empty when it is nested too deeply."""
    try:
        return json.dumps(value)
    except RecursionError:
        return ""
