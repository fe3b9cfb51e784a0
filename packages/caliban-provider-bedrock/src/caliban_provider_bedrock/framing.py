"""From the frames of Bedrock's answer to the events of the Anthropic wire that they carry."""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterator, Mapping

from caliban_provider.errors import BadResponse
from caliban_provider.sse import SSEEvent
from caliban_provider_bedrock.eventstream import Frame, FrameDecoder, HeaderValue

_START = b'{"bytes":"'


class BedrockFraming:
    """Cuts one answer into events. A frame that reports a failure becomes the wire's `error` event.

    Frames of unknown kinds are skipped, and so is an incomplete one at the end: then the reply is incomplete
    too, which its decoder says.
    """

    def __init__(self) -> None:
        self._frames = FrameDecoder()

    def feed(self, chunk: bytes) -> Iterator[SSEEvent]:
        """The events that `chunk` completes. Raises `BadResponse`."""
        for frame in self._frames.feed(chunk):
            event = event_of(frame)
            if event is not None:
                yield event

    def close(self) -> tuple[SSEEvent, ...]:
        """Nothing: half a frame says nothing."""
        return ()


def event_of(frame: Frame) -> SSEEvent | None:
    """The event in a frame, if there is one. Raises `BadResponse`."""
    headers = frame.headers
    match headers.get(":message-type"):
        case "event":
            data = _inner(frame.payload) if headers.get(":event-type") == "chunk" else None
            return None if data is None else SSEEvent("message", data)
        case "exception":
            return _failure(headers.get(":exception-type"), _message(frame.payload))
        case "error":
            return _failure(headers.get(":error-code"), _header(headers, ":error-message"))
        case _:
            return None


def _inner(payload: bytes) -> bytes | None:
    """The event that a chunk holds in base64; mostly the payload need not be read as JSON."""
    if payload.startswith(_START):
        try:
            return a2b_base64(payload[len(_START) : payload.index(b'"', len(_START))], strict_mode=True)
        except ValueError:
            pass
    try:
        event = json.loads(payload)
        if not isinstance(event, dict):
            raise TypeError("no object")
        held = event.get("bytes")
        return None if held is None else a2b_base64(held, strict_mode=True)
    except (ValueError, TypeError, RecursionError, Base64Error) as error:
        raise BadResponse(
            "a chunk of the answer holds no event", hint="something between here and Bedrock altered it"
        ) from error


def _message(payload: bytes) -> str:
    """What an exception says."""
    try:
        event = json.loads(payload)
    except (ValueError, RecursionError):
        return payload[:1000].decode("utf-8", "replace")
    if not isinstance(event, dict):
        return ""
    messages = (event.get(name) for name in ("message", "Message", "originalMessage"))
    return next((text for text in messages if isinstance(text, str) and text), "")


def _failure(kind: HeaderValue | None, message: str) -> SSEEvent:
    named = kind if isinstance(kind, str) else ""
    error = {"type": named or "api_error", "message": message or named}
    return SSEEvent("error", json.dumps({"type": "error", "error": error}).encode())


def _header(headers: Mapping[str, HeaderValue], name: str) -> str:
    value = headers.get(name)
    return value if isinstance(value, str) else ""
