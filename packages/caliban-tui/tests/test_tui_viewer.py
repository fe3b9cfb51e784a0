"""The transcript viewer and the lists of the app, as values over a fake app."""

from __future__ import annotations

import random

import anyio
import pytest
from shots_kit import expect_shot

from caliban_commands.answer import SwitchSession
from caliban_common.message import (
    Base64Source,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from caliban_tui.line import text_of
from caliban_tui.overlay.background import background_list, todo_overlay
from caliban_tui.overlay.overlay import Close, Do, Dump, EditText, Overlay, OverlayStep, Stay, Tell, Work
from caliban_tui.overlay.rewind import rewind_picker
from caliban_tui.overlay.rules import rules_list
from caliban_tui.overlay.sessions import session_picker
from caliban_tui.overlay.viewer import ViewerOverlay, viewer
from caliban_tui.overlay.views import (
    BackgroundRow,
    PermissionsShown,
    PromptRow,
    Restored,
    RestoreFile,
    RestorePlan,
    RuleRow,
    SessionRow,
)
from caliban_tui.question.asked import CallBrief
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.blocks import TodoRow

SIZE = ScreenSize(60, 14)
MESSAGES = (
    user("look at \x1b[2J this\nand that"),
    Message(
        role="assistant",
        content=(
            ThinkingBlock(text="hm, what is it"),
            TextBlock(text="I look. " * 30),
            ToolUseBlock(id="t1", name="Read", input={"path": "a.py", "limit": 3}),
        ),
    ),
    Message(
        role="user",
        content=(
            ToolResultBlock(
                tool_use_id="t1",
                content=(
                    TextBlock(text="\n".join(f"line {n}" for n in range(40))),
                    ImageBlock(source=Base64Source(media_type="image/png", data="AAAA")),
                ),
            ),
        ),
    ),
    Message(role="assistant", content=(TextBlock(text="It is needle, the end."),)),
)


class FakeApp:
    """What the views ask of an app, from memory; `done` are the things that were asked of it."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.titles = {"one": "First", "two": "Second \u202e"}
        self.rules = [
            RuleRow(action="deny", pattern="Bash:rm *", source="project", file="/w/p.toml", index=1),
            RuleRow(action="allow", pattern="Bash:git *", source="this session"),
            RuleRow(action="ask", pattern="Bash", source="managed", fixed="the administrator wrote it"),
        ]
        self.barred = False

    async def sessions(self, *, everywhere: bool) -> tuple[SessionRow, ...]:
        rows = (
            SessionRow(name="one", title=self.titles["one"], when="today", messages=4, is_current=True),
            SessionRow(name="two", title=self.titles["two"], when="yesterday", depth=1, labels=("kept",)),
        )
        far = SessionRow(name="far", title="Far", when="2020", workspace="/else")
        return (*rows, far) if everywhere else rows

    def session_preview(self, name: str) -> tuple[str, ...]:
        return (f"> about {name}", "an answer")

    async def rename_session(self, name: str, title: str) -> None:
        self.titles[name] = title

    async def prompts(self) -> tuple[PromptRow, ...]:
        return (
            PromptRow(index=2, title="change it", when="10:00", files=1),
            PromptRow(index=1, title="look"),
        )

    async def restore_plan(self, prompt: PromptRow) -> RestorePlan:
        change = CallBrief(text="", path="a.py", before="new\n", after="old\n")
        reason = "changed since" if self.barred else ""
        file = RestoreFile(path="a.py", does="puts back", change=change, reason=reason)
        return RestorePlan(prompt=prompt, files=(file,), removed=3)

    async def restore(self, prompt: PromptRow, kind: str, *, force: bool) -> Restored:
        self.done.append((prompt.index, kind, force))
        return Restored(words="went back", reopens=kind in ("both", "conversation"))

    def permissions(self) -> PermissionsShown:
        return PermissionsShown(mode="default", barred=("bypassPermissions",), rules=tuple(self.rules))

    def next_mode(self) -> str:
        self.done.append("mode")
        return ""

    async def delete_rule(self, rule: RuleRow) -> str:
        self.rules.remove(rule)
        return ""

    def background(self) -> tuple[BackgroundRow, ...]:
        return (BackgroundRow(id="b1", title="make -j\x07", state="runs", runs=True),)

    def background_output(self, id: str) -> str:
        return "".join(f"out {n}\n" for n in range(50))

    def stop_background(self, id: str) -> None:
        self.done.append(("stop", id))

    def todos(self) -> tuple[TodoRow, ...]:
        return (TodoRow(content="first", status="completed"), TodoRow(content="then", status="pending"))


async def pressed(overlay: Overlay, *keys: str) -> OverlayStep:
    """The step of the last key, work done."""
    step: OverlayStep = Stay(overlay)
    for key in keys:
        assert isinstance(step, Stay), step
        step = step.overlay.key(key, SIZE)
        if isinstance(step, Work):
            step = await step.run()
    return step


def after(overlay: Overlay, *keys: str) -> OverlayStep:
    return anyio.run(pressed, overlay, *keys)


def seen(overlay: Overlay, size: ScreenSize = SIZE) -> list[str]:
    return [text_of(line) for line in overlay.lines(size)]


def view(*keys: str) -> ViewerOverlay:
    step = after(viewer(MESSAGES, SIZE), *keys)
    assert isinstance(step, Stay) and isinstance(step.overlay, ViewerOverlay)
    return step.overlay


def test_the_viewer_begins_at_the_end_and_reaches_every_row_both_ways() -> None:
    assert "It is needle, the end." in seen(view())
    rows: set[str] = set()
    overlay = view("g")
    for _ in range(12):
        rows |= set(seen(overlay)[1:-1])
        overlay = overlay.key("pagedown", SIZE).overlay
    assert {f"line {n}" for n in range(40)} | {"look at \\x1b[2J this", "and that", "limit: 3"} <= rows
    back: set[str] = set()
    for _ in range(12):
        back |= set(seen(overlay)[1:-1])
        overlay = overlay.key("pageup", SIZE).overlay
    assert rows == back and overlay.top == view("g").top


def test_a_search_goes_around_the_end_and_says_what_is_nowhere() -> None:
    assert "line 17" in seen(view("g", "/", *"line 17"))
    there = view("g", "/", *"look", "enter")
    assert [view("g", "/", *"look", "enter", *"n" * count).top for count in (1, 2)] != [there.top] * 2
    assert view("g", "/", *"look", "enter", "n", "N").top == there.top
    assert "nowhere" in seen(view("g", "/", *"nothing like it", "enter"))[-1]
    assert view("/", *"x", "escape").search.text == ""


def test_the_viewer_dumps_what_is_seen_and_edits_all_of_it() -> None:
    step = after(viewer(MESSAGES, SIZE), "g", "[")
    assert isinstance(step, Dump)
    assert [text_of(line) for line in step.lines] == seen(view("g"))[1:-1]
    step = after(viewer(MESSAGES, SIZE), "v")
    assert isinstance(step, EditText) and "line 39\n" in step.text and "hm, what is it" in step.text


@pytest.mark.parametrize("key", ["q", "escape", "c-o", "c-c"])
def test_the_viewer_closes(key: str) -> None:
    assert after(viewer(MESSAGES, SIZE), key) == Close()
    assert isinstance(after(viewer(MESSAGES, SIZE), "?", key), Stay), "the keys go away first"


@pytest.mark.parametrize("seed", range(10))
def test_any_keys_at_any_size_leave_a_viewer_that_fits(seed: int) -> None:
    keys = random.Random(seed)
    overlay = viewer(MESSAGES, SIZE)
    names = ["up", "down", "pageup", "pagedown", "g", "G", "n", "N", "/", "e", "enter", "?", " ", "backspace"]
    for _ in range(150):
        size = ScreenSize(keys.choice([3, 10, 40, 120]), keys.choice([1, 3, 24]))
        lines = overlay.lines(size)
        assert len(lines) <= size.rows and "\x1b" not in "".join(map(text_of, lines))
        overlay = overlay.key(keys.choice(names), size).overlay


def test_a_session_goes_on_is_forked_and_is_renamed() -> None:
    app = FakeApp()
    overlay = anyio.run(session_picker, app)
    assert "\u202e" not in "".join(seen(overlay))
    assert after(overlay, "down", "enter") == Do(SwitchSession(name="two"))
    assert after(overlay, "down", "f") == Do(SwitchSession(name="two", fork=True))
    step = after(overlay, "down", "r", *"New", "enter")
    assert app.titles["two"] == "New"
    assert any(row.startswith("> ") and "New" in row for row in seen(step.overlay))
    assert not any("Far" in row for row in seen(overlay))
    assert any("Far" in row for row in seen(after(overlay, "tab").overlay))
    assert any("Far" in row for row in seen(after(overlay, "/", *"far", "tab").overlay))


@pytest.mark.parametrize(
    ("keys", "done", "step"),
    [
        (("enter", "enter"), (2, "both", False), Tell("went back", reopens=True)),
        (("enter", "down", "enter"), (2, "code", False), Tell("went back")),
        (
            ("down", "enter", "down", "down", "enter"),
            (1, "conversation", False),
            Tell("went back", reopens=True),
        ),
        (("enter", "up", *["down"] * 3, "enter"), (2, "summarise_from", False), Tell("went back")),
        (("enter", *["down"] * 4, "enter"), (2, "summarise_to", False), Tell("went back")),
    ],
)
def test_one_goes_back_in_five_ways(keys: tuple[str, ...], done: object, step: OverlayStep) -> None:
    app = FakeApp()
    assert after(anyio.run(rewind_picker, app), *keys) == step
    assert app.done == [done]


def test_what_others_changed_is_overwritten_after_a_yes_only() -> None:
    app = FakeApp()
    app.barred = True
    overlay = anyio.run(rewind_picker, app)
    assert isinstance(after(overlay, "enter", "enter", "enter"), Stay)
    assert app.done == []
    after(overlay, "enter", "enter", "down", "enter")
    assert app.done == [(2, "both", True)]


def test_a_rule_is_deleted_after_a_yes_only_and_a_managed_one_never() -> None:
    app = FakeApp()
    overlay = rules_list(app)
    after(overlay, "d", "enter")
    assert len(app.rules) == 3
    after(overlay, "d", "down", "enter")
    assert [rule.action for rule in app.rules] == ["allow", "ask"]
    step = after(rules_list(app), "down", "d")
    assert any("the administrator wrote it" in row for row in seen(step.overlay))
    after(overlay, "tab")
    assert app.done == ["mode"]


def test_output_is_followed_and_a_command_ended_after_a_yes() -> None:
    app = FakeApp()
    overlay = background_list(app)
    shown = after(overlay, "enter").overlay
    assert "out 49" in seen(shown)
    assert "out 0" in seen(after(shown, *["pageup"] * 9).overlay)
    assert "out 49" in seen(after(shown, "pageup", "G").overlay)
    after(overlay, "x", "enter")
    assert app.done == []
    after(overlay, "x", "down", "enter")
    assert app.done == [("stop", "b1")]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_they_look_as_they_did(columns: int) -> None:
    app, size = FakeApp(), ScreenSize(columns, 16)
    rewind = anyio.run(rewind_picker, app)
    shown = [
        viewer(MESSAGES, size),
        view("g", "/", *"look"),
        view("?"),
        anyio.run(session_picker, app),
        after(anyio.run(session_picker, app), "r").overlay,
        rewind,
        after(rewind, "enter").overlay,
        rules_list(app),
        after(rules_list(app), "d").overlay,
        background_list(app),
        todo_overlay(app),
    ]
    text = "\n".join("\n".join(seen(overlay, size)) + "\n==" for overlay in shown)
    expect_shot(__file__, f"views-{columns}.txt", text + "\n")
