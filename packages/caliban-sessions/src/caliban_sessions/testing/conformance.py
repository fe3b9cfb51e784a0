"""The conformance suite of `SessionRecords`.

@pytest.mark.parametrize("check", RECORD_CHECKS.values(), ids=RECORD_CHECKS)
def test_my_store(check):
    check(MyRecords())
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from caliban_sessions.errors import (
    InvalidSessionName,
    SessionBusy,
    SessionConflict,
    SessionCorrupt,
    SessionNotFound,
)
from caliban_sessions.records import SessionRecords

Check: TypeAlias = Callable[[SessionRecords], None]
BAD_NAMES: Final = ("", "../x", "a/b", "a.b", "x" * 65, "a\n", "ü")
WRITERS: Final = 8


def check_records(make: Callable[[], SessionRecords]) -> None:
    """Run every check on a new, empty store of its own. Raises `AssertionError` for the first that fails."""
    for check in RECORD_CHECKS.values():
        check(make())


def file_of(*texts: str) -> bytes:
    """A session file whose messages say `texts`."""
    messages = [
        {"id": f"m{number}", "role": "user", "content": [{"type": "text", "text": text}]}
        for number, text in enumerate(texts)
    ]
    document: dict[str, Any] = {"name": "any", "messages": messages}
    return json.dumps(document, ensure_ascii=False).encode()


def _new_one_is_empty(records: SessionRecords) -> None:
    assert records.names() == ()
    _refused(SessionNotFound, lambda: records.get("s"))
    _refused(SessionNotFound, lambda: records.delete("s", expected="x"))


def _what_is_put_comes_back(records: SessionRecords) -> None:
    data = file_of("one", "ü → 🌍", "x" * 3_000_000)
    revision = records.put("s", data, expected=None)
    kept = records.get("s")
    assert (kept.name, kept.revision, kept.data) == ("s", revision, data)
    assert records.get("s") == kept


def _names_are_sorted(records: SessionRecords) -> None:
    for name in ("b", "A", "c-1", "_"):
        records.put(name, file_of(name), expected=None)
    assert records.names() == tuple(sorted(("b", "A", "c-1", "_")))
    assert records.get("b").data == file_of("b")


def _a_new_one_is_written_over_nothing(records: SessionRecords) -> None:
    records.put("s", file_of("one"), expected=None)
    _refused(SessionConflict, lambda: records.put("s", file_of("two"), expected=None))
    _refused(SessionConflict, lambda: records.put("t", file_of("two"), expected="never"))
    assert records.get("s").data == file_of("one")
    assert records.names() == ("s",)


def _a_stale_write_is_a_conflict(records: SessionRecords) -> None:
    first = records.put("s", file_of("one"), expected=None)
    second = records.put("s", file_of("one", "two"), expected=first)
    assert second != first
    _refused(SessionConflict, lambda: records.put("s", file_of("three"), expected=first))
    _refused(SessionConflict, lambda: records.delete("s", expected=first))
    assert records.get("s").data == file_of("one", "two")


def _what_is_deleted_is_gone(records: SessionRecords) -> None:
    revision = records.put("s", file_of("one"), expected=None)
    records.delete("s", expected=revision)
    assert records.names() == ()
    _refused(SessionNotFound, lambda: records.get("s"))
    _refused(SessionConflict, lambda: records.put("s", file_of("two"), expected=revision))
    records.put("s", file_of("three"), expected=None)


def _names_outside_the_grammar_are_refused(records: SessionRecords) -> None:
    for name in BAD_NAMES:
        _refused(InvalidSessionName, partial(records.get, name))
        _refused(InvalidSessionName, partial(records.put, name, file_of("x"), expected=None))
        _refused(InvalidSessionName, partial(records.delete, name, expected="x"))
    assert records.names() == ()


def _what_is_no_session_is_refused(records: SessionRecords) -> None:
    revision = records.put("s", file_of("one"), expected=None)
    for data in (b"", b"{", b"[]", b"{}", b"\xff", b'{"messages": 1}'):
        _refused(SessionCorrupt, partial(records.put, "s", data, expected=revision))
        _refused(SessionCorrupt, partial(records.put, "t", data, expected=None))
    assert records.names() == ("s",)
    assert records.get("s").data == file_of("one")


def _writers_at_once_lose_nothing(records: SessionRecords) -> None:
    records.put("s", file_of("begin"), expected=None)

    def add(number: int) -> None:
        while True:
            kept = records.get("s")
            texts = [message["content"][0]["text"] for message in json.loads(kept.data)["messages"]]
            try:
                records.put("s", file_of(*texts, str(number)), expected=kept.revision)
            except (SessionConflict, SessionBusy):
                continue
            return

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(add, range(WRITERS)))
    texts = [message["content"][0]["text"] for message in json.loads(records.get("s").data)["messages"]]
    assert texts[0] == "begin"
    assert sorted(texts[1:]) == sorted(map(str, range(WRITERS)))


RECORD_CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "a new store is empty": _new_one_is_empty,
        "what is put comes back": _what_is_put_comes_back,
        "names are sorted": _names_are_sorted,
        "a new session is written over nothing": _a_new_one_is_written_over_nothing,
        "a stale write is a conflict": _a_stale_write_is_a_conflict,
        "what is deleted is gone": _what_is_deleted_is_gone,
        "names outside the grammar are refused": _names_outside_the_grammar_are_refused,
        "what is no session is refused": _what_is_no_session_is_refused,
        "writers at once lose nothing": _writers_at_once_lose_nothing,
    }
)
"""Each takes an empty store. The names say what is checked."""


def _refused(kind: type[Exception], action: Callable[[], object]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected, and nothing was raised")
