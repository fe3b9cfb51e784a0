"""Rows about sizes on the terminal: what is read of many sessions, what a streamed reply costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_kit import Cli, needs_procfs
from count_kit import CallCounter
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

SESSIONS = 2_000
LARGE_BYTES = 1 << 30
READ_BYTES = 8_192
"""So much is read of each end of a session, both together."""

OTHER_BYTES = 60_000_000
"""The program itself, the index that is written, and whatever else is read meanwhile."""


def read_bytes(pid: int) -> int:
    """How many bytes a process has read."""
    lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar:")))


def leave(screen: Screen) -> None:
    screen.press("ctrl+d")
    assert screen.ended() == 0


@needs_procfs
def test_b165_the_first_list_of_2000_sessions_reads_their_ends_alone(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("All is well.")))
    assert cli.run("-p", "say it", "--session", "one").code == 0
    (saved,) = (cli.home / ".local/share/caliban/sessions").glob("one.json")
    text = saved.read_text(encoding="utf-8")
    for number in range(SESSIONS):
        (saved.parent / f"s{number:04}.json").write_text(text, encoding="utf-8")
    large = saved.parent / "large.json"
    with large.open("wb") as file:
        file.write(text.encode()[:-1].rstrip(b"}\n") + b', "more": "')
        file.seek(LARGE_BYTES)
        file.write(b'"}')
    with on_screen(cli, "--continue") as screen:
        screen.wait("All is well.")
        screen.type("/resume")
        screen.wait("> /resume")
        screen.press("enter")
        screen.wait("Sessions of this workspace")
        read = read_bytes(screen.process.pid)
        screen.press("esc")
        screen.wait(lambda: "Sessions of this workspace" not in screen.text)
        leave(screen)
    assert read < SESSIONS * READ_BYTES + OTHER_BYTES


def markdown(parts: int) -> str:
    """A reply with letters of several scripts, a table and a long block of code."""
    words = "".join(f"Строка {n}: *слова* и 🙂 `код` дальше.\n\n" for n in range(parts))
    rows = "".join(f"| {n} | значение {n} |\n" for n in range(parts // 4))
    code = "".join(f"value_{n} = {n} * 2\n" for n in range(parts))
    return f"{words}| a | b |\n|---|---|\n{rows}\n```python\n{code}```\n\nThat was it."


def calls_of(cli: Cli, counter: CallCounter, name: str, reply: str) -> int:
    """How many functions are called while `reply` is streamed, and the command knows it whole then."""
    cli.script(wire.exchange(wire.text(reply, piece_chars=10)))
    with on_screen(cli, "--session", name, env=counter.env) as screen:
        screen.wait("anthropic/")
        screen.type("go")
        screen.wait("> go")
        with counter.counting(screen.process.pid):
            screen.press("enter")
            screen.wait(lambda: "That was it." in screen.text and "esc interrupts" not in screen.text)
        leave(screen)
    saved = json.loads((cli.home / f".local/share/caliban/sessions/{name}.json").read_bytes())
    assert saved["messages"][-1]["content"][0]["text"] == reply
    return counter.count


def test_b169_a_reply_twice_as_long_takes_about_twice_the_work(cli: Cli, tmp_path: Path) -> None:
    counter = CallCounter(tmp_path / "counter")
    short, long = (calls_of(cli, counter, name, markdown(n)) for name, n in (("short", 100), ("long", 200)))
    assert long < 2.5 * short
