from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.errors import BadResponse
from caliban_provider.ndjson import NDJSONDecoder
from caliban_provider.testing.strategies import chunkings, json_values


def decoded(*chunks: bytes) -> list[bytes]:
    decoder = NDJSONDecoder()
    return [line for chunk in chunks for line in decoder.feed(chunk)] + decoder.close()


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        (b"", []),
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}\n\n \r\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        ('{"a":"x\u2028y\u0085z"}\n'.encode(), ['{"a":"x\u2028y\u0085z"}'.encode()]),
        (b"a\rb\n", [b"a\rb"]),
    ],
)
def test_lines_end_at_line_feeds_only(stream: bytes, lines: list[bytes]) -> None:
    assert decoded(stream) == lines
    assert decoded(*(stream[at : at + 1] for at in range(len(stream)))) == lines


@given(st.binary(max_size=200).flatmap(chunkings))
def test_the_lines_do_not_depend_on_the_chunks(chunks: list[bytes]) -> None:
    wanted = [line for line in b"".join(chunks).split(b"\n") if line.strip()]
    assert decoded(*chunks) == wanted


@given(st.lists(json_values, max_size=5), st.data())
def test_what_a_server_writes_is_read_back(values: list[object], data: st.DataObject) -> None:
    stream = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode(
        "utf-8", "replace"
    )
    assert [json.loads(line) for line in decoded(*data.draw(chunkings(stream)))] == values


@pytest.mark.parametrize("chunks", [[b"x" * 21], [b"x"] * 21, [b"a\n" + b"x" * 21 + b"\nb\n"]])
def test_a_line_over_the_limit_is_refused(chunks: list[bytes]) -> None:
    decoder = NDJSONDecoder(max_line_bytes=20)
    with pytest.raises(BadResponse, match="larger than 20 bytes"):
        for chunk in chunks:
            decoder.feed(chunk)


def test_a_line_at_the_limit_is_taken() -> None:
    assert NDJSONDecoder(max_line_bytes=20).feed(b"x" * 20 + b"\n" + b"y" * 20 + b"\n") == [
        b"x" * 20,
        b"y" * 20,
    ]
