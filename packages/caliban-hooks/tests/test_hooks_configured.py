"""All hooks together: chosen, asked side by side, merged to the strictest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from caliban_common.hook import (
    HookEvent,
    HookVerdict,
    PostToolUse,
    PreToolUse,
    RunStop,
    SessionStart,
    UserPromptSubmit,
)
from caliban_common.message import TextBlock, ToolResultBlock, ToolUseBlock
from caliban_hooks import BadHook, ConfiguredHooks, EventContext, HookFailed, HookParts, HookSpec
from caliban_hooks.answer import HookAnswer
from caliban_hooks.verdict import CONFLICT

pytestmark = pytest.mark.anyio
CALL = ToolUseBlock(id="t1", name="Bash", input={"command": "ls"})
BEFORE = PreToolUse(session_id="s", turn=0, call=CALL)
AFTER = PostToolUse(
    session_id="s",
    turn=0,
    call=CALL,
    result=ToolResultBlock(tool_use_id="t1", content=(TextBlock(text="out"),)),
)


class Saying:
    """Says what a table has for a hook's command; waits where it is told to."""

    def __init__(self, answers: Mapping[str, Any], waits: Mapping[str, anyio.Event] | None = None) -> None:
        self._answers = answers
        self._waits = waits or {}
        self.asked: list[str] = []

    async def ask(self, spec: HookSpec, event: bytes) -> HookAnswer:
        self.asked.append(spec.command)
        if spec.command in self._waits:
            await self._waits[spec.command].wait()
        answer = self._answers[spec.command]
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, HookAnswer)
        return answer


def spec(command: str, event: str = "PreToolUse", **more: Any) -> HookSpec:
    return HookSpec(event=event, kind="command", place=f"hooks {command}", command=command, **more)


def hooks(
    asker: Any, *specs: HookSpec, told: list[tuple[str, str]] | None = None, **more: Any
) -> ConfiguredHooks:
    heard = [] if told is None else told
    fits: Callable[..., bool] = lambda pattern, tool, args: pattern in args["command"]  # noqa: E731
    parts = HookParts(
        askers={"command": asker},
        context=EventContext(workspace=Path("/w")),
        tell=lambda kind, words: heard.append((kind, words)),
        fits_call=fits,
        **more,
    )
    return ConfiguredHooks(specs, parts)


NO = HookAnswer(decision="deny", reason="no")
ASK = HookAnswer(decision="ask", reason="hm")
YES = HookAnswer(allows=True)


@pytest.mark.parametrize("order", list(itertools.permutations((NO, ASK, YES))), ids=str)
async def test_s736_the_strictest_answer_wins_in_whatever_order(order: tuple[HookAnswer, ...]) -> None:
    asker = Saying(dict(zip("abc", order, strict=True)))
    verdict = await hooks(asker, spec("a"), spec("b"), spec("c")).fire(BEFORE)
    assert (verdict.decision, verdict.reason) == ("deny", "no")


async def test_hooks_are_asked_side_by_side() -> None:
    gate = anyio.Event()
    asker = Saying({"a": YES, "b": YES}, waits={"a": gate})
    chain = hooks(asker, spec("a"), spec("b"))
    async with anyio.create_task_group() as group:
        group.start_soon(chain.fire, BEFORE)
        while len(asker.asked) < 2:
            await anyio.sleep(0)
        gate.set()
    assert sorted(asker.asked) == ["a", "b"]


async def test_s735_two_different_changes_refuse_and_two_equal_ones_do_not() -> None:
    one, other = HookAnswer(updated_input={"command": "x"}), HookAnswer(updated_input={"command": "y"})
    verdict = await hooks(Saying({"a": one, "b": other}), spec("a"), spec("b")).fire(BEFORE)
    assert (verdict.decision, verdict.updated_input) == ("deny", None)
    verdict = await hooks(Saying({"a": one, "b": one}), spec("a"), spec("b")).fire(BEFORE)
    assert verdict == HookVerdict(updated_input={"command": "x"})


async def test_two_different_outputs_show_neither() -> None:
    one, other = HookAnswer(updated_output="x"), HookAnswer(updated_output="y")
    chain = hooks(Saying({"a": one, "b": other}), spec("a", "PostToolUse"), spec("b", "PostToolUse"))
    assert await chain.fire(AFTER) == HookVerdict(updated_output=(TextBlock(text=CONFLICT),))


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("x", "x"),
        ({"content": "x"}, "x"),
        ([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}], "x\ny"),
        ({"stdout": "x"}, '{"stdout": "x"}'),
        ([1], "[1]"),
        ("", ""),
    ],
)
async def test_a_changed_output_is_text_in_whatever_form(output: Any, text: str) -> None:
    chain = hooks(Saying({"a": HookAnswer(updated_output=output)}), spec("a", "PostToolUse"))
    assert await chain.fire(AFTER) == HookVerdict(updated_output=(TextBlock(text=text),))


