from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from caliban_common.errors import FileFailed, NotRegularFile, TooLarge
from caliban_common.files import ensure_private_dir, is_special, read_regular, write_atomic, write_through

posix = pytest.mark.skipif(os.name != "posix", reason="kinds and modes of POSIX files")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_regular_file_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_regular(path, max_bytes=5) == b"12345"
    with pytest.raises(TooLarge, match="has 5 bytes; at most 4"):
        read_regular(path, max_bytes=4)


def test_a_sparse_giant_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "giant"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        read_regular(path, max_bytes=1 << 20)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no procfs")
def test_a_file_that_has_more_than_it_says_is_cut_off_at_the_bound() -> None:
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0
    assert b"Pid:" in read_regular(path, max_bytes=1 << 20)
    with pytest.raises(TooLarge, match="grew above 10 bytes"):
        read_regular(path, max_bytes=10)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileFailed, match=r"cannot read .*no such file") as caught:
        read_regular(tmp_path / "none", max_bytes=1)
    assert caught.value.missing


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_file_can_have_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileFailed, match="no file can have this name"):
        read_regular(tmp_path / name, max_bytes=1)
    with pytest.raises(FileFailed):
        write_atomic(tmp_path / name, b"")
    with pytest.raises(FileFailed):
        ensure_private_dir(tmp_path / name)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotRegularFile, match="is a directory"):
        read_regular(tmp_path, max_bytes=1)


@posix
@pytest.mark.timeout(10)
def test_a_fifo_is_refused_without_waiting_and_without_waking_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(NotRegularFile, match="is a named pipe"):
        read_regular(path, max_bytes=1)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(NotRegularFile):
        read_regular(link, max_bytes=1)


@posix
@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_a_device_is_refused(path: str) -> None:
    with pytest.raises(NotRegularFile, match="is a device"):
        read_regular(Path(path), max_bytes=1)


@posix
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's whole path may have 100 bytes or so
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(NotRegularFile, match="is a socket"):
            read_regular(Path("s"), max_bytes=1)


def test_writing_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"one")
    write_atomic(path, b"2", durable=False)
    assert (path.read_bytes(), names(tmp_path)) == (b"2", ["a"])


@posix
def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        path = tmp_path / "a"
        write_atomic(path, b"")
        assert mode(path) == 0o600
        path.chmod(0o751)
        write_atomic(path, b"x")
        assert mode(path) == 0o751
        write_atomic(path, b"x", mode=0o640)
        assert mode(path) == 0o640
        path.chmod(0o400)
        write_atomic(path, b"y")
        assert (mode(path), path.read_bytes()) == (0o400, b"y")
    finally:
        os.umask(old_mask)


@posix
def test_the_mode_is_what_was_asked_for_under_any_umask(tmp_path: Path) -> None:
    old_mask = os.umask(0o077)
    try:
        write_atomic(tmp_path / "a", b"", mode=0o644)
        assert mode(tmp_path / "a") == 0o644
    finally:
        os.umask(old_mask)


@posix
def test_set_id_bits_do_not_move_to_a_file_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    path.chmod(0o4755)
    write_atomic(path, b"x")
    assert mode(path) == 0o755


@posix
def test_a_link_is_replaced_and_what_it_names_is_untouched(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomic(link, b"new")
    assert (link.is_symlink(), link.read_bytes(), target.read_bytes()) == (False, b"new", b"old")
    assert mode(link) == 0o640
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "none")
    write_atomic(dangling, b"new")
    assert (dangling.read_bytes(), (tmp_path / "none").exists()) == (b"new", False)
    assert read_regular(link, max_bytes=3) == b"new"


def test_a_name_of_255_bytes_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("日" * 85)
    write_atomic(path, b"x")
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize("path", ["folder", "none/a", "file/a", "."])
def test_a_place_where_no_file_can_be_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_bytes(b"")
    with pytest.raises(FileFailed, match="cannot write"):
        write_atomic(Path(path), b"x")
    assert (names(tmp_path), names(tmp_path / "folder")) == (["file", "folder"], [])


FULL_DISK = """
import resource, sys
from pathlib import Path
from caliban_common.errors import FileFailed
from caliban_common.files import write_atomic
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic(Path(sys.argv[1]), b"x" * 5000)
except FileFailed as error:
    print(error)
"""


@posix
def test_a_full_disk_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True)
    assert done.stdout == f"cannot write {path}: file too large\nhint: free some space and try again\n"
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["a"])


@posix
def test_every_missing_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        path = tmp_path / "a" / "b" / "c"
        ensure_private_dir(path)
        ensure_private_dir(path)
        assert [mode(path), mode(path.parent), mode(path.parent.parent)] == [0o700] * 3
        (tmp_path / "open").mkdir(0o755)
        ensure_private_dir(tmp_path / "open" / "d")
        assert mode(tmp_path / "open") == 0o755
    finally:
        os.umask(old_mask)


def test_a_file_in_the_way_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(FileFailed, match="cannot create"):
            ensure_private_dir(path)


@posix
def test_a_pipe_or_a_socket_is_never_replaced_but_can_be_written_to(tmp_path: Path) -> None:
    pipe, listener = tmp_path / "pipe", socket.socket(socket.AF_UNIX)
    os.mkfifo(pipe)
    with listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket"):
            with pytest.raises(NotRegularFile, match="not a regular file"):
                write_atomic(tmp_path / name, b"x")
            assert is_special(tmp_path / name)
        assert names(tmp_path) == ["pipe", "socket"]
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_through(pipe, b"x")
    assert os.read(reading, 9) == b"x"
    os.close(reading)
    with pytest.raises(FileFailed, match="nobody reads it"):
        write_through(pipe, b"x")
    for name in ("socket", "nowhere"):
        with pytest.raises(FileFailed, match="cannot write"):
            write_through(tmp_path / name, b"x")
    assert not is_special(tmp_path / "nowhere") and not is_special(tmp_path)
