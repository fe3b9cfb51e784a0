"""Edit: the matched span changes, and not one byte beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_tools_builtin.errors import ToolFailed
from caliban_tools_builtin.fence import AdmittedPath
from caliban_tools_builtin.fs.edit import edited
from caliban_tools_builtin.fs.text import decode, encode

PLACE = AdmittedPath(path=Path("/f"), root=Path("/"), shown="f")


@pytest.fixture
def edit(make, ws):
    """Edits a file of given bytes: the output, and the bytes afterwards."""

    def once(data: bytes, old: str, new: str, **more):
        (ws / "f").write_bytes(data)
        output = make()("Edit", path="f", old_string=old, new_string=new, **more)
        return output, (ws / "f").read_bytes()

    return once


def test_an_exact_match_is_replaced(edit):
    output, data = edit(b"hello foo world", "foo", "bar")
    assert (output.text, data) == ("→ Edited f (1 replacement)", b"hello bar world")


def test_two_matches_are_ambiguous_unless_all_are_meant(edit):
    output, data = edit(b"foo and foo", "foo", "bar")
    assert output.is_error and "2 matches in f (lines 1, 1)" in output.text and data == b"foo and foo"
    output, data = edit(b"foo and foo", "foo", "bar", replace_all=True)
    assert (output.text, data) == ("→ Edited f (2 replacements)", b"bar and bar")


def test_a_file_with_lone_carriage_returns_is_edited_by_the_same_laws(edit):
    output, data = edit(b"a\rb\ra\r", "a", "x")
    assert output.is_error and "2 matches in f (lines 1, 3)" in output.text and data == b"a\rb\ra\r"
    assert edit(b"a\rb  \rc\r", "a\nb\n", "x\ny\n")[1] == b"x\ry\rc\r"
    assert edit(b"{\r    if x:\r        y\r}\r", "if x:\n    y", "if x:\n    z\n    y")[1] == (
        b"{\r    if x:\r        z\r        y\r}\r"
    )
    output, data = edit(b"one\rdo_thing();\rthree\r", "do_OTHER();", "x")
    assert "closest match near line 2 (- old_string, + file):\n- do_OTHER();\n+ do_thing();" in output.text


def test_places_that_are_too_many_to_compare_are_said_to_be_and_none_is_left_out(edit):
    near = b"{\n" * 199_000
    data = b"{\n" * 9 + b"x \n" + near
    output, after = edit(data, "{\n" * 9 + "x\n", "y\n", replace_all=True)
    assert "old_string is like too many of the 199,010 lines" in output.text and after == data


def test_a_match_that_overlaps_itself_is_ambiguous(edit):
    output, data = edit(b"aaa", "aa", "b")
    assert output.is_error and "2 matches" in output.text and data == b"aaa"
    output, data = edit(b"aaa", "aa", "b", replace_all=True)
    assert (output.text, data) == ("→ Edited f (1 replacement)", b"ba")


def test_trailing_blanks_that_the_file_lacks_are_forgiven(edit):
    output, data = edit(b"a\nfoo\nbar\n", "foo  \nbar\t\n", "x\ny\n")
    assert (output.text, data) == ("→ Edited f (1 replacement)", b"a\nx\ny\n")
    assert edit(b"foo\nbar", "foo  \nbar\n", "x\ny\n")[1] == b"x\ny"
    assert edit(b"foo   \nbar \nz\n", "foo\nbar", "x\ny")[1] == b"x\ny\nz\n"


def test_a_multi_line_edit_matches_in_a_crlf_file_and_keeps_its_line_ends(edit):
    assert edit(b"a\r\nb\r\nc\r\n", "a\nb", "a\nX\nb")[1] == b"a\r\nX\r\nb\r\nc\r\n"
    assert edit(b"alpha\r\nbeta\r\n", "alpha\nbeta", "one\ntwo")[1] == b"one\r\ntwo\r\n"
    assert edit(b"x = f(a,\r\n  b)\r\n", "f(a,\n  b)", "g(\n  b)")[1] == b"x = g(\r\n  b)\r\n"
    assert edit(b"a\r\nb\r\n", "b", "b\nc")[1] == b"a\r\nb\r\nc\r\n"


def test_crlf_sent_for_an_lf_file_becomes_lf(edit):
    assert edit(b"a\nb\nc\n", "a\r\nb", "a\r\nX\r\nb")[1] == b"a\nX\nb\nc\n"


def test_in_a_file_of_mixed_line_ends_each_place_keeps_its_own(edit):
    data = b"a\r\nb\r\nc\nd\n"
    assert edit(data, "a", "a\nx")[1] == b"a\r\nx\r\nb\r\nc\nd\n"
    assert edit(data, "d", "d\nx")[1] == b"a\r\nb\r\nc\nd\nx\n"


def test_a_byte_order_mark_stays_exactly_once(edit):
    assert edit(b"\xef\xbb\xbfone\r\ntwo\r\n", "two", "2")[1] == b"\xef\xbb\xbfone\r\n2\r\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_stays_utf16(edit, encoding):
    data = "\ufeffhéllo\n".encode(encoding)
    assert edit(data, "héllo", "hi")[1] == "\ufeffhi\n".encode(encoding)


@pytest.mark.parametrize("data", ["O objetivo é testar".encode("cp1252"), b"\x81\xe9 testar \x8d"])
def test_bytes_that_are_not_utf8_are_kept(edit, data):
    output, after = edit(data, "testar", "provar")
    assert not output.is_error and after == data.replace(b"testar", b"provar")


def test_a_stray_byte_in_a_utf8_file_is_kept(edit):
    data = "naïve 日本 ".encode() + b"\xff\xfe end"
    assert edit(data, "naïve", "naïf")[1] == data.replace("naïve".encode(), "naïf".encode())


def test_what_the_encoding_cannot_express_is_refused(edit):
    data = "é testar".encode("cp1252")
    output, after = edit(data, "testar", "日本")
    assert output.is_error and "windows-1252" in output.text and after == data


def test_straight_quotes_can_become_curly_ones(edit):
    assert edit(b"echo '%s'\n", "'%s'", "\u2018%s\u2019")[1] == "echo \u2018%s\u2019\n".encode()


def test_identical_texts_are_refused(edit):
    output, _ = edit(b"a", "a", "a")
    assert output.is_error and "identical" in output.text


def test_leading_blanks_of_the_new_text_are_kept(edit):
    old = "            if c:\n                r = f()"
    new = "            if c:\n                r = g()"
    data = b"def x():\n" + old.encode() + b"\n"
    assert edit(data, old, new)[1] == b"def x():\n" + new.encode() + b"\n"


def test_an_indent_shift_is_forgiven_and_the_new_text_is_shifted_alike(edit):
    data = b"fn f() {\n    if x {\n        y();\n    }\n}\n"
    old, new = "if x {\n    y();\n}", "if x {\n\n    z();\n    w();\n}"
    assert edit(data, old, new)[1] == (b"fn f() {\n    if x {\n\n        z();\n        w();\n    }\n}\n")


def test_text_that_is_indented_too_far_is_shifted_back(edit):
    assert edit(b"if x:\n    y\n", "    if x:\n        y", "    if z:\n        y\n  w")[1] == (
        b"if z:\n    y\nw\n"
    )


def test_every_block_of_one_shift_is_replaced_and_two_shifts_are_ambiguous(edit):
    data = b"  a {\n    b\nx\n  a {\n    b\n"
    output, after = edit(data, "a {\n  b", "c {\n  d", replace_all=True)
    assert (output.text, after) == ("→ Edited f (2 replacements)", b"  c {\n    d\nx\n  c {\n    d\n")
    data = b"  a {\n    b\nx\n      a {\n        b\n"
    output, after = edit(data, "a {\n  b", "c {\n  d", replace_all=True)
    assert output.is_error and "lines 1-2, 4-5" in output.text and after == data


def test_a_shift_that_differs_between_lines_is_no_match(edit):
    output, data = edit(b"  a\n    b\n", "a\nb", "x\ny")
    assert output.is_error and "not found" in output.text and data == b"  a\n    b\n"


def test_an_exact_match_wins_over_a_forgiving_one(edit):
    assert edit(b"    a\n    b\na\nb\n", "a\nb\n", "x\ny\n")[1] == b"    a\n    b\nx\ny\n"


def test_a_near_miss_is_shown_with_both_texts(edit):
    output, _ = edit(b"do_thing();\nother\n", "do_OTHER();", "x")
    assert output.text.startswith(
        "Error: execution failed: old_string was not found in f; closest match near line 1"
    )
    assert "\n- do_OTHER();\n+ do_thing();" in output.text


def test_a_near_miss_finds_the_place_by_its_equal_lines(edit):
    data = b"".join(b"line %d\n" % n for n in range(300)) + b"alpha\nbeta\ngamma\n"
    output, _ = edit(data, "alpha\nBETA\ngamma", "x")
    assert "near line 301" in output.text
    assert output.text.endswith("  alpha\n- BETA\n+ beta\n  gamma")


def test_at_most_forty_lines_of_a_near_miss_are_shown(edit):
    old = "first\n" + "\n".join(f"x{n}" for n in range(500))
    output, _ = edit(b"first\n" + b"y\n" * 500, old, "")
    assert sum(line.startswith("- ") for line in output.text.split("\n")) <= 40
    assert sum(line.startswith("+ ") for line in output.text.split("\n")) <= 40


def test_tabs_in_the_file_and_blanks_in_the_edit_are_named(edit):
    data = b"func f() {\n\t\tx := 1\n}\n"
    assert edit(data, "\t\tx := 1", "\t\tx := 2")[1] == b"func f() {\n\t\tx := 2\n}\n"
    output, after = edit(data, "        x := 1", "        x := 2")
    assert output.is_error and "the file uses tabs" in output.text and after == data


@pytest.mark.parametrize("old", ["much longer than the file\n" * 9, "\n\n\n\n\n\n", "   \t"])
def test_an_old_text_that_cannot_match_is_not_found(edit, old):
    output, data = edit(b"ab\n", old, "x")
    assert output.is_error and "not found" in output.text and data == b"ab\n"


def test_an_empty_old_text_fills_an_empty_or_missing_file_and_wipes_none(edit, call, ws):
    output, data = edit(b"keep\n", "", "new\n")
    assert output.is_error and data == b"keep\n"
    output, data = edit(b"", "", "new\n")
    assert not output.is_error and data == b"new\n"
    assert not call("Edit", path="d/none.txt", old_string="", new_string="new\n").is_error
    assert (ws / "d/none.txt").read_bytes() == b"new\n"


def test_a_missing_file_is_named(call):
    output = call("Edit", path="none", old_string="a", new_string="b")
    assert output.is_error and "none does not exist" in output.text


def test_staleness_is_judged_by_content_and_heals_by_reading(call, ws):
    (ws / "f").write_text("a\n")
    call("Read", path="f")
    os.utime(ws / "f", (1, 1))
    assert not call("Edit", path="f", old_string="a", new_string="b").is_error
    with (ws / "f").open("a") as stream:
        stream.write("theirs\n")
    stale = call("Edit", path="f", old_string="b", new_string="c")
    assert stale.is_error and "stale" in stale.text and (ws / "f").read_text() == "b\ntheirs\n"
    call("Read", path="f")
    assert not call("Edit", path="f", old_string="b", new_string="c").is_error
    assert (ws / "f").read_text() == "c\ntheirs\n"


def test_a_file_that_was_never_read_can_be_edited(edit):
    assert not edit(b"a", "a", "b")[0].is_error


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o2644])
def test_the_mode_is_kept(call, ws, mode):
    (ws / "f").write_text("a")
    (ws / "f").chmod(mode)
    call("Edit", path="f", old_string="a", new_string="b")
    assert stat.S_IMODE((ws / "f").stat().st_mode) == mode


def test_links_stay_links_and_hard_links_stay_together(call, ws):
    (ws / "a").write_text("x")
    os.link(ws / "a", ws / "b")
    (ws / "l").symlink_to("a")
    assert call("Edit", path="l", old_string="x", new_string="y").text == "→ Edited l (1 replacement)"
    assert (ws / "l").is_symlink() and (ws / "a").read_text() == (ws / "b").read_text() == "y"


def test_what_would_grow_beyond_the_bound_is_refused(edit, call, ws):
    output, data = edit(b"a" * 4_000_000, "a", "bbbb", replace_all=True)
    assert output.is_error and data == b"a" * 4_000_000
    (ws / "f").write_bytes(b"a" * 6_000_000)
    refused = call("Edit", path="f", old_string="a", new_string="b", replace_all=True)
    assert refused.is_error and "too large" in refused.text


@pytest.mark.parametrize(
    ("data", "old"),
    [
        (b"a\n" * 1_000_000, "a\n" * 500 + "b"),
        (b"  x\n" * 150_000, "x\n" * 400 + "y"),
        (b"\n" * 2_000_000, "\n\nq"),
        (b"ab" * 2_000_000, "ab" * 1000 + "c"),
    ],
)
def test_hostile_inputs_end_soon(edit, data, old):
    output, after = edit(data, old, "z")
    assert output.is_error and after == data


line = st.text(st.sampled_from("ab \tx{}é日"), max_size=6)
eol = st.sampled_from(["\n", "\r\n"])
texts = st.lists(st.tuples(line, eol), max_size=8).map(lambda rows: "".join(a + b for a, b in rows))
encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])


@given(texts, texts, texts, texts, encodings)
@settings(max_examples=examples(300))
def test_only_the_matched_span_ever_changes(before, old, after, new, encoding):
    data = (before + old + after).encode(encoding)
    try:
        result, match = edited(PLACE, data, old, new, replace_all=False)
    except ToolFailed:
        return
    text = decode(data, "f").text
    (span,) = match.spans
    changed = decode(result, "f").text if result else ""
    assert changed == text[: span.start] + span.new + text[span.end :]
    head = text[: span.start].encode(encoding)
    assert result.startswith(head) and text[span.start : span.end] == old


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=4), st.text(max_size=5))
@settings(max_examples=examples(300))
def test_bytes_beside_the_span_never_change(data, piece, new):
    try:
        old = decode(piece, "f").text
        whole = decode(data, "f").text
        result, match = edited(PLACE, data, old, new, replace_all=True)
    except ToolFailed:
        return
    if match.tier != "exact" or "\n" in new or "\r" in new:
        return
    spans = match.spans
    edges = [0, *(edge for span in spans for edge in (span.start, span.end)), len(whole)]
    kept = [whole[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]
    form = decode(data, "f").format
    assert result == form.bom + encode(new, form, "f").removeprefix(form.bom).join(
        encode(part, form, "f").removeprefix(form.bom) for part in kept
    )
