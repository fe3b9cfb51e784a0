"""Writing to a terminal that reads when it likes, or never again."""

from __future__ import annotations

import os
import termios
import tty as modes
from collections.abc import Iterator

import anyio
import pytest

from caliban_tui.errors import TerminalGone
from caliban_tui.terminal.outlet import TerminalOutlet
from caliban_tui.terminal.tty import DEFAULT_SIZE, MODES, RESTORE, Tty


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = os.openpty()
    modes.setraw(theirs)
    yield ours, theirs
    for fd in (ours, theirs):
        try:
            os.close(fd)
        except OSError:
            pass


def read_all(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(fd, 1 << 16)
    return data


def test_a_terminal_that_reads_nothing_is_not_waited_for(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    outlet = TerminalOutlet(theirs)
    text = bytes(range(32, 127)) * 5_000
    outlet.write(text)
    outlet.write(b"later")
    assert not outlet.is_clear
    assert outlet.finish(0.01) is False

    async def both() -> bytes:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outlet.cleared)
            return await anyio.to_thread.run_sync(read_all, ours, len(text) + 5)

    assert anyio.run(both) == text + b"later"
    assert outlet.is_clear
    outlet.close()


def test_the_terminal_that_is_shared_with_the_shell_stays_a_waiting_one(terminal: tuple[int, int]) -> None:
    _, theirs = terminal
    outlet = TerminalOutlet(theirs)
    outlet.write(b"x")
    assert os.get_blocking(theirs)
    outlet.close()


def test_a_terminal_that_is_gone_is_said_to_be(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    outlet = TerminalOutlet(theirs)
    outlet.write(b"x")
    os.close(ours)
    with pytest.raises(TerminalGone):
        outlet.write(b"x")
    assert outlet.is_clear


@pytest.mark.parametrize(
    ("sent", "undone"),
    [
        ([b"words"], b""),
        ([b"\x1b[>1u"], b"\x1b[<u"),
        ([b"\x1b[>1u", b"\x1b[<u"], b""),
        ([b"\x1b[>1u", b"\x1b[?1049h\x1b[>1u"], b"\x1b[<u\x1b[?7h\x1b[?1049l\x1b[<u"),
        ([b"\x1b[?1049h", b"\x1b[?7h\x1b[?1049l"], b""),
    ],
)
def test_what_was_switched_on_and_nothing_else_is_taken_back(
    terminal: tuple[int, int], sent: list[bytes], undone: bytes
) -> None:
    ours, theirs = terminal
    screen = Tty(theirs, theirs)
    before = termios.tcgetattr(theirs)
    screen.enter()
    for data in sent:
        screen.write(data)
    screen.leave()
    expected = MODES + b"".join(sent) + undone + RESTORE
    assert read_all(ours, len(expected)) == expected
    assert termios.tcgetattr(theirs) == before


def test_a_terminal_without_a_size_has_the_usual_one(terminal: tuple[int, int]) -> None:
    _, theirs = terminal
    termios.tcsetwinsize(theirs, (0, 0))
    assert Tty(theirs, theirs).size() == DEFAULT_SIZE
    termios.tcsetwinsize(theirs, (7, 33))
    assert Tty(theirs, theirs).size() == (33, 7)


def test_leaving_a_terminal_that_never_reads_again_comes_to_an_end(terminal: tuple[int, int]) -> None:
    _, theirs = terminal
    screen = Tty(theirs, theirs)
    screen.enter()
    screen.write(b"x" * 1_000_000)
    screen.leave()
    assert screen.outlet.is_clear
