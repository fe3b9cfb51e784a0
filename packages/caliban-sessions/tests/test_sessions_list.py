"""The list over all sessions, its index, searches and the tree."""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from caliban_common.message import Message, TextBlock, assistant, user
from caliban_common.usage import Usage
from caliban_sessions import ForkOrigin, SessionHead, SessionStore
from caliban_sessions.find import search
from caliban_sessions.index import NAME, WORTH, heads_in
from caliban_sessions.tree import SessionTree, tree_of

LATER_NS = 10**19
"""When nothing is new any more: what was written just now is in the index."""
EPOCH = datetime(2026, 11, 1, tzinfo=UTC)


def head(name: str, id: str = "", origin: tuple[str, str] | None = None) -> SessionHead:
    forked = None if origin is None else ForkOrigin(session=origin[0], id=origin[1], entry=None)
    return SessionHead(name=name, id=id or name, created_at=EPOCH, updated_at=EPOCH, forked_from=forked)


def shape(trees: tuple[SessionTree, ...] | list[SessionTree]) -> dict[str, object]:
    return {tree.head.name: shape(tree.children) for tree in trees}


def many(directory: Path) -> SessionStore:
    store = SessionStore(directory)
    with store.open("s0", provider="p", model="m", workspace="/w") as session:
        session.append(user("find me"), Usage(input_tokens=3))
    text = (directory / "s0.json").read_text()
    for number in range(1, WORTH + 20):
        (directory / f"s{number}.json").write_text(text.replace("find me", f"number {number}"))
    return store


def indexed(store: SessionStore) -> tuple[SessionHead, ...]:
    return tuple(heads_in(store.directory, at_ns=LATER_NS))


def fresh(store: SessionStore) -> tuple[SessionHead, ...]:
    (store.directory / NAME).unlink(missing_ok=True)
    return store.list()


