"""MultiEdit: the laws of Edit, one edit after the other, all of them or none."""

from __future__ import annotations

import os

import anyio
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.tool import ToolContext
from caliban_tools_builtin import ToolOptions, builtin_tools

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")


def edit(old, new, **more):
    return {"old_string": old, "new_string": new, **more}


def test_edits_are_made_in_order_and_each_sees_what_those_before_it_made(call, ws):
    (ws / "f").write_bytes(b"one\r\ntwo\r\ntwo\r\n")
    edits = [edit("one", "two"), edit("two", "three", replace_all=True), edit("three\nthree\n", "3\n4\n")]
    output = call("MultiEdit", path="f", edits=edits[:2])
    assert output.text == "→ MultiEdit f (2 edits, 4 total replacements)"
    assert (ws / "f").read_bytes() == b"three\r\nthree\r\nthree\r\n"


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        ([edit("one", "1"), edit("gone", "x")], "edit #2: old_string was not found"),
        ([edit("one", "1"), edit("two", "x")], "edit #2: old_string is ambiguous: 2 matches"),
        ([edit("two", "x")], "edit #1: old_string is ambiguous"),
        ([edit("one", "1"), edit("1", "1")], "edit #2: old_string and new_string are identical"),
        ([edit("one", "1"), edit("", "x")], "edit #2: old_string is empty"),
        ([edit("one", "1"), edit("1", "one")], "nothing to change"),
        ([], "there must be 1 to 1000 edits, not 0"),
        ([edit("one", 1)], "edit #1: argument 'new_string' must be a string"),
        ([edit("one", "\ud800")], "edit #1: argument 'new_string' is not valid Unicode"),
        (["one"], "item 1 of 'edits' must be an object"),
    ],
)
def test_one_edit_that_fails_leaves_the_file_alone(call, ws, edits, why):
    (ws / "f").write_text("one\ntwo\ntwo\n")
    before = os.stat(ws / "f")
    output = call("MultiEdit", path="f", edits=edits)
    assert output.is_error and why in output.text
    assert os.stat(ws / "f") == before or (ws / "f").read_text() == "one\ntwo\ntwo\n"
    assert (os.stat(ws / "f").st_mtime_ns, os.stat(ws / "f").st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("wrong", [edit("gone", "x"), edit("two", "x"), edit("threee", "x"), edit("", "x")])
def test_whatever_is_wrong_with_an_edit_the_model_reads_that_none_was_made(call, ws, wrong):
    (ws / "f").write_text("one\ntwo\ntwo\nthree\n")
    output = call("MultiEdit", path="f", edits=[edit("one", "1"), wrong, edit("o", "0", replace_all=True)])
    assert output.text.endswith("none of the edits was made")


def test_a_file_that_is_missing_or_empty_is_filled_by_the_first_edit(call, ws):
    (ws / "empty").touch()
    for name in ("new/f", "empty"):
        assert not call("MultiEdit", path=name, edits=[edit("", "a\nb\n"), edit("b", "c")]).is_error
        assert (ws / name).read_text() == "a\nc\n"
    assert "edit #1: gone does not exist" in call("MultiEdit", path="gone", edits=[edit("a", "b")]).text


def test_a_file_that_changed_since_it_was_read_is_stale_for_it_too(call, ws):
    (ws / "f").write_text("one")
    call("Read", path="f")
    (ws / "f").write_text("one, two")
    assert "is stale" in call("MultiEdit", path="f", edits=[edit("one", "1")]).text
    call("Read", path="f")
    assert not call("MultiEdit", path="f", edits=[edit("one", "1")]).is_error
    assert not call("Edit", path="f", old_string="two", new_string="2").is_error
    assert (ws / "f").read_text() == "1, 2"


def test_mark_encoding_mode_and_links_stay(call, ws):
    (ws / "f").write_bytes("äone\r\nzwei".encode("utf-16"))
    (ws / "f").chmod(0o640)
    (ws / "link").symlink_to("f")
    assert not call("MultiEdit", path="link", edits=[edit("one\nz", "ö\nz"), edit("wei", "WEI")]).is_error
    assert (ws / "f").read_bytes() == "äö\r\nzWEI".encode("utf-16")
    assert (ws / "link").is_symlink() and (ws / "f").stat().st_mode & 0o777 == 0o640


@settings(max_examples=examples(60), deadline=None)
@given(
    text=st.text(alphabet="ab\r\n \t", max_size=40),
    edits=st.lists(
        st.tuples(st.text(alphabet="ab\n", min_size=1, max_size=3), st.text(alphabet="xy\n", max_size=3)),
        min_size=1,
        max_size=3,
    ),
)
def test_it_does_what_as_many_edits_do_or_nothing(tmp_path_factory, text, edits):
    ws = tmp_path_factory.mktemp("law")
    tools = {tool.spec.name: tool for tool in builtin_tools(ToolOptions(workspace=ws))}
    for name in ("one", "many"):
        (ws / name).write_bytes(text.encode())
    outputs = [
        anyio.run(tools["Edit"].invoke, {"path": "one", **edit(old, new)}, CONTEXT) for old, new in edits
    ]
    together = anyio.run(
        tools["MultiEdit"].invoke, {"path": "many", "edits": [edit(*pair) for pair in edits]}, CONTEXT
    )
    if any(output.is_error for output in outputs):
        assert together.is_error
    expected = (ws / "one").read_bytes() if not together.is_error else text.encode()
    assert (ws / "many").read_bytes() == expected
