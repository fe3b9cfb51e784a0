"""`@path` in prompts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.message import ImageBlock, TextBlock
from caliban_common.testing import sample_image
from caliban_drive.errors import AttachmentRefused
from caliban_drive.expand import ExpandOptions, expand, references

FILES = ("foo?bar.txt", "a b.txt", "x,y.txt", "naïve.txt", "end.", "sub/deep.txt", "日本.md")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in FILES:
        (tmp_path / name).write_text(f"<{name}>")
    return tmp_path


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        (r"@foo\?bar.txt what?", ["foo?bar.txt"]),
        ("@foo?bar.txt what?", ["foo?bar.txt"]),
        ('read @"a b.txt", and @x,y.txt.', ["a b.txt", "x,y.txt"]),
        (r"read @a\ b.txt now", ["a b.txt"]),
        ("mail me@host.com", []),
        ("see (@naïve.txt)!", ["naïve.txt"]),
        ("@end. @end.", ["end."]),
        ("@sub/deep.txt; @sub", ["sub/deep.txt"]),
        ('@nothing @ @@ @"', []),
        ("@./x,y.txt", ["./x,y.txt"]),
        ("@'a b.txt' and `@x,y.txt`", ["a b.txt", "x,y.txt"]),
        ("@x,y.txt:10, @sub/deep.txt#L3-L9", ["x,y.txt", "sub/deep.txt"]),
        ("@nai\u0308ve.txt", ["nai\u0308ve.txt"]),
        ("「@日本.md」と @x,y.txtを。", ["日本.md", "x,y.txt"]),
        ("me@x,y.txt git:@x,y.txt @x,y.txtz", []),
        ("@" + "x" * 5000 + ")" * 5000, []),
        ("@" + "\0" + " x", []),
    ],
)
def test_b042_the_files_that_are_named_are_found(workspace, prompt, names):
    assert [name for name, _ in references(prompt, workspace)] == names


def test_the_prompt_stays_as_it_is_and_the_files_follow(workspace):
    message = expand('compare @"a b.txt" and @x,y.txt.', ExpandOptions(workspace=workspace))
    assert message.content == (
        TextBlock(text='compare @"a b.txt" and @x,y.txt.'),
        TextBlock(text='<file path="a b.txt">\n<a b.txt>\n</file>'),
        TextBlock(text='<file path="x,y.txt">\n<x,y.txt>\n</file>'),
    )


@pytest.mark.parametrize(
    "data",
    [
        "Größe".encode(),
        b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe",
        "Größe".encode("latin-1"),
        "Größe".encode("utf-16"),
        b"\xfe\xff" + "Größe".encode("utf-16-be"),
    ],
)
def test_a_file_is_attached_as_the_model_would_read_it(workspace, data):
    (workspace / "x,y.txt").write_bytes(data)
    message = expand("@x,y.txt", ExpandOptions(workspace=workspace))
    assert message.content[1] == TextBlock(text='<file path="x,y.txt">\nGröße\n</file>')


def test_bytes_that_spoil_a_text_in_utf8_spoil_themselves_only(workspace):
    (workspace / "x,y.txt").write_bytes("Größe und Höhe: ".encode() + b"\xff.")
    message = expand("@x,y.txt", ExpandOptions(workspace=workspace))
    assert message.content[1] == TextBlock(text='<file path="x,y.txt">\nGröße und Höhe: \ufffd.\n</file>')


def test_an_image_is_known_by_its_first_bytes(workspace):
    (workspace / "p.txt").write_bytes(sample_image("image/png"))
    (block,) = expand("@p.txt", ExpandOptions(workspace=workspace)).content[1:]
    assert isinstance(block, ImageBlock)
    assert block.media_type == "image/png"


def test_a_corrupt_image_is_refused(workspace):
    (workspace / "p.png").write_bytes(sample_image("image/png")[:-3])
    with pytest.raises(AttachmentRefused, match=r"@p\.png: the image is cut off"):
        expand("@p.png", ExpandOptions(workspace=workspace))


def test_b047_a_pipe_is_refused_without_waiting(workspace):
    os.mkfifo(workspace / "p")
    with pytest.raises(AttachmentRefused, match="not a regular file"):
        expand("look at @p", ExpandOptions(workspace=workspace))


def test_the_bounds_are_told(workspace):
    (workspace / "big").write_bytes(b"x" * 100)
    (workspace / "bin").write_bytes(b"a\0b")
    with pytest.raises(AttachmentRefused, match="@big"):
        expand("@big", ExpandOptions(workspace=workspace, max_file_bytes=99))
    with pytest.raises(AttachmentRefused, match="together"):
        expand("@big @x,y.txt", ExpandOptions(workspace=workspace, budget_bytes=101))
    with pytest.raises(AttachmentRefused, match="neither text nor"):
        expand("@bin", ExpandOptions(workspace=workspace))


@given(st.text(max_size=200))
def test_any_prompt_is_expanded_to_itself_where_no_file_is_named(prompt):
    message = expand(prompt, ExpandOptions(workspace=Path("/nonexistent")))
    assert message.content[0] == TextBlock(text=prompt)
