"""The line editor: keys and pastes in, a draft and actions out."""

from __future__ import annotations

import anyio.lowlevel
import anyio.to_thread
import pytest
from keyboard_kit import keyboard

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_was_read_before_the_editor_began_is_its_first_input() -> None:
    async with keyboard() as board:
        board.editor.begin_with(b"hel")
        await board.typed("lo", "hello|")


@pytest.mark.parametrize("newline", ["\\\r", "\x1b\r", "\n", "\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u"])
async def test_a_new_line_is_made_by_every_key_that_makes_one(newline: str) -> None:
    async with keyboard() as board:
        await board.typed(f"a{newline}b", "a\nb|")
        board.type("\r")
        await board.wait(lambda: board.done == ["send a\nb"])
        assert board.shown == "|"


async def test_two_backslashes_before_enter_are_sent() -> None:
    async with keyboard() as board:
        board.type("a\\\\\r")
        await board.wait(lambda: board.done == ["send a\\\\"])


async def test_answers_of_the_terminal_are_never_typed() -> None:
    answers = [b"\x1b[I", b"\x1b]11;rgb:00/00/00\x1b\\", b"\x1b[?62;4c", b"\x1b[?2026;2$y", b"\x1b[?1u"]
    async with keyboard() as board:
        await board.typed(b"a" + b"".join(answers) + b"\x1b[99999zb", "ab|")
        assert board.answers == answers


async def test_an_overlay_is_asked_first_for_every_key() -> None:
    async with keyboard() as board:
        board.taken = {"y", "enter", "paste"}
        await board.typed("xy\r\x1b[200~pasted\x1b[201~z", "xz|")
        assert board.names == ["x", "y", "enter", "paste", "z"]
        assert board.done == []


async def test_a_long_paste_is_a_placeholder_that_goes_whole_and_is_sent_whole() -> None:
    lines = "\r\n".join(f"line {number}" for number in range(512))
    async with keyboard() as board:
        await board.typed(f"see \x1b[200~{lines}\x1b[201~ now", "see [pasted text #1, 512 lines] now|")
        await board.typed("\x1b[D" * 4, "see [pasted text #1, 512 lines]| now")
        await board.typed("\x1b[D", "see |[pasted text #1, 512 lines] now")
        await board.typed("\x1b[C", "see [pasted text #1, 512 lines]| now")
        await board.typed("\x7f", "see | now")
        await board.typed("\x1f", "see [pasted text #1, 512 lines]| now")
        await board.typed(f"\x1b[200~{'x' * 3000}\x1b[201~", f"see [pasted text #1, 512 lines]{SECOND}| now")
        board.type("\r")
        whole = lines.replace("\r\n", "\n")
        await board.wait(lambda: board.done == [f"send see {whole}{'x' * 3000} now"])


SECOND = "[pasted text #2, 3,000 characters]"


async def test_a_megabyte_is_pasted_in_one_piece() -> None:
    async with keyboard() as board:
        data = b"\x1b[200~" + b"0123456789abcde\n" * 65536 + b"\x1b[201~"
        await anyio.to_thread.run_sync(board.type, data)
        await board.wait(lambda: board.names == ["paste"])
        assert len(board.editor.whole) == 1 << 20


async def test_a_paste_with_the_end_of_a_paste_in_it_does_not_break_out() -> None:
    async with keyboard() as board:
        await board.typed(b"\x1b[200~a\x1b[201~\rrm\r\x03\x1b[201~b", "a\nrm\n\x03b|")
        assert board.done == []


async def test_control_characters_of_a_paste_do_nothing() -> None:
    async with keyboard() as board:
        await board.typed(b"\x1b[200~a\x03\x04\x1b[A\x1b\r\x1b[201~!", "a\x03\x04\x1b[A\x1b\n!|")
        assert board.done == []


async def test_a_terminal_that_ends_is_told() -> None:
    async with keyboard() as board:
        board.type("a")
        await board.wait(lambda: board.shown == "a|")
        board.hang_up()
        await board.wait(lambda: board.gone)


async def test_nothing_is_read_while_somebody_else_has_the_terminal() -> None:
    async with keyboard() as board:
        await board.typed("a", "a|")
        with board.editor.stop_reading():
            board.type("b")
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            assert board.shown == "a|"
        await board.wait(lambda: board.shown == "ab|")


@pytest.mark.parametrize(
    ("keys", "action"),
    [
        ("\t", "complete"),
        ("\x1b[1;3A", "take_back"),
        ("\x1b\x1b[A", "take_back"),
        ("\x1b", "interrupt"),
        ("\x1b[27u", "interrupt"),
        ("\x1a", "suspend"),
        ("\x0c", "redraw"),
        ("\x1b[108;5u", "redraw"),
        ("\x0f", "viewer"),
        ("\x1bo", "detail"),
        ("\x02", "background"),
        ("\x14", "todos"),
        ("\x1b[Z", "cycle_mode"),
        ("\x1b[9;2u", "cycle_mode"),
        ("\x1b[5~", "page_up"),
        ("\x1b[6~", "page_down"),
        ("?", "help"),
    ],
)
async def test_a_key_does_what_the_table_says(keys: str, action: str) -> None:
    async with keyboard() as board:
        board.type(keys)
        await board.wait(lambda: board.done)
        assert board.done == [action]
        assert board.shown == "|"


async def test_keys_of_an_empty_draft_are_characters_elsewhere() -> None:
    async with keyboard() as board:
        await board.typed("a?", "a?|")
        await board.typed("\x1b[D\x1b[D\x04", "|?")
        assert board.done == []


async def test_control_c_keeps_the_draft_in_the_history() -> None:
    async with keyboard() as board:
        await board.typed("lost?", "lost?|")
        await board.typed("\x03", "|")
        await board.typed("\x1b[A", "lost?|")
