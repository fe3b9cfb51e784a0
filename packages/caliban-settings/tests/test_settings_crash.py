"""A settings file that is saved while everything fails: the old text or the new one, never neither."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from caliban_settings.edit.address import find_key
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import with_value
from caliban_settings.errors import SettingsNotWritten

OLD = "# mine\nmax_turns = 3\n\n[env]\nA = '1'\n"
NEW = OLD.replace("3", "4")
FAULTS = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES]

KILLED = """
import os, signal, sys
from pathlib import Path
from caliban_settings.edit.address import find_key
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import with_value

path, old = Path(sys.argv[1]), sys.argv[2]
with_value("", find_key("max_turns"), 4)  # everything is loaded before the first fork
NAMES = ("open", "write", "fsync", "fchmod", "replace", "rename", "unlink", "close", "read")


def child(last):
    count = 0
    for name in NAMES:
        inner = getattr(os, name)

        def counted(*given, _inner=inner, **more):
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return _inner(*given, **more)

        setattr(os, name, counted)
    file = SettingsFile(scope="user", path=path)
    file.rewrite(lambda text: with_value(text, find_key("max_turns"), 4))
    os._exit(0)


for last in range(1, 100):
    path.write_text(old)
    pid = os.fork()
    if not pid:
        try:
            child(last)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), ascii(path.read_text()))
    if status == 0:
        break
"""

WRITES = """
import sys
from pathlib import Path
from caliban_settings.edit.address import find_key
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import with_value

path, name = Path(sys.argv[1]), sys.argv[2]
for number in range(30):
    address = find_key(f"env.{name}{number}")
    SettingsFile(scope="user", path=path).rewrite(lambda text: with_value(text, address, "x"))
"""


def change(text: str) -> str:
    return with_value(text, find_key("max_turns"), 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "settings.toml"
    place.write_text(OLD)
    return place


@pytest.mark.parametrize("name", ["write", "fsync", "fchmod"])
@pytest.mark.parametrize("code", FAULTS)
def test_a_call_that_fails_leaves_the_old_text_and_nothing_beside_it(path, monkeypatch, name, code):
    def fail(*given, **more):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch, pytest.raises(SettingsNotWritten, match="cannot write"):
        patch.setattr(os, name, fail)
        SettingsFile(scope="user", path=path).rewrite(change)
    assert path.read_text() == OLD
    assert {item.name for item in path.parent.iterdir()} == {"settings.toml", ".settings.toml.lock"}


@pytest.mark.parametrize("code", FAULTS)
def test_a_rename_that_fails_leaves_the_old_text(path, monkeypatch, code):
    def fail(*given, **more):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch, pytest.raises(SettingsNotWritten, match="cannot write"):
        patch.setattr(Path, "replace", fail)
        SettingsFile(scope="user", path=path).rewrite(change)
    assert path.read_text() == OLD
    SettingsFile(scope="user", path=path).rewrite(change)
    assert path.read_text() == NEW


def test_a_write_that_takes_a_few_bytes_at_a_time_is_finished(path, monkeypatch):
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
        SettingsFile(scope="user", path=path).rewrite(change)
    assert path.read_text() == NEW


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_directory_that_takes_no_file_is_named(path, monkeypatch, code):
    opened = os.open

    def fail(name, flags, *more, **rest):
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        return opened(name, flags, *more, **rest)

    with monkeypatch.context() as patch, pytest.raises(SettingsNotWritten, match=r"settings\.toml"):
        patch.setattr(os, "open", fail)
        SettingsFile(scope="user", path=path).rewrite(change)
    assert path.read_text() == OLD


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_writer_killed_between_any_two_calls_leaves_the_old_text_or_the_new_one(path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), OLD], capture_output=True, text=True, check=True
    )
    rows = [line.partition(" ") for line in done.stdout.splitlines()]
    codes, texts = [int(code) for code, _, _ in rows], {text for _, _, text in rows}
    assert codes == [-9] * (len(codes) - 1) + [0] and len(codes) > 8
    assert texts == {ascii(OLD), ascii(NEW)}
    SettingsFile(scope="user", path=path).rewrite(change)  # what was left is in nobody's way


def test_two_writers_lose_nothing(path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITES, str(path), name]) for name in ("LEFT", "RIGHT")
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert path.read_text().startswith("# mine\nmax_turns = 3\n")
    wanted = {f"{name}{number}" for name in ("LEFT", "RIGHT") for number in range(30)}
    assert set(tomllib.loads(path.read_text())["env"]) == {"A", *wanted}


def test_a_writer_that_never_ends_is_named(path, monkeypatch):
    from caliban_settings.edit import file as module

    monkeypatch.setattr(module, "LOCK_TRIES", 2)
    inner = SettingsFile(scope="user", path=path)

    def again(text: str) -> str:
        with pytest.raises(SettingsNotWritten, match="another process has locked"):
            inner.rewrite(change)
        return text

    inner.rewrite(again)
    assert path.read_text() == OLD
