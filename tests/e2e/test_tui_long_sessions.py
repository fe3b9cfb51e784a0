"""Typing in a long conversation costs what it costs in an empty one: calls are counted, and bytes."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from command_kit import Cli
from hang_guard import wait_until
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

MESSAGES = 4_000
TYPED = "every key of this line is seen before the next one"
COUNTER = """\
import os, signal, sys

calls = 0

def count(frame, event, argument):
    global calls
    calls += event == "call"

def begin(number, frame):
    sys.setprofile(count)

def end(number, frame):
    sys.setprofile(None)
    with open(os.environ["CALLS"] + ".new", "w") as file:
        file.write(str(calls))
    os.rename(os.environ["CALLS"] + ".new", os.environ["CALLS"])

signal.signal(signal.SIGUSR1, begin)
signal.signal(signal.SIGUSR2, end)
"""


def prolonged(path: Path, history: Path) -> None:
    """Let a saved conversation of one answer have thousands of messages, and its prompts be remembered."""
    saved = json.loads(path.read_bytes())
    system, asked, answered = saved["messages"]
    messages = [system]
    for number in range(MESSAGES):
        message = json.loads(json.dumps((asked, answered)[number % 2]))
        message["id"], message["parent"] = f"m{number:011}", messages[-1]["id"]
        message["content"][0]["text"] = f"message {number}"
        messages.append(message)
    saved["messages"], saved["message_count"] = messages, len(messages)
    path.write_text(json.dumps(saved))
    entry = json.loads(history.read_text().splitlines()[0])
    text = "".join(json.dumps({**entry, "text": f"prompt {number}"}) + "\n" for number in range(MESSAGES))
    history.write_text(text)


def typed(cli: Cli, folder: Path, painter: str) -> tuple[int, int]:
    """How many calls of functions, and how many bytes, the line takes in the conversation."""
    calls = folder / "calls"
    calls.unlink(missing_ok=True)
    cli.configure(f'[tui]\npainter = "{painter}"\n')
    env = {"PYTHONPATH": str(folder), "CALLS": str(calls)}
    with on_screen(cli, "--resume", "one", env=env) as screen:
        screen.wait("anthropic/")
        screen.wait("message 3999" if (folder / "long").exists() else "All is well.")
        screen.press("up")
        screen.wait("> prompt" if (folder / "long").exists() else "> say it")
        screen.press("ctrl+u")
        screen.wait(lambda: ">" in screen.lines)
        before = len(screen.sent)
        os.kill(screen.process.pid, signal.SIGUSR1)
        for place in range(len(TYPED)):
            screen.type(TYPED[place])
            screen.wait(f"> {TYPED[: place + 1]}".rstrip())
        os.kill(screen.process.pid, signal.SIGUSR2)
        wait_until(calls.exists)
        sent = len(screen.sent) - before
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    return int(calls.read_text()), sent


@pytest.mark.parametrize("painter", ["inline", "full"])
def test_a_key_costs_the_same_behind_thousands_of_messages(cli: Cli, tmp_path: Path, painter: str) -> None:
    folder = tmp_path / "counter"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(COUNTER)
    cli.script(wire.exchange(wire.text("All is well.")))
    with on_screen(cli, "--session", "one") as screen:
        screen.wait("anthropic/")
        screen.type("say it")
        screen.press("enter")
        screen.wait("All is well.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    short_calls, short_bytes = typed(cli, folder, painter)
    (history,) = (cli.home / ".local/state/caliban/history").glob("*.jsonl")
    prolonged(cli.home / ".local/share/caliban/sessions/one.json", history)
    (folder / "long").touch()
    long_calls, long_bytes = typed(cli, folder, painter)
    assert long_calls < 1.25 * short_calls
    assert long_bytes < 1.25 * short_bytes
