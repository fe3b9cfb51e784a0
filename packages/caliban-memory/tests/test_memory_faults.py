"""Writers of notes and approvals that die, and disks that refuse, at each system call: old or new stays."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from caliban_memory import MemoryFailed, Topic, TopicMissing, Topics
from caliban_memory.approvals import ImportApproval, ImportApprovals

CALLS = ("open", "close", "write", "fsync", "fdatasync", "rename", "replace", "unlink", "mkdir", "fchmod")
REFUSING = ("open", "write", "fsync", "rename", "replace", "mkdir")
OLD = Topic(name="build", description="make", type="project", body="Use make.")
NEW = Topic(name="build", description="ninja", type="project", body="Use ninja.")
APPROVED = ImportApproval(root="/p", target="/a.md", sha256="a" * 64, approved_at="")
FRESH = ImportApproval(root="/p", target="/a.md", sha256="b" * 64, approved_at="")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def kept(folder: Path) -> str:
    """What a reader finds: the description of the note."""
    topics = Topics(folder)
    assert topics.broken() == ()
    return "".join(topic.description for topic in topics.list())


def approved(folder: Path) -> str:
    return "".join(one.sha256[:1] for one in ImportApprovals(folder / "list.json").load())


OPERATIONS: dict[
    str, tuple[Callable[[Path], object], Callable[[Path], object], Callable[[Path], str], str, str]
]
OPERATIONS = {
    "first note": (lambda f: None, lambda f: Topics(f).write(OLD), kept, "", "make"),
    "another text": (lambda f: Topics(f).write(OLD), lambda f: Topics(f).write(NEW), kept, "make", "ninja"),
    "removal": (lambda f: Topics(f).write(OLD), lambda f: Topics(f).delete("build"), kept, "make", ""),
    "first approval": (
        lambda f: None,
        lambda f: ImportApprovals(f / "list.json").keep([APPROVED]),
        approved,
        "",
        "a",
    ),
    "another approval": (
        lambda f: ImportApprovals(f / "list.json").keep([APPROVED]),
        lambda f: ImportApprovals(f / "list.json").keep([FRESH]),
        approved,
        "a",
        "b",
    ),
    "revocation": (
        lambda f: ImportApprovals(f / "list.json").keep([APPROVED]),
        lambda f: ImportApprovals(f / "list.json").revoke(Path("/p")),
        approved,
        "a",
        "",
    ),
}


def ended(work: Callable[[], object], place: int, fault: str) -> int:
    """Do `work` in a child whose system call number `place` is its last, or refused; how the child ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code, number = 99, 0
    try:

        def faulty(name: str) -> Callable[..., object]:
            real = getattr(os, name)

            def call(*args: object, **options: object) -> object:
                nonlocal number
                number += 1
                if number == place and fault == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                if number >= place and fault != "kill" and name in REFUSING:
                    raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))
                return real(*args, **options)

            return call

        for name in CALLS:
            setattr(os, name, faulty(name))
        try:
            work()
            code = 0 if number < place else 1
        except MemoryFailed:
            code = 2
    finally:
        os._exit(code)
    raise AssertionError


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("fault", ["kill", "ENOSPC", "EROFS"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_write_that_is_cut_off_anywhere_leaves_the_old_or_the_new(
    tmp_path: Path, name: str, fault: str
) -> None:
    before, work, seen, old, new = OPERATIONS[name]
    place, goes_on, outcomes = 0, True, set()
    while goes_on:
        place += 1
        folder = tmp_path / str(place)
        before(folder)
        status = ended(lambda folder=folder: work(folder), place, fault)
        goes_on = status != 0
        is_known = os.WIFSIGNALED(status) if fault == "kill" else os.waitstatus_to_exitcode(status) in (1, 2)
        assert is_known or not goes_on
        outcomes.add(seen(folder))
        assert outcomes <= {old, new}
        with suppress(TopicMissing):  # whoever comes next can do it, or finds it done
            work(folder)
        assert seen(folder) == new
        shutil.rmtree(folder)
    assert outcomes == {old, new} and place > 3