def rewritten(path: Path, text: str) -> None:
    """Write `text` over the content of `path`, with the time that it had."""
    status = path.stat()
    assert status.st_size == len(text.encode())
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_the_head_of_a_session_says_what_a_picker_shows(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("s", provider="p", model="m", workspace="/w") as session:
        session.append(user("first question"))
        session.append(assistant("answer"), Usage(input_tokens=7, output_tokens=2))
        session.append(user("second"))
        session.describe(labels=("a", "b", "a", ""), title="T")
    (listed,) = store.list()
    assert (listed.title, listed.labels, listed.turn_count, listed.message_count) == ("T", ("a", "b"), 2, 3)
    assert listed.spent == {"p/m": Usage(input_tokens=7, output_tokens=2)}
    assert (listed.preview, listed.shown_title, listed.problem) == ("first question", "T", "")


@pytest.mark.parametrize("system", ["short", "long " * 50_000])
def test_a_session_that_was_killed_in_its_first_prompt_is_known_by_it(tmp_path: Path, system: str) -> None:
    store = SessionStore(tmp_path)
    with store.open("s", provider="p", model="m", workspace="/w") as session:
        session.replace((Message(role="system", content=(TextBlock(text=system),)),))
        session.append(user("\n fix\nthe parser " + "x" * 500))
        session.append(assistant("I will"))
        killed = (tmp_path / "s.journal").read_bytes()
        (at_work,) = store.list()
    (tmp_path / "s.json").unlink()
    (tmp_path / "s.journal").write_bytes(b'\n{"torn\n[1]\n' + killed + b'{"seq":9,"type":"mess')
    (listed,) = store.list()
    assert at_work.preview == listed.preview == listed.shown_title
    assert listed.preview.startswith("fix the parser xxx") and len(listed.preview) <= 80
    assert listed.turn_count is None
    (tmp_path / "s.journal").write_bytes(b"\0" * 5000)
    assert [one.preview for one in store.list()] == [""]


def test_a_title_and_labels_are_no_use_of_a_session(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("s") as session:
        session.append(user("x"))
    before = store.load("s").updated_at
    with store.open("s") as session:
        session.describe(title="x" * 500, labels=tuple(f"{n}" * 60 for n in range(30)))
    state = store.load("s")
    assert state.updated_at == before
    assert (len(state.title), len(state.labels), {*map(len, state.labels)} <= {40}) == (200, 20, True)


def test_the_index_gives_what_the_files_give(tmp_path: Path) -> None:
    store = many(tmp_path)
    first = indexed(store)
    assert (tmp_path / NAME).exists()
    assert indexed(store) == store.list() == first == fresh(store)


def test_what_changes_after_the_index_was_written_is_seen(tmp_path: Path) -> None:
    store = many(tmp_path)
    indexed(store)
    with store.open("s5") as session:
        session.append(user("more"))
    (tmp_path / "s6.json").unlink()
    (tmp_path / "s7.json").write_text("{")
    with store.open("new") as session:
        session.append(user("here"))
        listed = {entry.name: entry for entry in store.list()}
        assert listed["new"].message_count is None
    assert listed["s5"].message_count == 2
    assert "s6" not in listed
    assert listed["s7"].problem == "it is not JSON"
    assert store.list() == indexed(store) == indexed(store) == fresh(store)


@pytest.mark.skipif(os.name == "nt", reason="there nothing tells a change that leaves size and time")
def test_a_change_that_leaves_size_and_time_is_seen(tmp_path: Path) -> None:
    store = many(tmp_path)
    indexed(store)
    text = (tmp_path / "s9.json").read_text()
    rewritten(tmp_path / "s9.json", text.replace("number 9", "NUMBER 9"))
    assert {entry.preview for entry in store.list() if entry.name == "s9"} == {"NUMBER 9"}


def test_what_was_written_just_now_is_not_trusted_to_the_index(tmp_path: Path) -> None:
    store = many(tmp_path)
    newest_ns = max(path.stat().st_ctime_ns for path in tmp_path.glob("*.json"))
    heads_in(tmp_path, at_ns=newest_ns + 1)
    assert not (tmp_path / NAME).exists()
    indexed(store)
    assert (tmp_path / NAME).exists()


def test_names_and_times_that_no_session_has_are_no_error(tmp_path: Path) -> None:
    store = many(tmp_path)
    for name in (b"caf\xe9.json", "caf\u00e9.json".encode(), b"a b.json", b".json", b"a.b.journal"):
        try:
            (tmp_path / os.fsdecode(name)).write_text("{}")
        except OSError:
            continue  # a file system that has no such names
    for name, second in (("s1", -1), ("s2", 1 << 33), ("s3", 1 << 40)):
        try:
            os.utime(tmp_path / f"{name}.json", (second, second))
        except OSError:
            continue
    assert len(indexed(store)) == WORTH + 20
    assert indexed(store) == store.list() == fresh(store)


@pytest.mark.parametrize(
    "garbage", [b"", b"{", b"\xff\xfe", b"\0" * 4 + b"\x93\x03\xc4\0\xc4\x02[]", b"null"]
)
def test_an_index_that_is_none_is_written_anew(tmp_path: Path, garbage: bytes) -> None:
    store = many(tmp_path)
    listed = indexed(store)
    (tmp_path / NAME).write_bytes(garbage)
    assert indexed(store) == listed
    assert len((tmp_path / NAME).read_bytes()) > 1000


def test_an_index_cut_or_changed_anywhere_says_nothing(tmp_path: Path) -> None:
    store = many(tmp_path)
    listed = indexed(store)
    whole = (tmp_path / NAME).read_bytes()
    chance = random.Random(3)
    for _ in range(30):
        place = chance.randrange(len(whole))
        changed = bytes([whole[place] ^ chance.randrange(1, 256)])
        (tmp_path / NAME).write_bytes(whole[:place] + changed + whole[place + 1 :])
        assert store.list() == listed
        (tmp_path / NAME).write_bytes(whole[:place])
        assert store.list() == listed


def test_a_link_in_the_place_of_the_index_is_not_followed(tmp_path: Path) -> None:
    store = many(tmp_path / "sessions")
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "sessions" / NAME).symlink_to(tmp_path / "elsewhere")
    assert len(indexed(store)) == WORTH + 20
    assert (tmp_path / "elsewhere").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is not JSON"),
        (b"[]", "it has no list of messages"),
        (b'{"messages": 1}', "it has no list of messages"),
        (b"\x00" * 9000, "it is not a JSON object"),
        (b'{"name": "x", "messages": [' + b" " * 9000, "it ends in the middle"),
    ],
)
def test_a_file_that_is_no_session_is_listed_with_its_problem(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    (listed,) = SessionStore(tmp_path).list()
    assert (listed.name, listed.problem) == ("bad", problem)


def test_links_and_pipes_in_the_place_of_sessions_are_named_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    problems = {entry.name: entry.problem for entry in SessionStore(tmp_path).list()}
    assert problems["link"] == "it is a link"
    assert problems["folder"] == "it is no regular file"
    assert problems.get("pipe", "it is no regular file") == "it is no regular file"


def test_forks_stand_below_their_origin_also_under_another_name() -> None:
    trees = tree_of(
        [
            head("renamed", "1"),
            head("fork", "2", ("old-name", "1")),
            head("of-fork", "3", ("fork", "2")),
            head("orphan", "4", ("gone", "9")),
            head("legacy"),
            head("of-legacy", "5", ("legacy", "legacy")),
        ]
    )
    assert shape(trees) == {
        "renamed": {"fork": {"of-fork": {}}},
        "orphan": {},
        "legacy": {"of-legacy": {}},
    }


def test_origins_in_a_circle_hide_no_session() -> None:
    heads = [head("a", "a", ("c", "c")), head("b", "b", ("a", "a")), head("c", "c", ("b", "b"))]
    heads += [head("self", "self", ("self", "self")), head("below", "below", ("b", "b"))]
    assert shape(tree_of(heads)) == {"a": {"b": {"c": {}, "below": {}}}, "self": {}}


def test_a_chain_of_thousands_of_forks_is_a_tree() -> None:
    heads = [head(f"s{n}", f"s{n}", (f"s{n - 1}", f"s{n - 1}")) for n in range(5000)]
    (tree,) = tree_of(heads)
    depth = 0
    while tree.children:
        (tree,) = tree.children
        depth += 1
    assert depth == 4999


def test_words_are_found_in_prompts_and_answers_and_nowhere_else(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("s", provider="needle") as session:
        session.append(user("How do I MEND the Straße?"))
        session.append(assistant('with\ntar and a "roller"'))
    assert search(store, "s", "mend ROLLER").excerpt == "How do I MEND the Straße?"
    assert search(store, "s", "strasse").excerpt is not None
    assert search(store, "s", '"roller"').excerpt == 'with tar and a "roller"'
    assert search(store, "s", "needle").excerpt is None
    assert search(store, "s", "mend nothing").excerpt is None
    (tmp_path / "bad.json").write_text('{"mend')
    assert "bad.json" in search(store, "bad", "mend").problem


def test_only_sessions_that_nobody_used_are_removed(tmp_path: Path) -> None:
    moment = [EPOCH]
    store = SessionStore(tmp_path, clock=lambda: moment[0])
    for name, days in (("old", 0), ("held", 0), ("kept", 0), ("new", 30)):
        moment[0] = EPOCH + timedelta(days=days)
        with store.open(name) as session:
            session.append(user(name))
    (tmp_path / "bad.json").write_text("{")
    with store.open("held"):
        assert store.remove_unused(EPOCH + timedelta(days=10), but="kept") == ("old",)
    assert {entry.name for entry in store.list()} == {"held", "kept", "new", "bad"}


def test_a_rename_keeps_id_archive_images_and_forks(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("s") as session:
        session.append(user("one"))
        session.replace((user("summary"),))
        id = session.state.id
    store.fork("s", "fork").close()
    store.rename("s", "t")
    assert not store.exists("s")
    assert store.load("t").id == id
    assert json.loads((tmp_path / "t.json").read_text())["name"] == "t"
    assert (tmp_path / "t.archive").exists() and not (tmp_path / "s.archive").exists()
    assert shape(tree_of(store.list())) == {"t": {"fork": {}}}
