"""Files that are no sessions: refused with the path and a way out, never changed, never waited for."""

from __future__ import annotations

import json
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caliban_common.errors import CalibanError
from caliban_common.message import user
from caliban_common.remedy import Remedy
from caliban_sessions import SessionCorrupt, SessionStore, SessionUnreadable

WORDS = """
id created_at updated_at provider model forked_from session entry total_usage input_tokens plan_mode prefix
message_count preview journal_seq todos at usage mine type text content
"""
NAMES = st.sampled_from(WORDS.split())
WHOLE = b'{"name": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}'
DEEP = b"[" * 100_000
NOT_A_SESSION = {
    "empty": b"",
    "cut": WHOLE[:-10],
    "not UTF-8": WHOLE.replace(b"hi", b"h\xff"),
    "UTF-16": WHOLE.decode().encode("utf-16"),
    "a list": b"[]",
    "no messages": b'{"name": "s"}',
    "messages of the wrong kind": b'{"messages": {}}',
    "a message of the wrong kind": b'{"messages": [1]}',
    "an unknown role": WHOLE.replace(b"user", b"root"),
    "content of the wrong kind": b'{"messages": [{"role": "user", "content": 5}]}',
    "nested beyond the stack": b'{"messages": ' + DEEP + b"]" * 100_000 + b"}",
    "nested tool input": b'{"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", '
    b'"name": "B", "input": {"a": ' + b"[" * 150 + b"]" * 150 + b"}}]}]}",
    "nested extras": b'{"messages": [], "x": ' + b"[" * 150 + b"]" * 150 + b"}",
}


@pytest.mark.parametrize("name", NOT_A_SESSION)
def test_a_file_that_is_no_session_is_named_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(NOT_A_SESSION[name])
    journal = tmp_path / "s.journal"
    journal.write_bytes(b'{"seq":1,"type":"note"}\n')
    store = SessionStore(tmp_path)
    for action in (store.load, store.open):
        with pytest.raises(SessionCorrupt) as caught:
            action("s")
        assert caught.value.path == path
        assert caught.value.message.startswith(f"{path} cannot be read as a session: ")
        assert "move it away" in str(caught.value)
        assert "s.journal" in str(caught.value)
    assert path.read_bytes() == NOT_A_SESSION[name]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["s.journal", "s.json"]
    assert [head.name for head in store.list()] == ["s"]


def test_a_byte_order_mark_and_crlf_are_no_damage(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_bytes(b"\xef\xbb\xbf" + WHOLE.replace(b", ", b",\r\n"))
    assert [message.text for message in SessionStore(tmp_path).load("s").messages] == ["hi"]


def test_members_a_session_can_do_without_are_replaced_and_named(tmp_path: Path) -> None:
    odd = (
        b'"created_at": 5, "total_usage": {"input_tokens": "many"}, '
        b'"todos": [1, {"id": "a"}], "plan_mode": "yes", '
    )
    (tmp_path / "s.json").write_bytes(b"{" + odd + WHOLE[1:])
    state = SessionStore(tmp_path).load("s")
    assert [message.text for message in state.messages] == ["hi"]
    assert (state.todos, state.plan_mode) == (({"id": "a"},), False)
    assert sorted(state.warnings) == [
        f"{tmp_path / 's.json'}: the session's {remark}; it is left out"
        for remark in (
            "created_at must be a string, not 5",
            "plan_mode must be true or false, not 'yes'",
            "todos[0] must be an object, not 1",
            "total_usage.input_tokens must be a whole number, not 'many'",
        )
    ]


def test_random_bytes_never_escape_as_anything_but_our_error(tmp_path: Path) -> None:
    chance = random.Random(5)
    store = SessionStore(tmp_path)
    for _ in range(300):
        data = bytearray(WHOLE)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "s.json").write_bytes(data)
        (tmp_path / "s.journal").write_bytes(chance.randbytes(40) + b"\n" + bytes(data) + b"\n")
        store.list()
        try:
            store.load("s")
        except CalibanError as error:
            assert str(tmp_path) in error.message


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "m1", "user", "text", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]) | ODD, "content": st.just("hi") | ODD},
    optional={"id": st.just("m1") | ODD, "parent": ODD, "family": ODD},
)
MEMBERS = st.dictionaries(NAMES, ODD, max_size=4)
RECORD = st.builds(
    lambda members, own: members | own,
    MEMBERS,
    st.fixed_dictionaries(
        {"seq": st.integers(0, 3), "type": st.sampled_from(["session", "message", "replace", "note"])},
        optional={"message": MESSAGE, "messages": st.lists(st.just("m1") | MESSAGE | ODD, max_size=3)},
    ),
)


@given(MEMBERS, st.lists(MESSAGE, max_size=3) | ODD, st.lists(RECORD, max_size=4))
@example(
    {},
    [{"role": "user", "content": "hi"}],
    [{"seq": 1, "type": "message", "message": {"role": "user", "content": "hi"}}],
)
def test_files_of_almost_the_right_form_are_a_session_or_our_error(
    members: dict[str, object], messages: object, records: list[dict[str, object]]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "s.json"
        path.write_text(json.dumps({**members, "messages": messages}))
        lines = "".join(json.dumps(record) + "\n" for record in records)
        path.with_suffix(".journal").write_text(lines)
        store = SessionStore(path.parent)
        assert [head.name for head in store.list()] == ["s"]
        try:
            state = store.load("s")
        except SessionCorrupt as error:
            assert error.message.startswith(str(path))
            return
        store.open("s").close()
        assert store.load("s").messages == state.messages


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
@pytest.mark.parametrize("suffix", ["json", "journal"])
def test_a_named_pipe_is_refused_without_waiting(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"s.{suffix}")
    store = SessionStore(tmp_path)
    for action in (store.load, store.open):
        with pytest.raises(SessionUnreadable, match="named pipe"):
            action("s")
    assert [head.problem for head in store.list()] == ["it is no regular file"]


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize("suffix", ["json", "journal"])
def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / "target"
    target.write_bytes(WHOLE)
    directory = tmp_path / "sessions"
    directory.mkdir()
    (directory / f"s.{suffix}").symlink_to(target)
    store = SessionStore(directory)
    for action in (store.load, store.open):
        with pytest.raises(SessionUnreadable, match="is a link"):
            action("s")
    assert [head.problem for head in store.list()] == ["it is a link"]
    assert target.read_bytes() == WHOLE


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_planted_lock_or_archive_link_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    directory = tmp_path / "sessions"
    store = SessionStore(directory)
    session = store.open("s")
    session.append(user("x"))
    (directory / "s.archive").symlink_to(target)
    with pytest.raises(CalibanError, match="archive"):
        session.replace(())
    session.close()
    (directory / "t.lock").symlink_to(target)
    with pytest.raises(CalibanError, match="lock"):
        store.open("t")
    assert target.read_bytes() == b"precious"


def test_a_file_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "s.json").open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(SessionUnreadable, match="at most"):
        SessionStore(tmp_path).load("s")
    assert (tmp_path / "s.json").stat().st_size == 2 << 30


def test_a_session_that_is_full_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = SessionStore(tmp_path, max_bytes=2_000)
    session = store.open("s")
    session.append(user("x" * 1_000))
    with pytest.raises(CalibanError, match="is full") as caught:
        session.append(user("y" * 1_000))
    assert caught.value.hint == "start a new one of another name"
    assert caught.value.remedy == Remedy(kind="session_other")
    session.close()
    assert [message.text[:1] for message in store.load("s").messages] == ["x", "y"]
