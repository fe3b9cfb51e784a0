"""What a streamed text costs: a frame behind each delta, and twice as many take about twice the work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from caliban_common.event import (
    AgentEvent,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ToolCallInputDelta,
    ToolCallStart,
)
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.live import open_lines
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.fold import fold
from caliban_tui.transcript.view import ConversationView

SIZE = ScreenSize(80, 24)
DELTAS = 50
TEXTS = {
    "lines of code": lambda n: ("```python\n" if not n else "") + f"value_{n} = {n}\n",
    "words without an end": lambda n: f"слово {n} и 語 " * 40,
    "paragraphs": lambda n: f"*Слова* {n} `код`." + ("\n\n" if n % 3 == 0 else " "),
    "rows of a table": lambda n: ("| a | b |\n|---|---|\n" if not n else "") + f"| {n} | слово |\n" * 16,
    "items": lambda n: f"- item {n} with **words**\n",
}


def work(event: Callable[[int], AgentEvent], count: int) -> int:
    """How many functions are called for so many events, each with its frame."""
    calls = 0

    def called(frame: FrameType, kind: str, argument: object) -> None:
        nonlocal calls
        calls += kind.endswith("call")

    view = ConversationView(began_s=0.0)
    sys.setprofile(called)
    try:
        for number in range(count):
            view, blocks = fold(view, event(number), 1.0, lambda call: "")
            for block in blocks:
                block_lines(block, SIZE.columns)
            open_lines(view, SIZE, 1.0)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("text", TEXTS.values(), ids=[f"b169-{name}" for name in TEXTS])
def test_a_reply_twice_as_long_takes_twice_the_work(text: Callable[[int], str]) -> None:
    def event(number: int) -> AgentEvent:
        return AssistantTextDelta(turn=0, text=text(number))

    work(event, 3)  # what is made once for all is no part of it
    short, long = work(event, DELTAS), work(event, 2 * DELTAS)
    assert long < 2.4 * short


@pytest.mark.parametrize(
    "event",
    [
        lambda number: AssistantThinkingDelta(turn=0, text=f"thought {number}\n"),
        lambda number: (
            ToolCallInputDelta(turn=0, tool_use_id="c", partial_json=f"line {number}\\n")
            if number
            else ToolCallStart(turn=0, tool_use_id="c", name="Write")
        ),
    ],
    ids=["b169-thinking", "b169-the input of a call"],
)
def test_what_is_not_said_is_no_dearer(event: Callable[[int], AgentEvent]) -> None:
    work(event, 3)
    short, long = work(event, DELTAS), work(event, 2 * DELTAS)
    assert long < 2.4 * short
