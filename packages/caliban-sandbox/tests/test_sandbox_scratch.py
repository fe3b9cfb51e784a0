"""The directory in the place of /tmp: it goes with its process, also where that cannot remove it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks of POSIX systems")

HOLDS = """
import sys
from caliban_sandbox.scratch import make_scratch
print(make_scratch().path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path.resolve()


@contextmanager
def holder(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a directory of its own."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    env = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen([sys.executable, "-c", HOLDS], env=env, text=True, **pipes) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_what_a_killed_process_left_goes_with_the_next_and_what_others_use_stays(folder: Path) -> None:
    from caliban_sandbox.scratch import make_scratch

    with holder(folder) as (_, used):
        with holder(folder) as (killed, left):
            (left / "deep").mkdir()
            (left / "deep" / "big").write_bytes(b"x" * 1000)
            killed.kill()
            killed.wait()
        assert left.is_dir()
        own = make_scratch()
        assert {*folder.iterdir()} == {used, Path(own.path)}
        assert Path(own.path).stat().st_mode & 0o777 == 0o700
        own.close()
        assert {*folder.iterdir()} == {used}


def test_links_files_and_other_names_are_no_ones_directory(folder: Path) -> None:
    from caliban_sandbox.scratch import make_scratch

    (folder / "kept").mkdir()
    (folder / "caliban-tmp-link").symlink_to(folder / "kept")
    (folder / "caliban-tmp-file").write_text("mine")
    (folder / "caliban-other").mkdir()
    before = {*folder.iterdir()}
    make_scratch().close()
    assert {*folder.iterdir()} == before


def test_without_locks_nothing_of_others_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    from caliban_sandbox.scratch import make_scratch

    def refuse(*_: object) -> None:
        raise OSError(37, "no locks available")

    (folder / "caliban-tmp-other").mkdir()
    monkeypatch.setattr(fcntl, "flock", refuse)
    own = make_scratch()
    assert own.lock is None
    own.close()
    assert [path.name for path in folder.iterdir()] == ["caliban-tmp-other"]
