"""Stores with revisions, held to the suite that is shipped for those of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from caliban_common.message import ImageBlock, Message, user
from caliban_sessions import SessionBusy, SessionConflict, SessionStore
from caliban_sessions.records import DirectoryRecords, MemoryRecords, SessionRecords, SessionRevision
from caliban_sessions.testing import RECORD_CHECKS, check_records


@pytest.mark.parametrize("check", RECORD_CHECKS.values(), ids=RECORD_CHECKS)
def test_a_directory_is_a_store_with_revisions(
    tmp_path: Path, check: Callable[[SessionRecords], None]
) -> None:
    check(DirectoryRecords(SessionStore(tmp_path / "sessions")))


@pytest.mark.parametrize("check", RECORD_CHECKS.values(), ids=RECORD_CHECKS)
def test_memory_is_one_too(check: Callable[[SessionRecords], None]) -> None:
    check(MemoryRecords())


class LastWins(MemoryRecords):
    """A store that forgets to compare."""

    def put(self, name: str, data: bytes, *, expected: str | None) -> str:
        kept = self._data.get(name)
        actual = None if kept is None else self.get(name).revision
        return super().put(name, data, expected=actual)


class Cut(MemoryRecords):
    """A store that keeps a part."""

    def get(self, name: str) -> SessionRevision:
        kept = super().get(name)
        return SessionRevision(name=name, revision=kept.revision, data=kept.data[:1_000_000])


@pytest.mark.parametrize("kind", [LastWins, Cut])
def test_the_suite_finds_a_store_that_is_wrong(kind: Callable[[], SessionRecords]) -> None:
    with pytest.raises(AssertionError):
        check_records(kind)


def test_a_session_that_is_open_or_was_not_closed_is_not_written_over(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    records = DirectoryRecords(store)
    with store.open("s") as session:
        session.append(user("one"))
    kept = records.get("s")
    with store.open("s") as session:
        session.append(user("two"))
        with pytest.raises(SessionBusy):
            records.put("s", kept.data, expected=kept.revision)
    (tmp_path / "s.journal").write_text('{"seq": 99, "type": "note"}\n')
    with pytest.raises(SessionConflict):
        records.put("s", kept.data, expected=records.get("s").revision)


def test_images_travel_inside(tmp_path: Path) -> None:
    here, there = (DirectoryRecords(SessionStore(tmp_path / name)) for name in ("here", "there"))
    image = ImageBlock.of("image/png", "aGVsbG8=")
    with SessionStore(tmp_path / "here").open("s") as session:
        session.append(Message(role="user", content=(image,)))
    there.put("s", here.get("s").data, expected=None)
    assert SessionStore(tmp_path / "there").load("s").messages[0].content == (image,)
