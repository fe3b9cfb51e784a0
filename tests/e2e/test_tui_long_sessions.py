"""Typing in a long conversation costs what it costs in an empty one: calls are counted, and bytes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_kit import Cli
from count_kit import CallCounter
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

MESSAGES = 4_000
TYPED = "every key of this line is seen before the next one"


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


def typed(cli: Cli, counter: CallCounter, painter: str, *, is_long: bool) -> tuple[int, int]:
    """How many calls of functions, and how many bytes, the line takes in the conversation."""
    cli.configure(f'[tui]\npainter = "{painter}"\n')
    with on_screen(cli, "--resume", "one", env=counter.env) as screen:
        screen.wait("anthropic/")
        screen.wait("message 3999" if is_long else "All is well.")
        screen.press("up")
        screen.wait("> prompt" if is_long else "> say it")
        screen.press("ctrl+u")
        screen.wait(lambda: ">" in screen.lines)
        before = len(screen.sent)
        with counter.counting(screen.process.pid):
            for place in range(len(TYPED)):
                screen.type(TYPED[place])
                screen.wait(f"> {TYPED[: place + 1]}".rstrip())
        sent = len(screen.sent) - before
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    return counter.count, sent


@pytest.mark.parametrize("painter", ["inline", "full"])
def test_a_key_costs_the_same_behind_thousands_of_messages(cli: Cli, tmp_path: Path, painter: str) -> None:
    counter = CallCounter(tmp_path / "counter")
    cli.script(wire.exchange(wire.text("All is well.")))
    with on_screen(cli, "--session", "one") as screen:
        screen.wait("anthropic/")
        screen.type("say it")
        screen.press("enter")
        screen.wait("All is well.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    short_calls, short_bytes = typed(cli, counter, painter, is_long=False)
    (history,) = (cli.home / ".local/state/caliban/history").glob("*.jsonl")
    prolonged(cli.home / ".local/share/caliban/sessions/one.json", history)
    long_calls, long_bytes = typed(cli, counter, painter, is_long=True)
    assert long_calls < 1.25 * short_calls
    assert long_bytes < 1.25 * short_bytes
