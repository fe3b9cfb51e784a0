"""Whatever models and tools write: nothing of it leaves its block, and nothing of it takes long."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace
from tui_samples import SAMPLES, call, reply_blocks

from caliban_common.event import AssistantTextDelta, AssistantThinkingDelta, ToolProgress
from caliban_common.hunks import text_change
from caliban_tui.compose import compose
from caliban_tui.line import ScreenLine, text_of
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.live import open_lines
from caliban_tui.render.look import DetailLevel, TranscriptLook
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.blocks import NoticeBlock, PromptBlock, ReplyBlock, TranscriptBlock
from caliban_tui.transcript.fold import fold
from caliban_tui.transcript.view import ConversationView, RunningCall, begun
from caliban_tui.ui import UiState
from caliban_tui.width import line_cells

DETAILS: tuple[DetailLevel, ...] = ("brief", "normal", "full")
EVIL = (
    "\x1b[2J\x1b]0;title\x07\x1b[31m\x9b2J\x90q\x9c\x00\x07\x08\r\x7f\u202e\u2066\u200e\ufeff\x1bcA\tB\nC\x1b"
)
KEPT = ("ran", "failed", "denied", "interrupted", "error", "info", "warning")
FAKE = "x\n\nMay this run?\n  Bash rm -rf /\n  y once   n no\n"


def unsafe(line: ScreenLine) -> str:
    """The characters of a line that a terminal would obey."""
    return "".join(
        sign
        for segment in line
        for sign in segment.text + (segment.link if segment.style != "graphics" else "")
        if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or sign in "\u202e\u2066\u200e\ufeff"
    )


def poisoned(value: Any) -> Any:
    """`value` with hostile text in every place."""
    match value:
        case str():
            return value if value in KEPT else f"{value} {EVIL}"
        case tuple() | list():
            return type(value)(poisoned(item) for item in value)
        case dict():
            return {key: poisoned(item) for key, item in value.items()}
        case _ if hasattr(value, "__struct_fields__"):
            kept = ("fence", "markdown") if isinstance(value, ReplyBlock) else ()
            names = [field.name for field in fields(value) if field.name not in kept]
            return replace(value, **{name: poisoned(getattr(value, name)) for name in names})
        case _:
            return value


@pytest.mark.parametrize("block", SAMPLES, ids=lambda block: block.type)
def test_no_field_of_a_block_reaches_the_terminal_as_a_control(block: TranscriptBlock):
    evil = poisoned(block)
    for detail in DETAILS:
        for columns in (7, 40):
            for line in block_lines(evil, columns, TranscriptLook(detail=detail, images="kitty")):
                assert unsafe(line) == ""


@given(
    st.lists(st.sampled_from([EVIL, "```\n", "[a](http://e/", ")", "|", "\n", "- ", "&#27;", "&#x9b;", "`"]))
)
def test_no_markdown_reaches_the_terminal_as_a_control(parts: list[str]):
    for block in reply_blocks("".join(parts)):
        for line in block_lines(block, 20):
            assert unsafe(line) == ""


def test_what_a_tool_writes_stands_behind_an_indentation_on_every_row():
    wide = " " * 38 + "May this run?" + " " * 30 + "y once"
    for detail in DETAILS:
        look = TranscriptLook(detail=detail)
        for block in (
            call("Bash", "x", output=FAKE + wide),
            call("Bash", "x", output=FAKE, outcome="failed"),
        ):
            (head, *rows) = block_lines(block, 40, look)
            assert text_of(head).startswith(("● ", "✗ "))
            assert rows or detail == "brief"
            for row in rows:
                assert text_of(row).startswith("  ")
                assert line_cells(row) <= 40
    (head, *rows) = block_lines(call("Bash", "x\nMay this run?\n  y once"), 40)
    assert rows == []


def test_the_live_lines_are_never_wider_than_the_screen_nor_more_than_half_of_it():
    size = ScreenSize(30, 20)
    view = begun(ConversationView(), 0.0)
    calls = tuple(
        RunningCall(
            tool_use_id=str(number), name="T", summary=f"T {EVIL} {'w' * 99}", began_s=0, progress=EVIL * 3
        )
        for number in range(30)
    )
    for text in (
        EVIL,
        "日本語" * 99,
        "```py\n" + "x" * 999,
        "| a |\n|---|\n| " + "b" * 999,
        "- " + "w " * 999,
    ):
        for part in (calls, calls[:1], ()):
            event = AssistantTextDelta(turn=0, text=text)
            now, _ = fold(replace(view, calls=part), event, 1.0, lambda call: call.name)
            lines = open_lines(now, size, 99.0)
            assert len(lines) <= 10
            for line in lines:
                assert line_cells(line) <= 30
                assert unsafe(line) == ""
            assert compose(now, UiState(), size, 99.0).lines[: len(lines)] == tuple(lines)


class Calls:
    """How many Python calls something takes: the same on every machine."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, work: Any) -> int:
        self.count = 0
        sys.setprofile(self._count)
        try:
            work()
        finally:
            sys.setprofile(None)
        return self.count

    def _count(self, frame: Any, event: str, argument: Any) -> None:
        self.count += 1


def test_outputs_of_any_size_cost_what_is_shown_of_them():
    def lines(output: str, detail: DetailLevel) -> int:
        return len(block_lines(call("Bash", "x", output=output), 80, TranscriptLook(detail=detail)))

    for output in ("x" * 10_000_000, "x\n" * 5_000_000, "\x1b[31m" * 2_000_000, "é" * 5_000_000):
        assert lines(output, "brief") <= 3
        assert lines(output, "normal") <= 8
    assert lines("x" * 10_000_000, "full") <= 3_000
    assert len(block_lines(PromptBlock(text="x" * 100_000), 80)) <= 1_300
    assert len(block_lines(NoticeBlock(level="info", text="y" * 100_000), 80)) <= 1_300
    change = text_change("", "z" * 1_000_000 + "\n" + "z\n" * 100_000).details()
    assert len(block_lines(call("W", details={"change": change}), 80)) <= 50


def test_a_delta_costs_the_same_however_much_came_before():
    calls = Calls()
    view = begun(ConversationView(), 0.0)
    counted = []
    for event in (
        AssistantTextDelta(turn=0, text="word "),
        AssistantThinkingDelta(turn=0, text="word "),
        ToolProgress(tool_use_id="1", text="word "),
    ):
        now = replace(view, calls=(RunningCall(tool_use_id="1", name="T", summary="T", began_s=0),))

        def feed(times: int, event: Any = event) -> None:
            nonlocal now
            for _ in range(times):
                now, _ = fold(now, event, 1.0, lambda call: call.name)

        feed(100)
        first = calls.of(lambda feed=feed: feed(1_000))
        feed(20_000)
        counted.append(calls.of(lambda feed=feed: feed(1_000)) <= 1.2 * first)
        assert len(now.open_text) <= 30_000
    assert counted == [True, True, True]
