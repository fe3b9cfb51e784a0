"""Read: what the model sees of a file."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from caliban_common.message import ImageBlock, TextBlock
from caliban_common.testing import sample_image
from caliban_common.tool import ToolOutput
from caliban_tools_builtin.fs.window import Window, window

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 20


def test_lines_come_with_numbers_and_a_header(call, ws):
    (ws / "a.txt").write_bytes(b"one\n\ttwo\n  three")
    assert call("Read", path="a.txt").text == (
        "→ Read a.txt, lines 1-3 of 3\n\n    1  one\n    2  \ttwo\n    3    three"
    )


def test_offset_and_limit_choose_lines(call, ws):
    (ws / "a.txt").write_text("".join(f"l{n}\n" for n in range(1, 11)))
    assert call("Read", path="a.txt", offset=4, limit=2).text == (
        "→ Read a.txt, lines 4-5 of 10\n\n    4  l4\n    5  l5"
    )


def test_at_most_two_thousand_lines_are_shown(call, ws):
    (ws / "a.txt").write_text("x\n" * 2500)
    text = call("Read", path="a.txt").text
    assert text.startswith("→ Read a.txt, lines 1-2000 of 2500\n") and text.endswith("\n 2000  x")


def test_an_offset_past_the_end_is_an_error_that_says_how_long_the_file_is(call, ws):
    (ws / "a.txt").write_text("x\n")
    output = call("Read", path="a.txt", offset=5)
    assert output.is_error and "past the end: a.txt has 1 line" in output.text


def test_an_empty_file_is_said_to_be_empty(call, ws):
    (ws / "a.txt").write_bytes(b"")
    assert call("Read", path="a.txt").text == "→ Read a.txt, lines 0-0 of 0\n\n(empty file)"


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n", "a\nb\n".encode("utf-16"), b"a\rb\r"])
def test_line_ends_and_byte_order_marks_are_not_shown(call, ws, data):
    (ws / "a.txt").write_bytes(data)
    assert call("Read", path="a.txt").text == "→ Read a.txt, lines 1-2 of 2\n\n    1  a\n    2  b"


def test_only_line_feeds_end_lines(call, ws):
    (ws / "a.txt").write_bytes("a\x0bb\x0cc\x85d\u2028e\n".encode())
    assert call("Read", path="a.txt").text.endswith("    1  a\x0bb\x0cc\x85d\u2028e")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("O objetivo é testar".encode("cp1252"), "O objetivo é testar"),
        (b"a\x81b\xe9", "a\x81bé"),
        ("naïve,日本".encode() + b" \xff", "naïve,日本 \ufffd"),
    ],
)
def test_text_that_is_not_utf8_is_shown_and_never_fails(call, ws, data, shown):
    (ws / "a.txt").write_bytes(data)
    assert call("Read", path="a.txt").text.endswith(f"    1  {shown}")


def test_a_long_line_is_cut_with_a_mark(call, ws):
    (ws / "a.txt").write_text("x" * 3000)
    assert call("Read", path="a.txt").text.endswith("x" * 2000 + "… [1000 more characters]")


def test_a_file_above_five_megabytes_needs_a_window(call, ws):
    (ws / "big.txt").write_bytes(b"".join(b"line %d\n" % n for n in range(1, 600_001)))
    refused = call("Read", path="big.txt")
    assert refused.is_error and "too large" in refused.text and "offset and limit" in refused.text
    assert call("Read", path="big.txt", offset=599_999, limit=5).text == (
        "→ Read big.txt, lines 599999-600000 of 600000\n\n599999  line 599999\n600000  line 600000"
    )


@pytest.mark.parametrize("before", range(4))
def test_a_long_line_of_a_large_file_is_cut_between_characters(call, ws, before):
    line = "x" * before + "€" * 40_000
    (ws / "big.txt").write_text(f"ä\n{line}\n" * 100, encoding="utf-8")
    shown = call("Read", path="big.txt", offset=1, limit=2).text.split("\n")
    assert shown[2:3] == ["    1  ä"]
    assert shown[3].startswith(f"    2  {line[:2000]}… [")


def test_a_file_that_is_above_the_bound_and_binary_is_refused(call, ws):
    (ws / "big.bin").write_bytes(b"\0" * 6_000_000)
    assert "binary" in call("Read", path="big.bin", offset=1).text


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("a.png", "image/png"),
        ("jpeg-saved-as.png", "image/jpeg"),
        ("a.gif", "image/gif"),
        ("a.webp", "image/webp"),
        ("no-suffix", "image/png"),
    ],
)
def test_an_image_is_known_by_its_first_bytes(call, ws, name, media):
    data = sample_image(media)
    (ws / name).write_bytes(data)
    assert call("Read", path=name).content == (
        TextBlock(text=f"→ Read {name}, {media}, 5×3 pixels, {len(data)} bytes"),
        ImageBlock.of(media_type=media, data=base64.b64encode(data).decode()),
    )


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("a.bmp", b"BM\x9a\0\0\0\0\0", "a BMP image"),
        ("a.tiff", b"II*\0\x08\0\0\0", "a TIFF image"),
        ("a.ico", b"\0\0\1\0\1\0", "an ICO image"),
        ("a.pdf", b"%PDF-1.7\n\0\xff", "the PDF is cut off"),
        ("text.png", b"\0\1\2", "binary file (3 bytes)"),
    ],
)
def test_other_binary_files_are_refused_by_what_they_are(call, ws, name, data, word):
    (ws / name).write_bytes(data)
    output = call("Read", path=name)
    assert output.is_error and word in output.text and all(isinstance(b, TextBlock) for b in output.content)


def test_an_svg_is_text(call, ws):
    (ws / "a.svg").write_text("<svg/>")
    assert call("Read", path="a.svg").text.endswith("    1  <svg/>")


@pytest.mark.parametrize("cut", [20, -1])
@pytest.mark.parametrize("media", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_a_corrupt_image_is_an_error_and_is_not_sent(call, ws, media, cut):
    (ws / "a").write_bytes(sample_image(media)[:cut])
    output = call("Read", path="a")
    assert output.is_error
    assert "a cannot be shown: the image" in output.text
    (ws / "b").write_bytes(sample_image(media)[:10] + b"\xfe some text")
    assert call("Read", path="b").is_error


def test_a_text_that_begins_like_an_image_is_read_as_text(call, ws):
    (ws / "a.txt").write_text("GIF89a is a format\n")
    assert call("Read", path="a.txt").text.endswith("    1  GIF89a is a format")


def test_an_image_above_the_providers_bound_is_refused(call, ws):
    (ws / "a.png").write_bytes(sample_image("image/png") + b"\0" * 60_000_000)
    assert "too large" in call("Read", path="a.png").text


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "/dev/stdin", "link-to-pipe", "link-to-zero"])
@pytest.mark.parametrize("restrict", [True, False])
def test_what_is_no_regular_file_is_refused_unread(make, ws, path, restrict):
    os.mkfifo(ws / "pipe")
    (ws / "link-to-pipe").symlink_to("pipe")
    (ws / "link-to-zero").symlink_to("/dev/zero")
    if path == "/dev/stdin" and Path("/dev/stdin").is_file():
        pytest.skip("stdin of this test run is a regular file")
    output = make(restrict_paths=restrict)("Read", path=path)
    assert output.is_error and "not a regular file" in output.text


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/mem", "/proc/1/environ"])
def test_files_that_show_a_process_are_refused_without_a_fence_too(make, path):
    assert "not a regular file" in make(restrict_paths=False)("Read", path=path).text


def test_a_directory_and_a_missing_file_are_named(call, ws):
    (ws / "d").mkdir()
    assert "d is a directory" in call("Read", path="d").text
    assert "is a directory" in call("Read", path=".").text
    assert call("Read", path="no/such").text == "Error: execution failed: no/such does not exist"


@pytest.mark.parametrize("args", [{}, {"path": 3}, {"path": "a", "offset": 0}, {"path": "a", "lines": 3}])
def test_wrong_arguments_are_answered(call, args):
    output: ToolOutput = call("Read", **args)
    assert output.is_error and output.text.startswith("Error: invalid input: ")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"a\nbb\n\nccc", b"a\nbb\n\nccc\n"])
def test_a_window_does_not_depend_on_where_the_bytes_are_cut(data, size):
    lines = data.split(b"\n")[: data.count(b"\n") + (not data.endswith(b"\n") and bool(data))]
    for first in range(1, 6):
        for last in range(first, 6):
            chunks = [data[i : i + size] for i in range(0, len(data), size)]
            assert window(chunks, first=first, last=last, max_line_bytes=50) == Window(
                lines=tuple(lines[first - 1 : last]), total=len(lines)
            )
