"""The history of prompts: kept in a file, walked and searched."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.synchronize import Barrier
from pathlib import Path

import anyio
import pytest
from keyboard_kit import Keyboard, keyboard

from caliban_common.filelock import try_lock
from caliban_tui.draft import history as history_module
from caliban_tui.draft.history import HistoryEntry, HistoryFile, PromptHistory, is_kept

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def entry(text: str, session: str = "", at_s: int = 0) -> HistoryEntry:
    return HistoryEntry(text=text, session=session, at_s=at_s)


def texts(file: HistoryFile) -> list[str]:
    return [one.text for one in file.entries()]


async def test_entries_are_kept_for_their_owner_alone_and_whole(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "history", "-work")
    assert file.entries() == []
    file.add(entry("one\nof two lines \x00 ä"))
    file.add(entry("two", session="s"))
    assert file.entries() == [entry("one\nof two lines \x00 ä"), entry("two", session="s")]
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.folder.stat().st_mode & 0o777 == 0o700


async def test_a_torn_line_costs_that_line_alone(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path, "p")
    file.add(entry("one"))
    file.path.write_bytes(file.path.read_bytes() + b'{"text": "tor')
    file.add(entry("two"))
    file.path.write_bytes(file.path.read_bytes() + b'\xff\n[]\n{"text": 7}\nnull\n')
    file.add(entry("three"))
    assert texts(file) == ["one", "two", "three"]


async def test_a_file_that_grows_is_cut_to_its_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(history_module, "KEPT_BYTES", 500)
    file = HistoryFile(tmp_path, "p")
    for number in range(200):
        file.add(entry(f"prompt {number}"))
    kept = texts(file)
    assert file.path.stat().st_size <= 1000
    assert kept == [f"prompt {number}" for number in range(200 - len(kept), 200)]
    assert file.path.stat().st_mode & 0o777 == 0o600
    file.add(entry("x" * 200_000))
    assert texts(file) == kept


def _write(folder: Path, name: str, both: Barrier) -> None:
    file = HistoryFile(folder, "p")
    both.wait(60)
    for number in range(300):
        file.add(entry(f"{name}{number} " + "x" * 3000))


async def test_two_programs_that_write_at_once_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "MAX_FILE_BYTES", 150_000)
    monkeypatch.setattr(history_module, "KEPT_BYTES", 100_000)
    context = multiprocessing.get_context("fork")
    both = context.Barrier(2)
    writers = [context.Process(target=_write, args=(tmp_path, name, both)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    kept = [text.split()[0] for text in texts(HistoryFile(tmp_path, "p"))]
    for name in "ab":
        numbers = [int(text[1:]) for text in kept if text[0] == name]
        assert numbers == list(range(300 - len(numbers), 300))
    assert len(kept) > 20


async def test_a_line_waits_for_another_program_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = HistoryFile(tmp_path, "p")
    file.add(entry("one"))
    other = os.open(file.path, os.O_RDWR)
    assert try_lock(other)
    waits: list[list[str]] = []

    def wait(seconds: float) -> None:
        waits.append(texts(file))
        os.close(other)

    monkeypatch.setattr(history_module.time, "sleep", wait)
    file.add(entry("two"))
    assert waits == [["one"]]
    assert texts(file) == ["one", "two"]


async def test_what_begins_with_a_blank_is_remembered_nowhere(tmp_path: Path) -> None:
    history = PromptHistory(HistoryFile(tmp_path, "p"))
    assert history.add(" a secret") is None
    assert history.add("") is None
    assert history.entries() == []
    assert [is_kept(text) for text in ("a", " a", "\ta", "\n", "a ")] == [True, False, False, False, True]


async def test_each_scope_has_its_entries_once_and_the_newest_last(tmp_path: Path) -> None:
    HistoryFile(tmp_path, "other").add(entry("elsewhere", at_s=1))
    mine = HistoryFile(tmp_path, "mine")
    for one in (entry("a", "s", 2), entry("b", "t", 3), entry("a", "t", 4)):
        mine.add(one)
    history = PromptHistory(mine, session="s")
    await history.load()
    typed = history.add("c")
    assert typed is not None
    await history.keep(typed)
    assert history.entries("session") == ["a", "c"]
    assert history.entries("project") == ["b", "a", "c"]
    assert not history.is_loaded("all")
    await history.widen()
    assert history.entries("all") == ["elsewhere", "b", "a", "c"]
    assert texts(mine) == ["a", "b", "a", "c"]


async def test_up_and_down_walk_through_it_and_come_back_to_the_draft() -> None:
    async with keyboard() as board:
        for text in ("one", "two\nlines", "one"):
            board.editor.history.add(text)
        await board.typed("draft", "draft|")
        await board.typed("\x1b[A", "one|")
        await board.typed("\x1b[A", "two\nlines|")
        await board.typed("\x1b[B", "one|")
        await board.typed("\x1b[B", "draft|")
        await board.typed("\x1b[A!", "one!|")
        await board.typed("\x1b[A", "one|")


class LateHistory(PromptHistory):
    """A history that is read when it is let."""

    def __init__(self, file: HistoryFile) -> None:
        super().__init__(file)
        self.may_read = anyio.Event()

    async def load(self) -> None:
        await self.may_read.wait()
        await super().load()


@pytest.mark.parametrize(
    ("keys", "pressed", "shown"),
    [
        ("\x1b[A", 1, "two|"),
        ("\x1b[A\x1b[A", 2, "one|"),
        ("\x1b[A\x1b[A\x1b[B", 3, "two|"),
        ("\x1b[A\x1b[A\x1b[A", 3, "one|"),
        ("\x1b[Anew", 4, "new|"),
    ],
)
async def test_a_way_back_before_the_history_is_read_is_gone_once_it_is(
    tmp_path: Path, keys: str, pressed: int, shown: str
) -> None:
    for text in ("one", "two"):
        HistoryFile(tmp_path, "p").add(entry(text))
    history = LateHistory(HistoryFile(tmp_path, "p"))
    async with keyboard() as board:
        board.type(keys)
        await board.wait(lambda: len(board.names) == pressed)
        board.editor.use_history(history)
        history.may_read.set()
        await board.wait(lambda: board.editor.history.entries() == ["one", "two"])
        await board.wait(lambda: board.shown == shown)


async def test_a_search_begun_before_the_history_is_read_finds_it_then(tmp_path: Path) -> None:
    HistoryFile(tmp_path, "p").add(entry("two", session="s"))
    history = LateHistory(HistoryFile(tmp_path, "p"))
    history.session = "s"
    async with keyboard() as board:
        board.type("\x12wo")
        await board.wait(lambda: "nothing" in title(board))
        board.editor.use_history(history)
        history.may_read.set()
        await board.wait(lambda: matches(board) == ["two"])


async def test_a_long_entry_comes_back_as_a_placeholder_and_is_sent_whole() -> None:
    async with keyboard() as board:
        board.editor.history.add("long " * 5000)
        await board.typed("\x1b[A", "[pasted text #1, 25,000 characters]|")
        board.type("\r")
        await board.wait(lambda: board.done == ["send " + "long " * 5000])


def title(board: Keyboard) -> str:
    view = board.editor.menu()
    return "" if view is None else view.title


def matches(board: Keyboard) -> list[str]:
    view = board.editor.menu()
    return [] if view is None else [row.label for row in view.rows]


async def test_the_search_narrows_moves_takes_and_gives_up() -> None:
    async with keyboard() as board:
        for text in ("fix the painter", "test the painter", "write docs"):
            board.editor.history.add(text)
        await board.typed("mine", "mine|")
        board.type("\x12pain the")
        await board.wait(lambda: matches(board) == ["test the painter", "fix the painter"])
        assert (board.editor.draft().mark, board.editor.draft().text) == ("search> ", "pain the")
        await board.typed("\x12\r", "fix the painter|")
        board.type("\x12\x7fzzz")
        await board.wait(lambda: "nothing" in title(board))
        board.type("\x15")
        await board.wait(lambda: len(matches(board)) == 3)
        board.type("\x03")
        await board.wait(lambda: board.editor.menu() is None)
        assert board.shown == "fix the painter|"
        await board.typed("\x12docs\x1b[D", "write doc|s")


async def test_the_search_goes_wider_and_back_again(tmp_path: Path) -> None:
    HistoryFile(tmp_path, "other").add(entry("elsewhere"))
    mine = HistoryFile(tmp_path, "mine")
    mine.add(entry("here", "t"))
    async with keyboard() as board:
        board.editor.use_history(PromptHistory(mine, session="s"))
        await board.wait(lambda: board.editor.history.entries("project") == ["here"])
        board.type("\x12")
        await board.wait(lambda: "this session: nothing" in title(board))
        board.type("\x13")
        await board.wait(lambda: matches(board) == ["here"])
        board.type("\x13")
        await board.wait(lambda: sorted(matches(board)) == ["elsewhere", "here"])
        board.type("\x13")
        await board.wait(lambda: matches(board) == [])


def test_a_name_that_is_no_text_is_kept_as_what_can_be_written(tmp_path):
    file = HistoryFile(tmp_path, "p")
    file.add(HistoryEntry(text="read @caf\udce9.txt"))
    file.add(HistoryEntry(text="next\u2028line"))
    assert [entry.text for entry in file.entries()] == ["read @caf\ufffd.txt", "next\u2028line"]
