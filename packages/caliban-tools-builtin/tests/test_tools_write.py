"""Write: the whole content, and nothing lost of how the file was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from caliban_common.errors import CalibanError
from caliban_tools_builtin.fence import Fence
from caliban_tools_builtin.fs import named
from caliban_tools_builtin.fs.file import load, store


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_written_as_it_stands_with_mode_0644(call, ws):
    assert call("Write", path="a/b/c.txt", content="é\nx\n").text == "→ Wrote a/b/c.txt (5 bytes)"
    assert (ws / "a/b/c.txt").read_bytes() == "é\nx\n".encode()
    assert mode_of(ws / "a/b/c.txt") == 0o644


def test_a_new_file_respects_a_stricter_umask(call, ws):
    old = os.umask(0o077)
    try:
        call("Write", path="a.txt", content="x")
    finally:
        os.umask(old)
    assert mode_of(ws / "a.txt") == 0o600


def test_byte_order_mark_and_crlf_of_an_existing_file_are_kept(call, ws):
    (ws / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    call("Write", path="a.txt", content="one\ntwo\nthree\n")
    assert (ws / "a.txt").read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n"
    call("Write", path="a.txt", content="\ufeffone\r\ntwo\n")
    assert (ws / "a.txt").read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_stays_utf16(call, ws, encoding):
    (ws / "a.txt").write_bytes(("\ufeff" + "héllo\n").encode(encoding))
    call("Write", path="a.txt", content="né\n")
    assert (ws / "a.txt").read_bytes() == "\ufeffné\n".encode(encoding)


def test_an_old_encoding_is_kept_where_it_can_express_the_text(call, ws):
    (ws / "a.txt").write_bytes("é".encode("cp1252"))
    call("Write", path="a.txt", content="ü€")
    assert (ws / "a.txt").read_bytes() == "ü€".encode("cp1252")
    refused = call("Write", path="a.txt", content="日本")
    assert refused.is_error and "windows-1252" in refused.text
    assert (ws / "a.txt").read_bytes() == "ü€".encode("cp1252")


def test_mixed_line_ends_and_binary_files_set_no_format(call, ws):
    (ws / "mixed").write_bytes(b"a\r\nb\n")
    (ws / "binary").write_bytes(b"\0\1\r\n")
    for name in ("mixed", "binary"):
        call("Write", path=name, content="a\nb\n")
        assert (ws / name).read_bytes() == b"a\nb\n"


def test_the_json_text_is_decoded_once_and_never_again(call, ws):
    call("Write", path="a.py", content='print("Hello\\nworld")\n')
    assert (ws / "a.py").read_bytes() == b'print("Hello\\nworld")\n'


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o640, 0o4755])
def test_the_mode_of_an_existing_file_is_kept(call, ws, mode):
    (ws / "a").write_text("x")
    (ws / "a").chmod(mode)
    call("Write", path="a", content="y")
    assert ((ws / "a").read_text(), mode_of(ws / "a")) == ("y", mode)


def test_a_link_stays_a_link(call, ws):
    (ws / "real.txt").write_text("x")
    (ws / "link.txt").symlink_to("real.txt")
    (ws / "chain.txt").symlink_to("link.txt")
    (ws / "sub").mkdir()
    (ws / "alias").symlink_to("sub")
    (ws / "sub" / "up.txt").symlink_to("../real.txt")
    for name, content in (("link.txt", "1"), ("chain.txt", "2"), ("alias/up.txt", "3")):
        assert call("Write", path=name, content=content).text.startswith(f"→ Wrote {name} (1 bytes)")
        assert (ws / "real.txt").read_text() == content
        assert (ws / name).is_symlink()


def test_a_dangling_link_inside_the_workspace_creates_its_target(call, ws):
    (ws / "link.txt").symlink_to("new/real.txt")
    call("Write", path="link.txt", content="x")
    assert (ws / "link.txt").is_symlink() and (ws / "new/real.txt").read_text() == "x"


def test_both_names_of_a_hard_linked_file_see_the_content(call, ws):
    (ws / "a").write_text("long old content")
    os.link(ws / "a", ws / "b")
    call("Write", path="a", content="new")
    assert (ws / "a").read_text() == (ws / "b").read_text() == "new"
    assert (ws / "a").stat().st_ino == (ws / "b").stat().st_ino


def test_a_file_that_changed_since_it_was_read_is_not_written_over(call, ws):
    (ws / "a").write_text("1\n")
    call("Read", path="a")
    (ws / "a").write_text("2\n")
    refused = call("Write", path="a", content="3\n")
    assert refused.is_error and "stale" in refused.text and (ws / "a").read_text() == "2\n"
    call("Read", path="a")
    assert not call("Write", path="a", content="3\n").is_error


def test_a_file_that_was_deleted_since_it_was_read_is_created_again(call, ws):
    (ws / "a").write_text("1\n")
    call("Read", path="a")
    (ws / "a").unlink()
    assert not call("Write", path="a", content="3\n").is_error


def test_a_directory_or_a_pipe_is_never_written(call, ws):
    (ws / "d").mkdir()
    os.mkfifo(ws / "p")
    assert "is a directory" in call("Write", path="d", content="x").text
    assert "not a regular file" in call("Write", path="p", content="x").text
    (ws / "f").write_text("")
    assert call("Write", path="f/x", content="x").is_error


def test_nothing_but_the_file_is_left_behind(call, ws):
    (ws / "a").write_text("1")
    call("Write", path="a", content="2")
    call("Write", path="b", content="2")
    assert sorted(path.name for path in ws.iterdir()) == ["a", "b"]


def test_half_a_character_is_refused(call, ws):
    refused = call("Write", path="a", content="x\ud800")
    assert refused.is_error and "not valid Unicode" in refused.text and not (ws / "a").exists()


def test_a_new_file_that_appeared_meanwhile_is_not_replaced(ws):
    place = Fence(ws, restrict=True).admit("a")
    assert load(place, max_bytes=10) is None
    (ws / "a").write_text("theirs")
    with pytest.raises(CalibanError, match="changed while"):
        store(place, b"mine", old=None)
    assert (ws / "a").read_text() == "theirs"


def test_extended_attributes_are_kept(call, ws):
    (ws / "a").write_text("1")
    try:
        os.setxattr(ws / "a", "user.origin", b"here")
    except OSError:
        pytest.skip("no extended attributes on this file system")
    call("Write", path="a", content="2")
    assert os.getxattr(ws / "a", "user.origin") == b"here"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_write_protected_file_is_refused(call, ws):
    (ws / "a").write_text("1")
    (ws / "a").chmod(0o444)
    assert "write-protected" in call("Write", path="a", content="2").text


def test_the_way_without_handles_keeps_mode_and_notices_links(ws):
    place = Fence(ws, restrict=True).admit("d/a")
    assert named.load(place, max_bytes=10) is None
    named.store(place, b"1", exists=False)
    assert mode_of(ws / "d/a") == 0o644
    (ws / "d/a").chmod(0o755)
    named.store(place, b"2", exists=True)
    read = named.load(place, max_bytes=10)
    assert read is not None and read[0] == b"2" and mode_of(ws / "d/a") == 0o755
    (ws / "d").rename(ws / "e")
    (ws / "d").symlink_to("e")
    with pytest.raises(CalibanError, match="replaced by a link"):
        named.store(place, b"3", exists=True)


def test_a_name_that_ends_like_a_directory_is_no_file(call, ws):
    output = call("Write", path="new/", content="x")
    assert output.is_error and "new is written as a directory" in output.text
    assert not (ws / "new").exists()
