"""Laws of the journal: what was appended is what is read, whatever happens to the end of the file."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.history import interrupted
from caliban_common.message import (
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from caliban_common.usage import Usage
from caliban_sessions import SessionState, SessionStore, SessionWriteError, SessionWriter, journal

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
BLOCKS = st.one_of(
    st.builds(TextBlock, text=TEXT),
    st.builds(ThinkingBlock, text=TEXT, signature=st.none() | TEXT),
    st.builds(ToolUseBlock, id=TEXT, name=TEXT, input=st.dictionaries(TEXT, PLAIN, max_size=2)),
    st.builds(
        ToolResultBlock,
        tool_use_id=TEXT,
        content=st.lists(st.builds(TextBlock, text=TEXT), max_size=2).map(tuple),
        is_error=st.booleans(),
    ),
    st.builds(OpaqueBlock, family=TEXT, data=st.dictionaries(TEXT, PLAIN, max_size=2)),
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant"]),
    content=st.lists(BLOCKS, max_size=2).map(tuple),
    family=st.none() | TEXT,
    model=st.none() | TEXT,
)
USAGE = st.builds(Usage, input_tokens=st.integers(0, 99), output_tokens=st.integers(0, 99))
STEPS = st.one_of(
    st.tuples(st.just("append"), MESSAGES, st.none() | USAGE),
    st.tuples(st.just("drop"), st.integers(0, 5), MESSAGES),
    st.tuples(st.just("usage"), USAGE),
    st.tuples(st.just("note"), TEXT),
    st.tuples(st.just("reopen")),
)


def take(session: SessionWriter, step: tuple[object, ...]) -> None:
    match step:
        case ("append", Message() as message, usage):
            session.append(message, usage)  # type: ignore[arg-type]
        case ("drop", int() as count, Message() as summary):
            session.replace((summary, *session.state.messages[count:]))
        case ("usage", Usage() as usage):
            session.add_usage(usage)
        case ("note", str() as model):
            session.note(model=model)


@given(st.lists(STEPS, max_size=12))
@settings(max_examples=examples(80))
def test_memory_replay_and_folded_file_agree_after_any_history(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = SessionStore(Path(directory))
        session = store.open("s", provider="p", model="m")
        session.append(user("begin"))
        for step in steps:
            if step == ("reopen",):
                session.close()
                session = store.open("s")
            take(session, step)
            assert store.load("s") == session.state
        before = session.state
        session.close()
        assert store.load("s") == before
        assert sorted(path.suffix for path in Path(directory).iterdir()) in ([".json"], [".archive", ".json"])


def journal_of(store: SessionStore, count: int) -> tuple[bytes, SessionState]:
    """The journal of a session of `count` messages that was never closed, and its state."""
    session = store.open("s", provider="p", model="m")
    for number in range(count):
        session.append(
            Message(role="user", content=(TextBlock(text=f"→ {number} 🌍"),)), Usage(input_tokens=1)
        )
    state = session.state
    data = (store.directory / "s.journal").read_bytes()
    session.close()
    for path in store.directory.iterdir():
        path.unlink()
    return data, state


def test_a_tail_torn_at_any_byte_costs_only_the_record_that_was_being_written(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    data, state = journal_of(store, 3)
    start = data[:-1].rindex(b"\n") + 1
    path = tmp_path / "s.journal"
    for cut in range(start, len(data) + 1):
        path.write_bytes(data[:cut])
        kept = 3 if cut >= len(data) - 1 else 2
        loaded = store.load("s")
        assert loaded.messages == state.messages[:kept]
        assert loaded.total_usage == Usage(input_tokens=kept)
        assert loaded.warnings == ()


def test_a_writer_goes_on_behind_a_torn_tail_and_a_second_kill_is_no_damage(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    data, state = journal_of(store, 3)
    path = tmp_path / "s.journal"
    for cut in (-1, -2, -30):
        path.write_bytes(data[:cut])
        session = store.open("s")
        kept = session.state.messages
        assert kept == (state.messages if cut == -1 else state.messages[:2])
        session.append(user("next"))
        after = session.state
        assert store.load("s") == after
        assert store.load("s").warnings == ()
        session.close()
        assert store.load("s") == after
        (tmp_path / "s.json").unlink()


def test_a_journal_that_was_folded_already_changes_nothing(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    session = store.open("s")
    session.append(user("one"), Usage(input_tokens=1))
    session.append(user("two"))
    journal = (tmp_path / "s.journal").read_bytes()
    session.close()
    folded = store.load("s")
    (tmp_path / "s.journal").write_bytes(journal)  # as after a kill between the fold and the removal
    assert store.load("s") == folded
    with store.open("s") as session:
        session.append(user("three"))
    assert [message.text for message in store.load("s").messages] == ["one", "two", "three"]
    assert store.load("s").total_usage == Usage(input_tokens=1)


def test_leftovers_of_a_killed_fold_are_cleared_and_those_of_others_are_not(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    data, _ = journal_of(store, 1)
    (tmp_path / "s.journal").write_bytes(data)
    (tmp_path / ".s.json.99.abcd.tmp").write_bytes(b"half")
    (tmp_path / ".s-2.json.99.abcd.tmp").write_bytes(b"half")
    store.open("s").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".s-2.json.99.abcd.tmp", "s.json"]


def test_damage_in_the_middle_costs_its_line_only_and_is_named_and_kept(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    data, state = journal_of(store, 40)
    lines = data.splitlines(keepends=True)
    lines[20] = lines[20][:40] + b"\n"
    lines[30] = lines[30].rstrip(b"\n") + lines[31]
    lines[31] = b"\n"
    lines[35] = b"\0" * 10 + lines[35]
    lines[36] = b"\xff\xfe garbage\n"
    lines[37] = b'["a list"]\n{"seq":true}\n' + b"[" * 100_000 + b"\n"
    path = tmp_path / "s.journal"
    path.write_bytes(b"".join(lines))
    broken = path.read_bytes()

    loaded = store.load("s")
    lost = {20, 36, 37}  # line 0 is the session's own record
    assert loaded.messages == tuple(m for n, m in enumerate(state.messages, 1) if n not in lost)
    assert loaded.messages[-1] == state.messages[-1]
    assert [warning.partition(": ")[2] for warning in loaded.warnings] == [
        "damaged in line 21, 37, 38, 39, 40; the other lines are in use"
    ]
    store.open("s").close()
    (kept,) = tmp_path.glob("s.damaged-*")
    assert kept.read_bytes() == broken
    assert store.load("s").messages == loaded.messages
    assert store.load("s").warnings == ()


def test_records_of_a_later_version_are_passed_over_and_kept(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    data, state = journal_of(store, 2)
    extra = [
        {"seq": 10, "type": "hologram", "x": 1},
        {"seq": 11, "type": "message", "message": {"role": "oracle", "content": []}},
        {"seq": 12, "type": "replace", "messages": "all"},
        {"seq": 13, "type": "note", "usage": {"input_tokens": -5}},
        {"seq": 14, "type": "replace", "messages": ["gone", state.messages[1].id]},
    ]
    tail = b"".join(json.dumps(record).encode() + b"\n" for record in extra)
    (tmp_path / "s.journal").write_bytes(data + tail)
    loaded = store.load("s")
    assert loaded.messages == state.messages[1:]
    assert loaded.warnings == tuple(
        f"{tmp_path / 's.journal'}:{remark}"
        for remark in (
            "4: record 10's type must be session, message, result, replace or note, not 'hologram'; "
            "it is passed over",
            "5: a message's role must be assistant, system or user, not 'oracle'; it is passed over",
            "6: record 12's messages must be a list, not 'all'; it is passed over",
            "7: record 13's usage.input_tokens must be a whole number ≥ 0, not -5; it is left out",
            "8: record 14 keeps message gone, which is lost",
        )
    )
    store.open("s").close()
    assert len(list(tmp_path.glob("s.damaged-*"))) == 1


def test_without_its_session_file_a_journal_alone_is_a_session(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("s") as session:
        session.append(user("one"))
    session = store.open("s")
    session.append(user("two"))
    (tmp_path / "s.json").unlink()
    assert [message.text for message in store.load("s").messages] == ["two"]
    session.close()
    assert [message.text for message in store.load("s").messages] == ["one", "two"]


@pytest.mark.parametrize("size", [1, 400])
def test_an_append_writes_as_much_to_a_long_history_as_to_a_short_one(tmp_path: Path, size: int) -> None:
    store = SessionStore(tmp_path, new_id=lambda: "same-length")
    session = store.open("s")
    for _ in range(size):
        session.append(user("x"))
    before = (tmp_path / "s.journal").stat().st_size
    session.append(user("y"))
    assert 0 < (tmp_path / "s.journal").stat().st_size - before < 200
    session.close()


def test_results_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    calls = tuple(ToolUseBlock(id=id, name="Bash", input={}) for id in ("a", "b", "c"))
    done = ToolResultBlock(tool_use_id="b", content=(TextBlock(text="written"),))
    writer = SessionStore(tmp_path).open("s")
    writer.append(user("go"))
    writer.append(Message(role="assistant", content=calls, id="x"))
    writer.keep_result(done)
    left = tmp_path / "left"
    left.mkdir()
    shutil.copy(tmp_path / "s.journal", left / "s.journal")  # as a killed process leaves it
    (answer,) = SessionStore(left).load("s").messages[2:]
    assert answer.tool_results == (interrupted("a"), done, interrupted("c"))
    for _ in range(2):  # what goes on from there finds it again, before and after the journal is folded
        with SessionStore(left).open("s") as again:
            assert again.state.messages[2] == answer
            again.append(user("more"))
    assert [message.text for message in SessionStore(left).load("s").messages[3:]] == ["more", "more"]
    assert SessionStore(left).load("s").messages[2] == answer
    writer.close()


def test_a_message_of_results_takes_the_place_of_single_ones(tmp_path: Path) -> None:
    done = ToolResultBlock(tool_use_id="a", content=(TextBlock(text="ok"),))
    call = ToolUseBlock(id="a", name="Bash", input={})
    with SessionStore(tmp_path).open("s") as writer:
        writer.append(Message(role="assistant", content=(call,), id="x"))
        writer.keep_result(done)
        writer.append(Message(role="user", content=(done,), id="y"))
        writer.append(user("more"))
        expected = writer.state.messages
        assert SessionStore(tmp_path).load("s").messages == expected
    assert SessionStore(tmp_path).load("s").messages == expected
    assert len(expected) == 3


def test_what_repeats_or_counts_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(journal, "_sync", synced.append)
    store = SessionStore(tmp_path)
    call = ToolUseBlock(id="t1", name="Read", input={})
    result = ToolResultBlock(tool_use_id="t1", content=(TextBlock(text="a"),))
    with store.open("s") as session:
        session.append(Message(role="user", content=(TextBlock(text="go"),)))
        session.append(Message(role="assistant", content=(call,)))
        session.keep_result(result)
        before = len(synced)
        session.append(Message(role="user", content=(result,)))
        session.add_usage(Usage(input_tokens=1))
        assert len(synced) == before == 3
        session.append(Message(role="assistant", content=(TextBlock(text="done"),)))
        session.append(Message(role="user", content=(result,)))
        assert len(synced) == 5, "a result that nobody has kept is synced with its message"
    assert [m.role for m in store.load("s").messages] == ["user", "assistant", "user", "assistant", "user"]


@given(st.lists(BLOCKS, max_size=4))
def test_a_session_file_is_what_the_standard_library_would_write(blocks: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder))
        with store.open("s") as session:
            session.append(Message(role="assistant", content=tuple(blocks)))
        written = session.path.read_text(encoding="utf-8")
    assert written == json.dumps(json.loads(written), ensure_ascii=False, indent=2) + "\n"


class Disk:
    """Counts how often it is waited for, and refuses where it is told to."""

    def __init__(self, monkeypatch) -> None:
        self.waits = 0
        self.refuses = False
        monkeypatch.setattr(journal, "_sync", self.wait)

    def wait(self, descriptor: int) -> None:
        self.waits += 1
        if self.refuses:
            raise OSError(5, "Input/output error")


def test_a_store_that_defers_waits_for_the_disk_when_it_is_asked_to(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    with SessionStore(tmp_path, defers_sync=True).open("s") as session:
        assert not session.unsynced
        session.append(user("one"))
        session.append(user("two"))
        # Another process has it at once: what is waited for is only the disk.
        assert [message.text for message in SessionStore(tmp_path).load("s").messages] == ["one", "two"]
        assert (session.unsynced, disk.waits) == (True, 0)
        session.sync()
        session.sync()
        assert (session.unsynced, disk.waits) == (False, 1)
        session.add_usage(Usage(input_tokens=1))  # goes to the disk with what follows
        assert not session.unsynced
    session.sync()
    with SessionStore(tmp_path).open("s") as session:
        before = disk.waits
        session.append(user("three"))
        assert (session.unsynced, disk.waits) == (False, before + 1)


def test_a_disk_that_refuses_is_asked_again(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    with SessionStore(tmp_path, defers_sync=True).open("s") as session:
        session.append(user("one"))
        disk.refuses = True
        with pytest.raises(SessionWriteError, match="input/output error"):
            session.sync()
        assert session.unsynced
        disk.refuses = False
        session.sync()
        assert not session.unsynced
