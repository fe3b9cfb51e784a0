"""Frames, held against the vendor's own decoder."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.errors import BadResponse
from caliban_provider.testing import strategies
from caliban_provider_bedrock.eventstream import (
    MAX_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    Frame,
    FrameDecoder,
    parse_headers,
)
from caliban_provider_bedrock.testing import wire

NAMES = st.text(max_size=40).filter(lambda name: len(name.encode()) < 256)
VALUES = st.one_of(
    st.just((0, b"", True)),
    st.just((1, b"", False)),
    st.integers(-(2**7), 2**7 - 1).map(lambda n: (2, struct.pack(">b", n), n)),
    st.integers(-(2**15), 2**15 - 1).map(lambda n: (3, struct.pack(">h", n), n)),
    st.integers(-(2**31), 2**31 - 1).map(lambda n: (4, struct.pack(">i", n), n)),
    st.integers(-(2**63), 2**63 - 1).map(lambda n: (5, struct.pack(">q", n), n)),
    st.binary(max_size=60).map(lambda b: (6, struct.pack(">H", len(b)) + b, b)),
    st.text(max_size=60).map(lambda t: (7, struct.pack(">H", len(t.encode())) + t.encode(), t)),
    st.integers(-(2**63), 2**63 - 1).map(lambda n: (8, struct.pack(">q", n), n)),
    st.binary(min_size=16, max_size=16).map(lambda b: (9, b, b)),
)


def raw_frame(block: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", len(block) + len(payload) + 16, len(block))
    frame = prelude + struct.pack(">I", crc32(prelude)) + block + payload
    return frame + struct.pack(">I", crc32(frame))


@st.composite
def frames(draw: st.DrawFn) -> tuple[Frame, bytes]:
    drawn = draw(st.dictionaries(NAMES, VALUES, max_size=5))
    block = b"".join(
        bytes([len(name.encode())]) + name.encode() + bytes([kind]) + raw
        for name, (kind, raw, _) in drawn.items()
    )
    payload = draw(st.binary(max_size=200))
    headers = {name: value for name, (_, _, value) in drawn.items()}
    return Frame(headers, payload), raw_frame(block, payload)


def ours(chunks: list[bytes]) -> tuple[list[Frame], bool]:
    """The frames, and whether the bytes were refused after them."""
    decoder, out = FrameDecoder(), []
    try:
        for chunk in chunks:
            for frame in decoder.feed(chunk):
                out.append(frame)
    except BadResponse:
        return out, True
    return out, False


def theirs(data: bytes) -> tuple[list[Frame], bool]:
    buffer, out = EventStreamBuffer(), []
    buffer.add_data(data)
    try:
        for message in buffer:
            out.append(Frame(message.headers, message.payload))
    except (ParserError, KeyError, struct.error, UnicodeDecodeError):
        return out, True
    return out, False


@given(st.lists(frames(), max_size=5), st.data())
def test_frames_are_what_the_vendors_decoder_makes_of_them(
    drawn: list[tuple[Frame, bytes]], data: st.DataObject
) -> None:
    whole = b"".join(raw for _, raw in drawn)
    chunks = data.draw(strategies.chunkings(whole))
    assert ours(chunks) == ([frame for frame, _ in drawn], False) == theirs(whole)


@given(st.lists(frames(), min_size=1, max_size=3), st.data())
def test_damage_is_noticed_where_the_vendors_decoder_notices_it(
    drawn: list[tuple[Frame, bytes]], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(raw for _, raw in drawn))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    chunks = data.draw(strategies.chunkings(bytes(whole)))
    assert ours(chunks) == theirs(bytes(whole))


@given(st.binary(min_size=12, max_size=100))
def test_garbage_is_refused(garbage: bytes) -> None:
    assert ours([garbage]) == ([], True)


@given(st.binary(max_size=60))
def test_any_headers_are_read_or_refused(block: bytes) -> None:
    try:
        read = parse_headers(block)
    except BadResponse:
        read = None
    if read is not None:
        assert theirs(raw_frame(block, b"")) == ([Frame(read, b"")], False)


def test_a_large_frame_in_many_pieces_is_held_and_not_looked_at_again_and_again() -> None:
    raw = wire.chunk(b"x" * 300_000)
    decoder = FrameDecoder()
    out: list[Any] = []
    for at in range(0, len(raw), 64):
        out += decoder.feed(raw[at : at + 64])
    assert [len(frame.payload) for frame in out] == [400_000 + len('{"bytes":"","p":"abcdefghij"}')]


def prelude(total_bytes: int, header_bytes: int) -> bytes:
    head = struct.pack(">II", total_bytes, header_bytes)
    return head + struct.pack(">I", crc32(head))


@pytest.mark.parametrize(
    ("total_bytes", "header_bytes"),
    [
        (0, 0),
        (15, 0),
        (20, 5),
        (MAX_HEADER_BYTES + 17, MAX_HEADER_BYTES + 1),
        (MAX_PAYLOAD_BYTES + 17, 0),
        (2**32 - 1, 0),
        (16, 2**32 - 1),
    ],
)
def test_impossible_and_excessive_lengths_are_refused_from_the_prelude(
    total_bytes: int, header_bytes: int
) -> None:
    with pytest.raises(BadResponse, match="no AWS event stream"):
        list(FrameDecoder().feed(prelude(total_bytes, header_bytes)))


def test_the_frames_before_a_fault_come_first() -> None:
    good = wire.chunk(b"{}")
    out, refused = ours([good + b"\0" * 12])
    assert ([frame.payload for frame in out], refused) == ([b'{"bytes":"e30=","p":"abcdefghij"}'], True)
