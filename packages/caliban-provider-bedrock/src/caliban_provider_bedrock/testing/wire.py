"""Writes replies as Bedrock writes them: the Anthropic wire's events inside an AWS event stream.

Replies are made with `caliban_provider_anthropic.testing.wire`; `exchange` frames them.
"""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

from caliban_provider.testing.exchange import Close, Exchange, Send, Step, answer
from caliban_provider_anthropic.testing import wire

CONTENT_TYPE = "application/vnd.amazon.eventstream"


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One frame with headers of text."""
    block = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", len(block) + len(payload) + 16, len(block))
    frame = prelude + struct.pack(">I", crc32(prelude)) + block + payload
    return frame + struct.pack(">I", crc32(frame))


def chunk(event: bytes, *, padding: str = "abcdefghij") -> bytes:
    """The frame that carries the JSON of one event of the wire."""
    payload = _json({"bytes": b64encode(event).decode(), "p": padding})
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, payload)


def exception(kind: str, message: str = "") -> bytes:
    """The frame by which a running stream fails, such as `throttlingException`."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, _json({"message": message or kind}))


def fault(code: str, message: str) -> bytes:
    """The frame by which the service reports a failure that its model does not know."""
    return frame({":message-type": "error", ":error-code": code, ":error-message": message}, b"")


def framed(events: Iterable[bytes]) -> list[bytes]:
    """Events as the Anthropic wire sends them, each in a frame; comments are left out."""
    return [chunk(data) for event in events if (data := _data(event))]


def reply(*blocks: wire.WireBlock | wire.Together, **options: Any) -> list[bytes]:
    """The frames of a whole reply; `options` are those of the Anthropic wire's `reply`."""
    return framed(wire.reply(*blocks, **options))


def exchange(*blocks: wire.WireBlock | wire.Together, bytewise: bool = False, **options: Any) -> Exchange:
    """An answer that streams `blocks`, one flush per frame."""
    steps = tuple(map(Send, reply(*blocks, **options)))
    return Exchange(headers=_headers(), steps=steps, bytewise=bytewise)


def broken(
    *blocks: wire.WireBlock | wire.Together, after: int, end: Step | bytes | None = None, **options: Any
) -> Exchange:
    """An answer that ends after `after` frames: closed in the middle, or as `end` says."""
    steps: list[Step] = [Send(piece) for piece in reply(*blocks, **options)[:after]]
    steps.append(Send(end) if isinstance(end, bytes) else end or Close())
    return Exchange(headers=_headers(), steps=tuple(steps))


def failure(status: int, kind: str, message: str = "", **headers: str) -> Exchange:
    """An answer that is an error, such as 429 `ThrottlingException`."""
    named = {"content_type": "application/json", "x_amzn_errortype": f"{kind}:http://internal.amazon.com/"}
    return answer(status, _json({"message": message or kind}), **named, **headers)


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack(">B", len(key)) + key + struct.pack(">BH", 7, len(text)) + text


def _data(event: bytes) -> bytes:
    return b"\n".join(line[6:] for line in event.splitlines() if line.startswith(b"data: "))


def _headers() -> dict[str, str]:
    return {"content-type": CONTENT_TYPE, "x-amzn-requestid": "req_loopback"}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
