"""Whoever is killed between two system calls leaves every file old or new, and a store that loads."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from checkpoint_kit import Bench, tree

CALLS = (
    *("open", "close", "read", "write", "pwrite", "rename", "replace", "link", "unlink", "mkdir", "rmdir"),
    *("symlink", "fchmod", "ftruncate", "stat", "fstat"),
)
FAILING = ("open", "write", "pwrite", "rename", "replace", "mkdir")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def counted(work: Callable[[], object], at: Callable[[int, str], None]) -> int:
    """Do `work` in a child whose system calls are announced to `at` by number; the status it ended with."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = 99
    try:
        number = 0

        def announced(name: str) -> Callable[..., object]:
            real = getattr(os, name)

            def call(*args: object, **options: object) -> object:
                nonlocal number
                number += 1
                at(number, name)
                return real(*args, **options)

            return call

        for name in CALLS:
            setattr(os, name, announced(name))
        work()
        code = 0
    finally:
        os._exit(code)
    raise AssertionError


def kill_at(place: int) -> Callable[[int, str], None]:
    def at(number: int, name: str) -> None:
        if number == place:
            os.kill(os.getpid(), signal.SIGKILL)

    return at


def full_from(place: int) -> Callable[[int, str], None]:
    def at(number: int, name: str) -> None:
        if number >= place and name in FAILING:
            raise OSError(errno.ENOSPC, "no space left on device")

    return at


def fresh(tmp_path: Path, number: int, make: Callable[[Bench], None]) -> Bench:
    home = tmp_path / f"t{number}"
    (home / "work").mkdir(parents=True)
    bench = Bench(home / "root", home / "work")
    make(bench)
    return bench


def begun(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"old")
    bench.prompt()
    bench.write("other", b"x")


def replaced(path: Path) -> None:
    twin = path.with_name("twin")
    twin.write_bytes(b"new")
    twin.rename(path)


def test_a_capture_that_is_killed_anywhere_leaves_the_old_file_or_the_new_one_and_can_be_gone_back_from(
    tmp_path: Path,
) -> None:
    number, is_killed = 0, True
    kinds: set[str] = set()
    while is_killed:
        number += 1
        bench = fresh(tmp_path, number, begun)
        bench.prompt()
        status = counted(lambda bench=bench: bench.edit("a", replaced), kill_at(number))
        is_killed = os.WIFSIGNALED(status)
        assert is_killed or status == 0
        (bench.work / "twin").unlink(missing_ok=True)
        assert (bench.work / "a").read_bytes() in (b"old", b"new")
        bench.manifests()  # every one of them can be read
        if not any(manifest.prompt_index == 2 for manifest in bench.manifests()):
            assert (bench.work / "a").read_bytes() == b"old"
            shutil.rmtree(bench.work.parent)
            continue
        for step in bench.plan(2):
            kinds.add(step.kind)
            assert step.kind != "conflict" or step.reason.startswith("a run was killed")
        bench.go_back(2, force=True)
        assert (bench.work / "a").read_bytes() == b"old"
        bench.restart()
        bench.prompt()
        bench.write("a", b"newer")
        assert not list(bench.place.rglob("*.tmp"))
        shutil.rmtree(bench.work.parent)
    assert number > 30 and kinds >= {"unchanged", "conflict", "restore"}


def changed(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"old")
    (bench.work / "gone").write_bytes(b"there")
    bench.prompt()
    bench.write("a", b"new")
    bench.write("d/made", b"made")
    bench.edit("gone", lambda path: path.unlink())


@pytest.mark.long
def test_going_back_that_is_killed_anywhere_leaves_each_file_old_or_new_and_can_be_finished(
    tmp_path: Path,
) -> None:
    number, is_killed = 0, True
    while is_killed:
        number += 1
        bench = fresh(tmp_path, number, changed)
        status = counted(lambda bench=bench: bench.go_back(1), kill_at(number))
        is_killed = os.WIFSIGNALED(status)
        assert is_killed or status == 0
        for leftover in bench.work.glob(".caliban-*.tmp"):
            leftover.unlink()
        assert (bench.work / "a").read_bytes() in (b"old", b"new")
        gone, made = bench.work / "gone", bench.work / "d" / "made"
        assert not gone.exists() or gone.read_bytes() == b"there"
        assert not made.exists() or made.read_bytes() == b"made"
        bench.go_back(1)
        (bench.work / "d").is_dir() and (bench.work / "d").rmdir()
        assert tree(bench.work) == {"a": (0o644, b"old"), "gone": (0o644, b"there")}
        shutil.rmtree(bench.work.parent)
    assert number > 60


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("place", range(1, 60, 3))
def test_a_full_disk_leaves_each_file_old_or_new_whether_captured_or_put_back(
    tmp_path: Path, place: int
) -> None:
    bench = fresh(tmp_path, 1, changed)
    before = tree(bench.work)
    counted(lambda: bench.go_back(1), full_from(place))
    after = tree(bench.work)
    assert after["a"] in (before["a"], (0o644, b"old"))
    assert after.get("gone") in (None, (0o644, b"there"))
    assert not list(bench.work.glob(".caliban-*"))
    bench.go_back(1)
    assert (bench.work / "a").read_bytes() == b"old"


def test_a_command_that_is_killed_is_told_of(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"old")
    bench.prompt()

    def change(work: Path) -> None:
        (work / "a").write_bytes(b"new")
        os.kill(os.getpid(), signal.SIGKILL)

    status = counted(lambda: bench.command(change), lambda number, name: None)
    assert os.WIFSIGNALED(status)
    [manifest] = bench.manifests()
    assert manifest.running == ("t",)
