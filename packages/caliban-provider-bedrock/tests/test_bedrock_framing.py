"""What the frames of an answer carry."""

from __future__ import annotations

import json

import pytest

from caliban_provider.errors import BadResponse
from caliban_provider.sse import SSEEvent
from caliban_provider_bedrock.framing import BedrockFraming
from caliban_provider_bedrock.testing import wire


def events(*frames: bytes) -> list[SSEEvent]:
    return list(BedrockFraming().feed(b"".join(frames)))


def chunk(payload: bytes) -> bytes:
    return wire.frame({":message-type": "event", ":event-type": "chunk"}, payload)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"bytes":"eyJhIjoxfQ==","p":"ab"}',
        b'{"p":"ab","bytes":"eyJhIjoxfQ=="}',
        b'{ "bytes" : "eyJhIjoxfQ==" }',
        b'{"bytes":"eyJhI\\u006aoxfQ=="}',
    ],
)
def test_a_chunk_holds_an_event_however_it_is_written(payload: bytes) -> None:
    assert events(chunk(payload)) == [SSEEvent("message", b'{"a":1}')]


def test_a_slash_may_be_escaped() -> None:
    assert events(chunk(b'{"bytes":"Pz8\\/"}')) == events(chunk(b'{"bytes":"Pz8/"}'))


@pytest.mark.parametrize("payload", [b"", b"[]", b"7", b"{", b'{"bytes":7}', b'{"bytes":"a"}', b"\xff"])
def test_a_chunk_that_holds_none_is_refused(payload: bytes) -> None:
    with pytest.raises(BadResponse, match="holds no event"):
        events(chunk(payload))


def test_exceptions_and_faults_become_the_wires_error() -> None:
    decoded = events(wire.exception("throttlingException", "slow"), wire.fault("InternalError", "oops"))
    assert [(event.event, json.loads(event.data)["error"]) for event in decoded] == [
        ("error", {"type": "throttlingException", "message": "slow"}),
        ("error", {"type": "InternalError", "message": "oops"}),
    ]


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b'{"message":7}', b"[" * 100_000])
def test_an_exception_may_say_anything(payload: bytes) -> None:
    (event,) = events(wire.frame({":message-type": "exception"}, payload))
    assert json.loads(event.data)["error"]["type"] == "api_error"


def test_half_a_frame_at_the_end_says_nothing() -> None:
    framing = BedrockFraming()
    assert list(framing.feed(wire.chunk(b"{}")[:30])) == []
    assert list(framing.close()) == []