@pytest.mark.parametrize(
    ("event", "name", "policy", "expected", "is_told"),
    [
        (BEFORE, "PreToolUse", "default", "deny", False),
        (BEFORE, "PreToolUse", "block", "deny", False),
        (BEFORE, "PreToolUse", "allow", "continue", True),
        (UserPromptSubmit(session_id="s", prompt="x"), "UserPromptSubmit", "default", "deny", False),
        (AFTER, "PostToolUse", "default", "continue", True),
        (RunStop(session_id="s", last_text=""), "Stop", "default", "continue", True),
    ],
)
async def test_no_answer_blocks_what_can_be_blocked_unless_a_person_said_otherwise(
    event: HookEvent, name: str, policy: Any, expected: str, is_told: bool
) -> None:
    heard: list[tuple[str, str]] = []
    chain = hooks(Saying({"a": HookFailed("broken")}), spec("a", name, on_failure=policy), told=heard)
    verdict = await chain.fire(event)
    assert verdict.decision == expected
    assert ("hooks a: broken" in verdict.reason) is not is_told
    assert heard == ([("hook_failed", "hooks a: broken")] if is_told else [])


async def test_what_objects_afterwards_is_read_by_the_model_and_an_observer_by_a_person() -> None:
    assert await hooks(Saying({"a": NO}), spec("a", "PostToolUse")).fire(AFTER) == HookVerdict(
        added_context="no"
    )
    heard: list[tuple[str, str]] = []
    start = SessionStart(session_id="s", cwd="/", provider="p", model="m")
    assert await hooks(Saying({"a": NO}), spec("a", "SessionStart"), told=heard).fire(start) == HookVerdict()
    assert heard == [("hook_message", "hooks a: no")]


async def test_the_end_is_put_off_unless_somebody_wants_it() -> None:
    end = RunStop(session_id="s", last_text="")
    chain = hooks(Saying({"a": NO}), spec("a", "Stop"))
    assert await chain.fire(end) == HookVerdict(decision="deny", reason="no")
    chain = hooks(Saying({"a": NO, "b": HookAnswer(stop=True)}), spec("a", "Stop"), spec("b", "Stop"))
    assert await chain.fire(end) == HookVerdict()


async def test_the_same_hook_is_asked_once_and_the_stricter_way_counts() -> None:
    asker = Saying({"a": HookFailed("broken")})
    chain = hooks(asker, spec("a", on_failure="allow", background=True), spec("a", matcher="Bash"))
    assert (await chain.fire(BEFORE)).decision == "deny"
    assert asker.asked == ["a"]


async def test_matchers_conditions_and_once_choose() -> None:
    asker = Saying(dict.fromkeys("abcd", YES))
    chain = hooks(
        asker,
        spec("a", matcher="Read"),
        spec("b", condition="rm"),
        spec("c", condition="ls"),
        spec("d", once=True),
    )
    await chain.fire(BEFORE)
    await chain.fire(BEFORE)
    assert sorted(asker.asked) == ["c", "c", "d"]


async def test_a_hook_in_the_background_is_waited_for_only_at_the_end() -> None:
    gate = anyio.Event()
    asker = Saying({"a": NO}, waits={"a": gate})
    async with anyio.create_task_group() as group:
        chain = hooks(asker, spec("a", background=True), tasks=group)
        assert await chain.fire(BEFORE) == HookVerdict()
        gate.set()
        await chain.aclose()
        assert asker.asked == ["a"]


async def test_what_fails_in_the_background_is_told_and_ends_nothing() -> None:
    heard: list[tuple[str, str]] = []
    async with anyio.create_task_group() as group:
        chain = hooks(Saying({"a": ValueError("x")}), spec("a", background=True), told=heard, tasks=group)
        assert await chain.fire(BEFORE) == HookVerdict()
    assert heard == [("hook_failed", "hooks a: ValueError: x")]


async def test_a_kind_that_nobody_asks_is_refused() -> None:
    with pytest.raises(BadHook, match="nothing here can run"):
        hooks(Saying({}), HookSpec(event="Stop", kind="http", place="x", url="https://a.example/"))
