"""Forks: a new session that goes on from another one, which stays as it is."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_common.message import assistant, user
from caliban_common.usage import Usage
from caliban_sessions import (
    ForkOrigin,
    InvalidSessionName,
    SessionCorrupt,
    SessionExists,
    SessionNotFound,
    SessionStore,
    SessionWriteError,
)

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and limits")

FORK_FOR_EVER = """
import os, sys
from pathlib import Path
from caliban_sessions import SessionStore
store = SessionStore(Path(sys.argv[1]))
first = int(sys.argv[2])
for number in range(first, first + 1000):
    session = store.fork("s", f"f{number}")
    os.write(1, b"%d\\n" % number)
"""


def counter() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"id{number}"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    ids = counter()
    start = datetime(2026, 11, 27, 12, tzinfo=UTC)
    ticks = iter(range(10_000))
    return SessionStore(
        tmp_path, clock=lambda: start + timedelta(seconds=next(ticks)), new_id=lambda: next(ids)
    )


def files(directory: Path, name: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob(f"{name}.*"))}


def test_a_fork_goes_on_alone_and_knows_where_it_came_from(store: SessionStore, tmp_path: Path) -> None:
    with store.open("old", provider="p", model="m") as session:
        session.append(user("one"), Usage(input_tokens=7))
        session.append(assistant("two"))
    path = tmp_path / "old.json"
    members = {"plan_mode": True, "todos": [{"id": "1", "content": "x", "status": "pending"}]}
    path.write_text(json.dumps(json.loads(path.read_text()) | members))
    before = store.load("old")
    kept = files(tmp_path, "old")
    with store.fork("old", "new") as session:
        assert session.state == store.load("new")
        session.append(user("three"))
    new = store.load("new")
    assert files(tmp_path, "old") == kept
    assert store.load("old") == before
    assert [message.text for message in new.messages] == ["one", "two", "three"]
    assert new.messages[:2] == before.messages
    assert new.forked_from == ForkOrigin(session="old", id=before.id, entry=before.messages[-1].id)
    assert (new.provider, new.model, new.todos, new.plan_mode) == ("p", "m", before.todos, True)
    assert new.id != before.id
    assert new.created_at > before.updated_at
    assert new.total_usage == Usage()  # what was spent was spent by the old one, and counts once
    stored = json.loads((tmp_path / "new.json").read_text())["messages"]
    assert [entry["parent"] for entry in stored] == [None, stored[0]["id"], stored[1]["id"]]


def test_a_list_and_a_fork_of_a_fork_tell_the_nearest_origin(store: SessionStore) -> None:
    with store.open("a") as session:
        session.append(user("one"))
    with store.fork("a", "b") as session:
        session.append(user("two"))
    store.fork("b", "c").close()
    heads = {head.name: head.forked_from for head in store.list()}
    a, b = store.load("a"), store.load("b")
    assert heads == {
        "a": None,
        "b": ForkOrigin(session="a", id=a.id, entry=a.messages[-1].id),
        "c": ForkOrigin(session="b", id=b.id, entry=b.messages[-1].id),
    }


def test_a_session_that_is_open_can_be_forked_as_it_stands_on_disk(
    store: SessionStore, tmp_path: Path
) -> None:
    with store.open("old") as session:
        session.append(user("one"))
        with store.fork("old", "new") as fork:
            session.append(user("only in the old one"))
            fork.append(user("only in the new one"))
        assert not (tmp_path / "old.json").exists()
    assert [message.text for message in store.load("old").messages] == ["one", "only in the old one"]
    assert [message.text for message in store.load("new").messages] == ["one", "only in the new one"]


def test_a_torn_tail_of_the_old_session_is_left_there(store: SessionStore, tmp_path: Path) -> None:
    session = store.open("old")
    session.append(user("one"))
    session.append(user("two"))
    journal = tmp_path / "old.journal"
    torn = journal.read_bytes()[:-9]
    journal.write_bytes(torn)
    with store.fork("old", "new") as fork:
        assert [message.text for message in fork.state.messages] == ["one"]
        assert fork.state.warnings == ()
    assert journal.read_bytes() == torn
    session.close()


def test_the_members_of_an_older_file_and_messages_without_ids_are_taken_along(
    store: SessionStore, tmp_path: Path
) -> None:
    text = '{"title": "T", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}'
    (tmp_path / "old.json").write_text(text)
    store.fork("old", "new").close()
    document = json.loads((tmp_path / "new.json").read_text())
    assert document["title"] == "T"
    assert document["forked_from"] == {"session": "old", "id": "old", "entry": "m1"}
    assert (tmp_path / "old.json").read_text() == text


def test_an_empty_session_can_be_forked(store: SessionStore) -> None:
    with store.open("old", provider="p") as session:
        session.note(model="m")
    with store.fork("old", "new") as fork:
        assert fork.state.messages == ()
        assert fork.state.forked_from == ForkOrigin(session="old", id=store.load("old").id, entry=None)


@pytest.mark.parametrize("kind", ["json", "journal"])
def test_a_taken_name_is_refused_and_left_alone(store: SessionStore, tmp_path: Path, kind: str) -> None:
    store.open("old").close()
    with store.open("old") as session:
        session.append(user("one"))
    taken = tmp_path / f"new.{kind}"
    taken.write_bytes(b"anything")
    with pytest.raises(SessionExists, match="'new' already"):
        store.fork("old", "new")
    with pytest.raises(SessionExists):
        store.fork("old", "old")
    assert taken.read_bytes() == b"anything"
    assert not (tmp_path / "new.lock").exists()


def test_what_cannot_be_forked_leaves_nothing_behind(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    with store.open("old") as session:
        session.append(user("one"))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SessionNotFound):
        store.fork("gone", "new")
    with pytest.raises(SessionCorrupt):
        store.fork("bad", "new")
    for name in ("../x", "", "a b"):
        with pytest.raises(InvalidSessionName):
            store.fork("old", name)
        with pytest.raises(InvalidSessionName):
            store.fork(name, "new")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("raw", ["x", 5, None, {}, {"session": 1, "id": "a"}, {"session": "a"}, [[[[]]]]])
def test_an_origin_that_is_none_is_left_out(store: SessionStore, tmp_path: Path, raw: object) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"forked_from": raw, "messages": []}))
    assert store.load("s").forked_from is None
    assert [head.forked_from for head in store.list()] == [None]


@posix
def test_a_full_disk_makes_no_fork(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("old") as session:
        session.append(user("x" * 5000))
    before = files(tmp_path, "old")
    code = (
        "import resource, signal, sys; from pathlib import Path; from caliban_sessions import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))\n"
        "try: SessionStore(Path(sys.argv[1])).fork('old', 'new')\n"
        "except SessionWriteError as error: print(error.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, timeout=HANG_S)
    assert b"session 'old' cannot be forked" in done.stdout, done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_directory_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("old") as session:
        session.append(user("x"))
    (tmp_path / "new.lock").mkdir()
    with pytest.raises(SessionWriteError, match=r"new\.lock"):
        store.fork("old", "new")


@posix
def test_a_kill_at_any_instant_leaves_a_whole_fork_or_none(tmp_path: Path) -> None:
    chance = random.Random(11)
    store = SessionStore(tmp_path)
    with store.open("s") as session:
        for number in range(60):
            session.append(user(f"{number} " + "x" * 2000))
    whole = store.load("s").messages
    before = files(tmp_path, "s")
    for round in range(12):
        command = [sys.executable, "-c", FORK_FOR_EVER, str(tmp_path), str(round * 1000)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as child:
            assert child.stdout is not None
            acknowledged = [int(child.stdout.readline())]
            timer = threading.Timer(chance.random() * 0.01, child.kill)
            timer.start()
            acknowledged += [int(line) for line in child.stdout.read().splitlines()]
            timer.join()
        names = {head.name for head in store.list()} - {"s"}
        assert {f"f{number}" for number in acknowledged} <= names
        for name in names:
            state = store.load(name)
            assert (state.messages, state.warnings) == (whole, ())
            assert state.forked_from is not None
        for path in tmp_path.glob("f*"):
            path.unlink()
        if round == 11:  # the next one of that name clears away what a killed one left half-written
            left = next(iter(tmp_path.glob(".f*.tmp")), None)
            name = left.name.split(".")[1] if left else "f1"
            store.fork("s", name).close()
            assert not list(tmp_path.glob(f".{name}.*"))
    assert files(tmp_path, "s") == before
