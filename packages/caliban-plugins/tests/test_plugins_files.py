"""Paths, trees and archives: what is taken is inside, clean and bounded, for any input."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.errors import CalibanError
from caliban_plugins import ArchiveRefused, PluginPathRefused, TreeRefused, read_tree, tree_digest, unpack
from caliban_plugins.paths import folded, inner_path
from caliban_plugins.tree import MAX_FILES, copy_tree, read_file, tree_stamp, write_file

PART = st.text(min_size=0, max_size=12)
NASTY = st.sampled_from(
    [
        "..",
        ".",
        "",
        "~",
        "a",
        "A",
        "é",
        "é",
        "con",
        "NUL.txt",
        "a.",
        "a ",
        " a",
        ".git",
        ".GIT",
        "GIT~1",
        "a\\b",
        "c:",
        "a\x00b",
        "\u202e",
        "a" * 130,
        "ﬁ",
        "fi",
    ]
)
PATHS = st.lists(PART | NASTY, max_size=5).map("/".join)


@given(PATHS)
def test_a_path_that_is_taken_stays_inside_and_is_its_own_spelling(text: str) -> None:
    try:
        path = inner_path(text)
    except PluginPathRefused:
        return
    assert inner_path(path) == path
    assert not path.startswith("/") and path == os.path.normpath(path).replace(os.sep, "/")
    place = Path("/root/plugin")
    assert Path(os.path.normpath(place / path)).is_relative_to(place)
    assert not {"..", ".", ".git"} & {part.lower() for part in path.split("/")}
    assert path.isprintable() and "\\" not in path and ":" not in path


@given(PATHS, PATHS)
def test_two_names_that_are_one_somewhere_are_folded_to_one(one: str, other: str) -> None:
    if one.casefold() == other.casefold():
        assert folded(one) == folded(other)
    assert folded(folded(one)) == folded(one)


@pytest.mark.parametrize("text", ["a", "./a/b", "a/", "sk ills/ü.md", "a.b-c_d", "..a/b..c", "...x"])
def test_usual_paths_are_taken(text: str) -> None:
    assert inner_path(text) == text.removeprefix("./").rstrip("/")


@given(
    st.dictionaries(st.sampled_from(["a", "b/c", "b/d", "e.sh"]), st.binary(max_size=40), max_size=4),
    st.data(),
)
def test_the_digest_is_that_of_every_byte_and_bit(files: dict[str, bytes], data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root, copy = Path(folder) / "x", Path(folder) / "y"
        root.mkdir()
        for path, content in files.items():
            write_file(root, path, content, executable=path.endswith(".sh"))
        digest = tree_digest(read_tree(root))
        copy.mkdir()
        assert tree_digest(copy_tree(root, copy)) == digest == tree_digest(read_tree(copy))
        if files:
            name = data.draw(st.sampled_from(sorted(files)))
            before = tree_stamp(copy)
            with (copy / name).open("ab") as file:
                file.write(b"!")
            assert tree_digest(read_tree(copy)) != digest
            assert tree_stamp(copy) != before
            (copy / name).write_bytes(files[name])
            (copy / name).chmod(0o644 if name.endswith(".sh") else 0o755)
            assert tree_digest(read_tree(copy)) != digest


def test_a_tree_has_files_and_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").write_text("a")
    (tmp_path / "x" / ".git").mkdir()
    (tmp_path / "x" / ".git" / "config").write_text("left")
    assert [file.path for file in read_tree(tmp_path / "x")] == ["a"]
    (tmp_path / "x" / "l").symlink_to("a")
    with pytest.raises(TreeRefused, match="is a link"):
        read_tree(tmp_path / "x")
    (tmp_path / "x" / "l").unlink()
    os.mkfifo(tmp_path / "x" / "f")
    with pytest.raises(TreeRefused, match="pipe"):
        read_tree(tmp_path / "x")
    (tmp_path / "x" / "f").unlink()
    (tmp_path / "l").symlink_to("x")
    with pytest.raises(TreeRefused, match="is a link"):
        read_tree(tmp_path / "l")
    (tmp_path / "x" / "A").write_text("A")
    with pytest.raises(TreeRefused, match="one file on some systems"):
        read_tree(tmp_path / "x")


def test_no_link_on_the_way_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "d").symlink_to("..")
    (tmp_path / "x" / "f").symlink_to("../secret")
    for path in ("d/secret", "f", "../secret"):
        with pytest.raises(CalibanError):
            read_file(tmp_path / "x", path)


def tar(*members: tuple[str, bytes], mode: str = "w") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
def test_an_archive_becomes_files(tmp_path: Path, mode: str) -> None:
    unpack(tar(("./a", b"1"), ("b/c", b"2"), mode=mode), tmp_path / "x")
    assert {file.path for file in read_tree(tmp_path / "x")} == {"a", "b/c"}
    assert (tmp_path / "x" / "b" / "c").read_bytes() == b"2"


def test_a_zip_becomes_files_and_no_links(tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a/", "")
        archive.writestr("a/b", "1")
    unpack(data.getvalue(), tmp_path / "x")
    assert (tmp_path / "x" / "a" / "b").read_text() == "1"
    for mode in (0o120777, 0o020666, 0o010666):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            info = zipfile.ZipInfo("l")
            info.create_system, info.external_attr = 3, mode << 16
            archive.writestr(info, "/etc/passwd")
        with pytest.raises(ArchiveRefused, match="a link or a device"):
            unpack(data.getvalue(), tmp_path / oct(mode))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_zip_is_refused_however_it_is_packed(tmp_path: Path, method: int) -> None:
    data, content = io.BytesIO(), bytes(range(256)) * 8
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr("a", content)
    whole, refused = data.getvalue(), 0
    packed = 30 + len("a")  # behind the head of the member
    for at in range(packed, packed + 40):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        try:
            unpack(bytes(damaged), tmp_path / str(at))
        except ArchiveRefused as error:
            refused += 1
            assert "damaged" in error.message
        else:  # some bytes of a packer's own head mean nothing
            assert (tmp_path / str(at) / "a").read_bytes() == content
    assert refused > 20


@pytest.mark.parametrize("start", [b"\xfd7zXZ\x00", b"(\xb5/\xfd", b"7z\xbc\xaf'", b"Rar!x"])
def test_other_archives_are_refused_by_name(tmp_path: Path, start: bytes) -> None:
    with pytest.raises(ArchiveRefused, match="is packed with"):
        unpack(start + bytes(100), tmp_path / "x")


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/b", "A/c"), ("é", "e\u0301")])
def test_no_two_members_are_one_file(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(ArchiveRefused, match=r"twice|one file"):
        unpack(tar(*((name, b"x") for name in names)), tmp_path / "x")


def test_there_are_bounds(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="more than"):
        unpack(tar(*((f"f{number}", b"") for number in range(MAX_FILES + 1))), tmp_path / "x")
    with pytest.raises(ArchiveRefused, match="more than"):
        unpack(tar(("f", bytes(17 << 20)), mode="w:gz"), tmp_path / "y")
    header = tarfile.TarInfo("./PaxHeaders/x")
    header.type, header.size = tarfile.XHDTYPE, 100 << 20  # read whole by who believes it
    packed = gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + bytes(100 << 20), 1)
    with pytest.raises(ArchiveRefused, match="unpacks to more than"):
        unpack(packed, tmp_path / "h")
    with pytest.raises(ArchiveRefused, match="is empty"):
        unpack(tar(), tmp_path / "z")


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh9", b"ustar"]),
)
def test_garbage_is_no_archive(data: bytes, start: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.raises(ArchiveRefused):
        unpack(start + data, Path(folder) / "x")


@given(st.data())
def test_an_archive_with_bytes_changed_is_refused_or_stays_inside(data: st.DataObject) -> None:
    import tempfile

    whole = bytearray(tar(("a", b"1"), ("b/c", b"2")))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, 1600))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(bytes(whole), Path(folder) / "x")
        except ArchiveRefused:
            assert os.listdir(folder) == []
            return
        assert os.listdir(folder) == ["x"]
        for file in read_tree(Path(folder) / "x"):
            assert inner_path(file.path) == file.path
