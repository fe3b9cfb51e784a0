"""The desk: one queue for all questions, each answered once, withdrawn ones gone."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from caliban_agent_core.ports import ApprovalRequest
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.tool import ToolSpec
from caliban_tui.question.asked import (
    AnswerOption,
    CallAnswer,
    CallBrief,
    CallQuestion,
    ChoiceQuestion,
    ChosenAnswer,
    PersonAnswer,
    RulePlace,
)
from caliban_tui.question.desk import ApprovalDesk

pytestmark = pytest.mark.anyio
TOOL = ToolSpec(name="Bash", description="", input_schema={})
OPTIONS = (AnswerOption(key="y", value="yes", label="yes"), AnswerOption(key="n", value="no", label="no"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def request(command: str) -> ApprovalRequest:
    call = ToolUseBlock(id=command, name="Bash", input={"command": command})
    return ApprovalRequest(call=call, tool=TOOL, reason="", suggestions=(f"Bash:{command}",))


class FakeHost:
    """Keeps rules until one is refused; `bad` is a pattern that is."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, ...]] = []
        self.modes: list[str] = []
        self.bad = ""

    async def brief(self, request: ApprovalRequest) -> CallBrief:
        text = str(request.call.input["command"])
        return CallBrief(text=text, places=(RulePlace(place="user", label="for me", file="/f"),))

    async def keep_rules(self, patterns: tuple[str, ...], answer: CallAnswer, place: str) -> str | None:
        if self.bad in patterns:
            return "it matches nothing"
        self.kept.append((*patterns, answer.action, place))
        return None

    def after_plan(self, mode: str) -> None:
        self.modes.append(mode)


class Table:
    """A desk with a clock that tests move, and what was answered at it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.host = FakeHost()
        self.desk = ApprovalDesk(lambda: None, clock=lambda: self.now_s)
        self.desk.host = self.host
        self.answers: dict[str, Decision | PersonAnswer] = {}

    async def approve(self, command: str) -> None:
        self.answers[command] = await self.desk.approve(request(command))

    async def ask(self, title: str) -> None:
        self.answers[title] = await self.desk.ask(ChoiceQuestion(title=title, options=OPTIONS))

    async def until(self, is_so: Callable[[], object]) -> None:
        with anyio.fail_after(60):
            while not is_so():
                await anyio.sleep(0)

    def press(self, *keys: str) -> list[bool]:
        self.now_s += 1.0
        return [self.desk.key(key) for key in keys]

    @property
    def shown(self) -> str:
        question = self.desk.open
        assert question is not None
        asked = question.asked
        return str(asked.request.call.input["command"]) if isinstance(asked, CallQuestion) else asked.title


async def test_questions_of_all_kinds_wait_in_one_queue_and_the_next_one_waits_for_a_pause() -> None:
    table = Table()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(table.approve, "first")
        await table.until(lambda: table.desk.open is not None)
        tasks.start_soon(table.ask, "second")
        await table.until(lambda: table.desk.open is not None and table.desk.open.waiting == 1)
        assert table.shown == "first"
        assert table.press("y", "y") == [True, False], "the second key came before the next question"
        await table.until(lambda: "first" in table.answers)
        assert table.shown == "second" and table.desk.key("y") is False
        assert table.press("n") == [True]
        await table.until(lambda: table.desk.open is None)
    assert table.answers == {
        "first": Decision(action="allow", by="person"),
        "second": ChosenAnswer(value="no"),
    }
    assert table.press("y") == [False]


async def test_a_question_whose_asker_is_gone_is_gone_and_the_next_is_shown() -> None:
    table = Table()
    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def withdrawn() -> None:
            with scope:
                await table.approve("first")

        tasks.start_soon(withdrawn)
        await table.until(lambda: table.desk.open is not None)
        tasks.start_soon(table.approve, "second")
        await table.until(lambda: table.desk.open is not None and table.desk.open.waiting == 1)
        scope.cancel()
        await table.until(lambda: table.shown == "second")
        table.press("n")
        await table.until(lambda: table.desk.open is None)
    assert list(table.answers) == ["second"]


async def test_a_rule_that_cannot_be_kept_is_told_and_asked_again() -> None:
    table = Table()
    table.host.bad = "Bash:first"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(table.approve, "first")
        await table.until(lambda: table.desk.open is not None)
        table.press("Y", "down", "enter")
        await table.until(lambda: table.desk.open is not None and table.desk.open.hint)
        assert table.desk.open is not None and table.desk.open.hint == "it matches nothing"
        assert table.answers == {}
        table.press("e", *"!", "enter", "down", "enter")
        await table.until(lambda: "first" in table.answers)
    assert table.host.kept == [("Bash:first!", "allow", "user")]
    assert table.answers["first"] == Decision(action="allow", by="person")


async def test_a_plan_is_approved_with_the_mode_that_follows() -> None:
    table = Table()
    tool = ToolSpec(name="ExitPlanMode", description="", input_schema={}, ends_plan=True)
    call = ToolUseBlock(id="p", name="ExitPlanMode", input={"plan": "do it"})
    decisions: list[Decision] = []

    async def ask() -> None:
        decisions.append(await table.desk.approve(ApprovalRequest(call=call, tool=tool, reason="")))

    for keys in (("a",), ("y",), ("n", *"not so", "enter"), ("escape", "escape")):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await table.until(lambda: table.desk.open is not None)
            table.press(*keys)
    assert [decision.action for decision in decisions] == ["allow", "allow", "deny", "deny"]
    assert "not so" in decisions[2].reason and table.host.modes == ["acceptEdits"]


async def test_a_paste_makes_the_question_wait_again() -> None:
    table = Table()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(table.ask, "one")
        await table.until(lambda: table.desk.open is not None)
        table.now_s += 1.0
        table.desk.touched()
        assert table.desk.key("y") is False
        table.press("y")
    assert table.answers == {"one": ChosenAnswer(value="yes")}
