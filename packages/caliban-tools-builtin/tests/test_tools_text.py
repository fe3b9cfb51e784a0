"""Text formats: every byte comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tools_builtin.errors import FileRefused
from caliban_tools_builtin.fs.text import (
    TextFormat,
    decode,
    encode,
    line_end,
    lines_of,
    readable,
    with_line_end,
)

BOMS = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])


@given(
    BOMS,
    st.one_of(st.binary(max_size=60), st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace"))),
)
def test_decoding_and_encoding_gives_the_same_bytes(bom, body):
    data = bom + body
    try:
        decoded = decode(data, "f")
    except FileRefused:
        return
    assert encode(decoded.text, decoded.format, "f") == data
    assert "\0" not in decoded.text


@given(st.binary(max_size=60))
def test_a_piece_of_a_file_is_always_readable(data):
    readable(data).encode("utf-8")


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"", TextFormat()),
        (b"a\r\nb\r\n", TextFormat(eol="\r\n")),
        (b"a\r\nb\r\nc\n", TextFormat(eol="\r\n", uniform=False)),
        (b"a\rb\r", TextFormat(eol="\r")),
        (b"\xef\xbb\xbfa\n", TextFormat(bom=b"\xef\xbb\xbf")),
        (b"\xff\xfea\0", TextFormat(encoding="utf-16-le", bom=b"\xff\xfe")),
        (b"\xfe\xff\0a", TextFormat(encoding="utf-16-be", bom=b"\xfe\xff")),
        (b"caf\xe9", TextFormat(encoding="windows-1252")),
        ("é日本".encode() + b"\xff", TextFormat(encoding="utf-8 with stray bytes")),
    ],
)
def test_the_format_of_a_file_is_recognised(data, form):
    assert decode(data, "f").format == form


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea", b"\xff\xfe\0\0a\0\0\0", b"\0\0\xfe\xff\0\0\0a"])
def test_what_is_no_text_is_refused(data):
    with pytest.raises(FileRefused):
        decode(data, "f")


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), min_size=1))
def test_lines_survive_any_line_end(lines):
    for eol in ("\n", "\r\n"):
        text = with_line_end("\n".join(lines) + "\n", eol)
        assert line_end(text) == (eol, True)
        assert lines_of(text, eol) == lines
