"""The log of decisions hears the last word on each call, whoever said it, before the call runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from loop_kit import DONE, Stub, play, three

from caliban_agent_core import Agent, AgentOptions, Gate
from caliban_agent_core.ports import JudgedCall
from caliban_common.hook import HookEvent, HookVerdict
from caliban_common.permission import Decision, RuleMatch
from caliban_common.tool import ToolOutput, ToolSpec
from caliban_provider.testing.scripted import ScriptedProvider, reply

pytestmark = pytest.mark.anyio
MATCH = RuleMatch(pattern="a", action="ask", source="user")


class Log:
    """A log that remembers, and that may fail."""

    def __init__(self, fault: str | None = None, watched: Stub | None = None) -> None:
        self.said: list[JudgedCall] = []
        self.ran_before: list[int] = []
        self._fault = fault
        self._watched = watched

    def record(self, judged: JudgedCall) -> str | None:
        self.said.append(judged)
        self.ran_before.append(len(self._watched.calls) if self._watched else 0)
        return self._fault

    @property
    def words(self) -> list[tuple[str, str, str | None]]:
        return [(judged.call.name, judged.decision.action, judged.decision.by) for judged in self.said]


class Says:
    """Rules, hooks and a person at once: each says what a test says."""

    def __init__(self, rules: Decision, hook: HookVerdict | None = None, person: str = "allow") -> None:
        self._rules, self._hook, self._person = rules, hook or HookVerdict(), person

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return self._rules

    async def fire(self, event: HookEvent) -> HookVerdict:
        return self._hook if event.type == "PreToolUse" else HookVerdict()

    async def approve(self, request: Any) -> Decision:
        return Decision(action=self._person, reason="the person")


ALLOW = Decision(action="allow", by="rule", match=MATCH)
DENY = Decision(action="deny", by="rule")
ASK = Decision(action="ask", match=MATCH)


@pytest.mark.parametrize(
    ("says", "approves", "expected"),
    [
        (Says(ALLOW), False, ("allow", "rule")),
        (Says(DENY), False, ("deny", "rule")),
        (Says(ASK), False, ("deny", "headless")),
        (Says(ASK), True, ("allow", "person")),
        (Says(ASK, person="deny"), True, ("deny", "person")),
        (Says(ASK, person="ask"), True, ("ask", "person")),
        (Says(ALLOW, HookVerdict(decision="deny")), True, ("deny", "hook")),
        (Says(ALLOW, HookVerdict(decision="ask")), False, ("deny", "headless")),
    ],
)
async def test_each_call_is_heard_of_once_with_who_decided(says, approves, expected):
    tool = Stub("a")
    log = Log(watched=tool)
    gate = Gate(rules=says, approver=says if approves else None, log=log)
    options = AgentOptions(session_id="s", agent="helper")
    agent = Agent(
        ScriptedProvider([three("a"), reply(DONE)]), "m", tools=[tool], gate=gate, hooks=says, options=options
    )
    await play(agent)
    assert log.words == [("a", *expected)]
    assert (log.said[0].session_id, log.said[0].agent, log.said[0].turn) == ("s", "helper", 0)
    assert log.ran_before == [0]
    assert bool(tool.calls) is (expected[0] == "allow")
    if expected[1] in ("person", "rule") and expected != ("deny", "rule"):
        assert log.said[0].decision.match == MATCH


async def test_calls_that_cannot_be_judged_are_heard_of_too():
    log = Log()
    agent = Agent(
        ScriptedProvider([three("a", "gone"), reply(DONE)]), "m", tools=[Stub("a")], gate=Gate(log=log)
    )
    await play(agent)
    assert log.words == [("a", "allow", None), ("gone", "deny", "check")]


@pytest.mark.parametrize("rules", [ALLOW, ASK])
async def test_a_call_whose_decision_had_to_be_kept_and_was_not_does_not_run(rules):
    tool, says = Stub("a"), Says(rules)
    gate = Gate(rules=says, approver=says, log=Log("the log is full"))
    _, outcome = await play(Agent(ScriptedProvider([three("a"), reply(DONE)]), "m", tools=[tool], gate=gate))
    (result,) = (block for message in outcome.messages for block in message.tool_results)
    assert (tool.calls, result.content[0].text) == ([], "Tool call denied: the log is full")


class Fenced(Stub):
    """A tool that refuses what it was allowed to be asked."""

    async def invoke(self, args: Mapping[str, Any], ctx: Any) -> ToolOutput:
        return ToolOutput(content=(), is_error=True, refused=True)


async def test_what_the_tool_itself_refuses_is_a_second_line():
    log = Log()
    gate = Gate(rules=Says(ALLOW), log=log)
    await play(Agent(ScriptedProvider([three("a"), reply(DONE)]), "m", tools=[Fenced("a")], gate=gate))
    assert log.words == [("a", "allow", "rule"), ("a", "deny", "fence")]
