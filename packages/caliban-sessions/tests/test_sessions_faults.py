"""Processes that die, and disks that refuse, at each system call of a save: old or new content stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_sessions.journal import values_in

posix = pytest.mark.skipif(os.name != "posix", reason="needs fork")

PROGRAM = '''
import errno, json, os, shutil, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from caliban_common.message import ImageBlock, Message, TextBlock, assistant, user
from caliban_sessions import SessionError, SessionState, SessionStore, journal

CALLS = ("open", "write", "fsync", "fdatasync", "replace", "rename", "unlink", "mkdir", "rmdir", "fchmod")
os.fsync = os.fdatasync = lambda descriptor: None  # a process that dies loses nothing by this
journal._sync = os.fdatasync
image = ImageBlock.of("image/png", "aGVsbG8=")
root, operation, fault = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def begin(store):
    with store.open("s", provider="p", model="m") as session:
        session.append(Message(role="user", content=(TextBlock(text="zero"), image)))
        session.append(user("one"))
        session.replace((user("summary"), session.state.messages[1]))
    if operation == "fold":
        session = store.open("s")
        session.append(assistant("two"))
        session._journal.close(); session._lock.release()  # as a process leaves it that is killed

def append(store):
    with store.open("s") as session: session.append(assistant("two"))
def fold(store):
    with store.open("s") as session: session.append(user("three"))
def label(store):
    with store.open("s") as session: session.describe(title="T", labels=("a", "b"))
def replace(store):
    with store.open("s") as session: session.replace((user("all of it"),))
def fork(store): store.fork("s", "t").close()
def rename(store): store.rename("s", "t")
def remove(store): store.remove("s")
def create(store):
    now = datetime.now(UTC)
    store.create(SessionState(name="t", id="", created_at=now, updated_at=now,
                              messages=(Message(role="user", content=(TextBlock(text="n"), image)),)))

def arm(at):
    """Let the call number `at` be the last, or fail; says how many there were."""
    count = [0]
    def wrapped(name, real):
        def call(*args, **kwargs):
            count[0] += 1
            if count[0] == at:
                if fault == "torn" and name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                if fault in ("kill", "torn"):
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))
            return real(*args, **kwargs)
        return call
    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))
    journal._sync = os.fdatasync
    return count

def state(store):
    seen = {}
    for name in ("s", "t"):
        if store.exists(name):
            loaded = store.load(name)
            store.open(name).close()
            whole = [entry.message.text for entry in store.entries(name)[1]]
            images = sum(isinstance(b, ImageBlock) for e in store.entries(name)[1] for b in e.message.content)
            seen[name] = [[m.text for m in loaded.messages], loaded.title, list(loaded.labels), whole, images]
    listed = sorted(head.name for head in store.list() if not head.problem)
    assert listed == sorted(seen), (listed, seen)
    return seen

def run(at):
    shutil.rmtree(root, ignore_errors=True)
    store = SessionStore(root)
    begin(store)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        count = arm(at)
        said = "done"
        try:
            globals()[operation](store)
        except SessionError as error:
            said = type(error).__name__
        done = count[0]
        import posix
        posix.write(writer, json.dumps([said, done]).encode())
        posix._exit(0)
    os.close(writer)
    told = b""
    while part := os.read(reader, 4096): told += part
    os.close(reader)
    os.waitpid(child, 0)
    return json.loads(told) if told else ["killed", at], state(store)

outcomes = []
at = 1
while True:
    told, seen = run(at)
    outcomes.append([told[0], seen])
    if told[0] != "killed" and told[1] < at:
        break
    at += 1
print(json.dumps(outcomes))
'''

ZERO = ["zero", "one"]
OLD = [["summary", "one"], "", [], ZERO, 1]
TWO = [["summary", "one", "two"], "", [], [*ZERO, "two"], 1]

AFTER: dict[str, tuple[Any, ...]] = {
    "append": ({"s": OLD}, {"s": TWO}),
    "fold": ({"s": TWO}, {"s": [[*TWO[0], "three"], "", [], [*TWO[3], "three"], 1]}),
    "label": ({"s": OLD}, {"s": [OLD[0], "T", ["a", "b"], ZERO, 1]}),
    "fork": ({"s": OLD}, {"s": OLD, "t": [OLD[0], "", [], OLD[0], 0]}),
    "rename": ({"s": OLD}, {"s": OLD, "t": OLD}, {"t": OLD}),
    "remove": ({"s": OLD}, {}),
    "create": ({"s": OLD}, {"s": OLD, "t": [["n"], "", [], ["n"], 1]}),
}


def outcomes(tmp_path: Path, operation: str, fault: str) -> list[tuple[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "sessions"), operation, fault],
        capture_output=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [(end, seen) for end, seen in json.loads(done.stdout)]


@pytest.mark.long(keep=3)
@posix
@pytest.mark.parametrize("fault", ["kill", "torn"])
@pytest.mark.parametrize("operation", AFTER)
def test_a_kill_before_any_system_call_leaves_the_old_or_the_new(
    tmp_path: Path, operation: str, fault: str
) -> None:
    seen = outcomes(tmp_path, operation, fault)
    assert len(seen) > 5
    assert [end for end, _ in seen] == ["killed"] * (len(seen) - 1) + ["done"]
    for number, (_, state) in enumerate(seen, 1):
        assert state in AFTER[operation], f"killed before call {number}"
    assert seen[0][1] == AFTER[operation][0]
    assert seen[-1][1] == AFTER[operation][-1]


@pytest.mark.long(keep=3)
@posix
@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("operation", AFTER)
def test_a_disk_that_refuses_any_system_call_leaves_the_old_or_the_new_and_says_so(
    tmp_path: Path, operation: str, fault: str
) -> None:
    seen = outcomes(tmp_path, operation, fault)
    for number, (end, state) in enumerate(seen, 1):
        assert end in ("done", "SessionWriteError", "SessionUnreadable"), f"call {number}: {end}"
        assert state in AFTER[operation], f"call {number} failed"
        if end == "done":
            assert state == AFTER[operation][-1], f"call {number} failed in silence"
    assert any(outcome == "SessionWriteError" for outcome, _ in seen)


class CopiedText(str):
    """A text that counts how many characters are copied out of it."""

    copied = 0

    def __getitem__(self, place: Any) -> str:
        part = CopiedText(super().__getitem__(place))
        CopiedText.copied += len(part)
        return part

    def lstrip(self, chars: str | None = None) -> str:
        return CopiedText(super().lstrip(chars))


def test_objects_that_were_glued_into_one_line_are_not_copied_for_each_other() -> None:
    text = CopiedText("{} \t" * 500)
    CopiedText.copied = 0
    assert values_in(text) == ([{}] * 500, True)
    assert CopiedText.copied < 2 * len(text)
    assert values_in('{"a": 1}{"b": NaN} [') == ([{"a": 1}, {"b": None}], False)
