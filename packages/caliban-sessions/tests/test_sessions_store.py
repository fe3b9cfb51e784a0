"""The store as a caller sees it: names, opening, resuming, listing."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from caliban_common.message import Message, TextBlock, ToolUseBlock, assistant, user
from caliban_common.usage import Usage
from caliban_sessions import (
    InvalidSessionName,
    SessionNotFound,
    SessionState,
    SessionStore,
    check_name,
    is_name,
)

START = datetime(2026, 11, 27, 12, 0, 0, 123_000, tzinfo=UTC)


class Clock:
    """A clock that moves one second each time it is read."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


class Ids:
    """Ids that count."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"id{self.count}"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", clock=Clock(), new_id=Ids())


def texts(state: SessionState) -> list[str]:
    return [message.text for message in state.messages]


@pytest.mark.parametrize(
    "name",
    ["", "a/b", "..", "a.b", "a b", "a\n", "\n", "a\0", "é", "x" * 65, "../x", ".hidden", "a\\b", "a:b"],
)
def test_a_name_outside_the_grammar_is_refused_everywhere(store: SessionStore, name: str) -> None:
    with pytest.raises(InvalidSessionName) as caught:
        store.open(name)
    assert "1 to 64 letters" in str(caught.value)
    with pytest.raises(InvalidSessionName):
        store.load(name)
    assert not store.exists(name)
    assert not store.directory.exists()


@pytest.mark.parametrize("name", ["a", "A-z_09", "x" * 64])
def test_a_name_of_the_grammar_is_taken_as_it_is(name: str) -> None:
    assert check_name(name) == name
    assert is_name(name)


def test_a_missing_session_is_not_made_when_it_must_exist(store: SessionStore) -> None:
    with pytest.raises(SessionNotFound) as caught:
        store.open("gone", create=False)
    assert "'gone'" in caught.value.message
    with pytest.raises(SessionNotFound):
        store.load("gone")
    assert not store.directory.exists()


def test_a_session_is_one_readable_file_after_close(store: SessionStore) -> None:
    with store.open("work", provider="anthropic", model="claude") as session:
        session.append(user("hi ü → 🌍", id="m1"))
        session.append(assistant("yes", id="m2"), Usage(input_tokens=9, output_tokens=2, cache_read_tokens=5))

    assert sorted(path.name for path in store.directory.iterdir()) == ["work.json"]
    text = (store.directory / "work.json").read_text("utf-8")
    assert text.startswith('{\n  "name": "work",\n  "id": "id1",\n')
    assert "hi ü → 🌍" in text
    usage = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 5}
    assert json.loads(text) == {
        "name": "work",
        "id": "id1",
        "created_at": "2026-11-27T12:00:02.123Z",
        "updated_at": "2026-11-27T12:00:04.123Z",
        "provider": "anthropic",
        "model": "claude",
        "total_usage": usage,
        "spent": {"anthropic/claude": usage},
        "plan_mode": False,
        "message_count": 2,
        "turn_count": 1,
        "preview": "hi ü → 🌍",
        "journal_seq": 3,
        "todos": [],
        "messages": [
            {
                "id": "m1",
                "parent": None,
                "role": "user",
                "content": [{"type": "text", "text": "hi ü → 🌍"}],
                "at": "2026-11-27T12:00:03.123Z",
            },
            {
                "id": "m2",
                "parent": "m1",
                "role": "assistant",
                "content": [{"type": "text", "text": "yes"}],
                "at": "2026-11-27T12:00:04.123Z",
                "usage": usage,
            },
        ],
    }


def test_what_is_resumed_is_what_was_closed_and_can_go_on(store: SessionStore) -> None:
    with store.open("work", provider="p", model="m") as session:
        session.append(user("one"), Usage(input_tokens=1))
        session.note(model="m2")
        session.add_usage(Usage(output_tokens=4))
        closed = session.state
    with store.open("work", create=False, provider="ignored", model="ignored") as session:
        assert session.state == closed
        session.append(assistant("two"))
    state = store.load("work")
    assert (state.provider, state.model) == ("p", "m2")
    assert state.total_usage == Usage(input_tokens=1, output_tokens=4)
    assert texts(state) == ["one", "two"]
    assert state.created_at == closed.created_at < closed.updated_at < state.updated_at


def test_a_session_that_nothing_was_written_to_leaves_no_file(store: SessionStore) -> None:
    with store.open("idle") as session:
        session.note()
        session.add_usage(Usage())
    assert not list(store.directory.iterdir())
    assert not store.exists("idle")


def test_opening_and_closing_leaves_the_file_untouched(store: SessionStore) -> None:
    with store.open("work") as session:
        session.append(user("one"))
    path = store.directory / "work.json"
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
    store.open("work").close()
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_close_is_harmless_twice_and_a_closed_session_takes_nothing(store: SessionStore) -> None:
    session = store.open("work")
    session.append(user("one"))
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.append(user("two"))
    assert texts(store.load("work")) == ["one"]


def test_replacing_the_history_keeps_what_stays_and_archives_what_goes(store: SessionStore) -> None:
    plain = [user(f"q{number}") for number in range(4)]
    with store.open("work") as session:
        for message in plain:
            session.append(message)
        ids = [message.id for message in session.state.messages]
        session.replace((user("summary"), plain[3]))
        state = session.state
        assert texts(state) == ["summary", "q3"]
        assert state.messages[1].id == ids[3]
        journal = (store.directory / "work.journal").read_bytes()
        assert store.load("work") == state
    assert json.loads(journal.splitlines()[-1])["messages"][1] == ids[3], "what stays is named, not repeated"
    archived = [json.loads(line) for line in (store.directory / "work.archive").read_bytes().splitlines()]
    assert [(line["id"], line["content"][0]["text"]) for line in archived] == [
        (ids[0], "q0"),
        (ids[1], "q1"),
        (ids[2], "q2"),
    ]
    document = json.loads((store.directory / "work.json").read_bytes())
    assert document["messages"][0]["parent"] == ids[3], "a summary grew from the last message before it"
    assert store.load("work") == state


def test_a_changed_message_keeps_its_id_and_its_old_form_is_archived(store: SessionStore) -> None:
    with store.open("work") as session:
        session.append(user("long"))
        session.append(assistant("answer"))
        first, second = session.state.messages
        shorter = Message(role="user", content=(TextBlock(text="short"),), id=first.id)
        session.replace((shorter, second))
        assert session.state.messages == (shorter, second)
        session.replace((first, second, second))
        assert texts(session.state) == ["long", "answer", "answer"]
        state = session.state
    assert store.load("work") == state
    archived = [json.loads(line) for line in (store.directory / "work.archive").read_bytes().splitlines()]
    assert [line["content"][0]["text"] for line in archived] == ["long", "short"]


def test_a_file_of_the_original_loads_and_keeps_what_we_do_not_know(store: SessionStore) -> None:
    legacy = {
        "name": "old",
        "created_at": "2026-05-24T12:00:00.123456789Z",
        "updated_at": "2026-05-24T14:00:00+02:00",
        "provider": "anthropic",
        "model": "claude",
        "theme": {"nested": [1, 2]},
        "messages": [
            {
                "role": "system",
                "content": [{"type": "text", "text": "be kind", "cache_control": {"type": "x"}}],
            },
            {"role": "user", "content": [{"type": "text", "text": "hello"}], "pinned": True},
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "blob_ref", "sha256": "ab", "media_type": "image/png"},
                    },
                    {"type": "text", "text": "look"},
                ],
            },
        ],
        "total_usage": {"input_tokens": 7, "output_tokens": 3},
        "plan_mode": True,
    }
    store.directory.mkdir()
    path = store.directory / "old.json"
    path.write_text(json.dumps(legacy), "utf-8")

    state = store.load("old")
    assert state.todos == ()
    assert (state.created_at.isoformat(), state.updated_at.isoformat()) == (
        "2026-05-24T12:00:00.123000+00:00",
        "2026-05-24T12:00:00+00:00",
    )
    assert state.total_usage == Usage(input_tokens=7, output_tokens=3)
    assert state.plan_mode is True
    assert texts(state)[:2] == ["be kind", "hello"]
    assert texts(state)[2].endswith("look")
    assert "[the image ab of this session is lost]" in texts(state)[2]
    assert [warning.rpartition("message 3")[1] for warning in state.warnings] == ["message 3"]

    with store.open("old") as session:
        session.append(assistant("new"))
    document = json.loads(path.read_bytes())
    assert document["theme"] == {"nested": [1, 2]}
    for number, message in enumerate(legacy["messages"]):  # type: ignore[arg-type]
        assert document["messages"][number].items() >= message.items()  # type: ignore[union-attr]
    assert [message["id"] for message in document["messages"][:3]] == ["m1", "m2", "m3"]
    assert document["messages"][3]["parent"] == "m3"


def test_ids_that_repeat_and_parents_that_lead_nowhere_hide_no_message(store: SessionStore) -> None:
    def stored(text: str, **facts: str) -> dict[str, object]:
        return {"role": "user", "content": [{"type": "text", "text": text}], **facts}

    messages = [
        stored("a", id="x", parent="y"),
        stored("b", id="y", parent="x"),
        stored("c", id="x", parent="gone"),
        stored("d", id="m3"),
    ]
    store.directory.mkdir()
    (store.directory / "loop.json").write_text(json.dumps({"messages": messages}), "utf-8")
    state = store.load("loop")
    assert texts(state) == ["a", "b", "c", "d"]
    ids = [message.id for message in state.messages]
    assert len(set(ids)) == 4
    assert ids[:2] == ["x", "y"]
    assert len(state.warnings) == 2


def test_the_file_name_is_the_sessions_name(store: SessionStore) -> None:
    with store.open("one") as session:
        session.append(user("x"))
    document = (store.directory / "one.json").read_bytes()
    (store.directory / "copy.json").write_bytes(document)
    assert store.load("copy").name == "copy"
    with store.open("copy") as session:
        session.append(user("y"))
    assert json.loads((store.directory / "copy.json").read_bytes())["name"] == "copy"
    assert texts(store.load("one")) == ["x"]


def test_the_list_is_newest_first_and_says_what_a_picker_shows(store: SessionStore) -> None:
    for name, question in (("first", "how?"), ("second", "why?")):
        with store.open(name, provider="p", model="m") as session:
            session.append(user(question))
            session.append(assistant("because"), Usage(input_tokens=3, output_tokens=1))
    with store.open("first") as session:
        session.append(user("again"))
    (store.directory / "notes.txt").write_text("no session")
    (store.directory / "bad name.json").write_text("{}")
    heads = store.list()
    assert [(head.name, head.message_count, head.preview) for head in heads] == [
        ("first", 3, "how?"),
        ("second", 2, "why?"),
    ]
    assert heads[1].total_usage == Usage(input_tokens=3, output_tokens=1)
    assert (heads[1].provider, heads[1].model) == ("p", "m")
    assert heads[0].updated_at == store.load("first").updated_at
    assert store.latest() == "first"


def test_a_session_that_is_open_or_was_killed_is_in_the_list_too(store: SessionStore) -> None:
    session = store.open("live", provider="p", model="m")
    session.append(user("x"))
    (head,) = store.list()
    assert (head.name, head.provider, head.model, head.message_count) == ("live", "p", "m", None)
    assert head.created_at == session.state.created_at
    assert store.exists("live")
    session.close()


def test_an_empty_directory_has_no_latest_session(store: SessionStore) -> None:
    assert store.list() == ()
    assert store.latest() is None


def test_fresh_names_are_valid_dated_and_new(store: SessionStore) -> None:
    names = {store.fresh_name() for _ in range(20)}
    assert len(names) == 20
    assert all(is_name(name) and name.startswith("20261127-1200") for name in names)


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_files_are_for_their_owner_only(store: SessionStore) -> None:
    previous = os.umask(0)
    try:
        session = store.open("work")
        session.append(user("one"))
        session.append(user("two"))
        session.replace(session.state.messages[1:])
        modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in store.directory.iterdir()}
        session.close()
    finally:
        os.umask(previous)
    assert modes == {".journal": 0o600, ".lock": 0o600, ".archive": 0o600}
    assert stat.S_IMODE((store.directory / "work.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700


def test_a_lone_surrogate_leaves_the_files_valid(store: SessionStore) -> None:
    bad = Message(
        role="assistant",
        content=(ToolUseBlock(id="t", name="Bash", input={"command": "a\ud800b"}),),
        id="x\ud800",
    )
    with store.open("work") as session:
        session.append(bad)
        (store.directory / "work.journal").read_text("utf-8")
        assert store.load("work").messages[0].tool_uses[0].input == {"command": "a\ufffdb"}
    (store.directory / "work.json").read_text("utf-8")
    assert store.load("work").messages[0].tool_uses[0].input == {"command": "a\ufffdb"}


def test_tasks_and_plan_mode_are_kept_and_kept_through_a_fork(store: SessionStore) -> None:
    todos = ({"id": "1", "content": "look", "status": "pending"},)
    with store.open("s") as session:
        session.append(user("one"))
        session.note(todos=todos, plan_mode=True)
        assert (store.load("s").todos, store.load("s").plan_mode) == (todos, True)
    with store.fork("s", "t") as other:
        assert (other.state.todos, other.state.plan_mode) == (todos, True)
        other.note(todos=(), plan_mode=False)
    assert (store.load("t").todos, store.load("t").plan_mode) == ((), False)
    assert (store.load("s").todos, store.load("s").plan_mode) == (todos, True)


def test_a_new_session_in_which_nothing_was_said_leaves_no_file(tmp_path: Path) -> None:
    store, system = SessionStore(tmp_path), Message(role="system", content=(TextBlock(text="Be brief."),))
    with store.open("s", provider="p", model="m", workspace="/w") as session:
        session.replace((system,))
    assert [path.name for path in tmp_path.iterdir() if path.suffix in (".json", ".journal")] == []
    for change in (
        lambda session: session.note(model="other"),
        lambda session: session.describe(title="kept"),
        lambda session: session.append(user("hi")),
    ):
        with store.open("t", provider="p", model="m", workspace="/w") as session:
            session.replace((system,))
            change(session)
        assert (tmp_path / "t.json").exists()
        with store.open("t") as session:
            session.replace((system,))
        assert store.load("t").messages == (system,)
        store.remove("t")
