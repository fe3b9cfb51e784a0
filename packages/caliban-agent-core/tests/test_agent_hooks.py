"""What hooks are told, and what becomes of each thing that they may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from loop_kit import DONE, Rules, Stub, of, play, three, user_texts

from caliban_agent_core import Agent, AgentOptions, ApprovalRequest, Gate
from caliban_common.event import HookFired, MessageAdded, ToolCallEnd, Warned
from caliban_common.hook import HookEvent, HookVerdict, RunStop
from caliban_common.message import Message, TextBlock, user
from caliban_common.permission import Decision
from caliban_common.tool import ToolSpec
from caliban_provider.capabilities import Capabilities
from caliban_provider.testing.scripted import Reply, ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio

NOTHING = HookVerdict()
DENY = HookVerdict(decision="deny", reason="not today")


class Answering:
    """Hooks that answer each kind of event with a verdict, and remember what they were told."""

    def __init__(self, **verdicts: HookVerdict | Callable[[Any], HookVerdict]) -> None:
        self._verdicts = verdicts
        self.events: list[HookEvent] = []

    async def fire(self, event: HookEvent) -> HookVerdict:
        self.events.append(event)
        verdict = self._verdicts.get(event.type, NOTHING)
        return verdict(event) if callable(verdict) else verdict

    @property
    def names(self) -> list[str]:
        return [event.type for event in self.events]


class Person:
    """An approver that says what a test says, and remembers what it was asked."""

    def __init__(self, action: Any) -> None:
        self._action = action
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request)
        return Decision(action=self._action, reason="said the person")


def calling(hooks: Answering, *tools: Stub, gate: Gate | None = None, **options: Any) -> Agent:
    """An agent whose model calls every one of `tools` in one reply, and is done."""
    provider = ScriptedProvider([three(*(tool.name for tool in tools)), reply(DONE)])
    return Agent(provider, "m", tools=tools, hooks=hooks, gate=gate, options=AgentOptions(**options))


def results(messages: tuple[Message, ...]) -> list[str]:
    return [
        "\n".join(part.text for part in block.content if isinstance(part, TextBlock))
        for message in messages
        for block in message.tool_results
    ]


async def test_hooks_are_told_of_everything_in_order_and_readers_what_they_decided():
    hooks = Answering(PreToolUse=DENY)
    events, outcome = await play(calling(hooks, Stub("a"), session_id="s"))
    fired = [(event.name, dict(event.payload)) for event in of(events, HookFired)]
    call = {"tool_use_id": "id_a", "matcher": "a"}
    assert fired == [
        ("UserPromptSubmit", {"decision": "allow"}),
        ("PreTurn", {"turn_index": 0, "decision": "allow"}),
        ("PreToolUse", {"turn_index": 0, **call, "decision": "deny"}),
        ("PermissionDenied", {"turn_index": 0, **call, "decision": "allow"}),
        ("PostToolBatch", {"turn_index": 0, "tool_use_ids": ["id_a"], "decision": "allow"}),
        ("PostTurn", {"turn_index": 0, "decision": "allow"}),
        ("PreTurn", {"turn_index": 1, "decision": "allow"}),
        ("PostTurn", {"turn_index": 1, "decision": "allow"}),
        ("Stop", {"again": False, "decision": "allow"}),
    ]
    assert {event.session_id for event in hooks.events} == {"s"}
    assert hooks.events[-1] == RunStop(session_id="s", last_text=DONE)
    assert results(outcome.messages) == ["Tool call denied: not today"]


async def test_a_denied_prompt_never_enters_the_history():
    before = (user("one"), *(await play(Agent(ScriptedProvider([reply("x")]), "m"), "one"))[1].messages[1:])
    provider = ScriptedProvider([])
    agent = Agent(provider, "m", hooks=Answering(UserPromptSubmit=DENY))
    outcome = await agent.run_to_end([*before, user("secret")])
    assert (outcome.stop.kind, outcome.stop.message) == ("hook_denied", "a hook denied the run: not today")
    assert outcome.messages == before
    assert provider.requests == []


async def test_a_prompt_that_was_judged_before_is_not_judged_again():
    hooks = Answering(UserPromptSubmit=DENY)
    agent = Agent(ScriptedProvider([reply(DONE)]), "m", hooks=hooks)
    async with agent.run("go", judged=True) as run:
        async for _ in run.events:
            pass
    assert run.outcome.stop.ok
    assert hooks.names == ["PreTurn", "PostTurn", "Stop"]


async def test_an_ask_leaves_the_call_to_a_person_also_where_the_rules_allow_it():
    for action, ran in (("allow", True), ("deny", False)):
        person, tool = Person(action), Stub("a")
        hooks = Answering(PreToolUse=HookVerdict(decision="ask", reason="a look at it"))
        gate = Gate(rules=Rules(denied=()), approver=person)
        await play(calling(hooks, tool, gate=gate))
        assert [request.reason for request in person.asked] == ["a look at it"]
        assert bool(tool.calls) is ran


async def test_an_ask_asks_nobody_about_what_the_rules_deny_and_denies_where_nobody_is():
    person, tool = Person("allow"), Stub("a")
    hooks = Answering(PreToolUse=HookVerdict(decision="ask"))
    _, outcome = await play(calling(hooks, tool, gate=Gate(rules=Rules(denied=("a",)), approver=person)))
    assert (person.asked, tool.calls) == ([], [])
    assert results(outcome.messages) == ["Tool call denied: by the test"]
    _, outcome = await play(calling(hooks, tool))
    assert results(outcome.messages) == ["Tool call denied: a hook wants a person to decide"]


class NoSecrets:
    """Rules that deny an input with a secret."""

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        secret = args.get("path") == "secret"
        return Decision(action="deny" if secret else "allow", reason="a secret")


@pytest.mark.parametrize(("path", "ran"), [("plain", [{"path": "plain"}]), ("secret", [])])
async def test_a_changed_input_is_what_the_rules_judge_and_the_tool_gets(path, ran):
    tool = Stub("a")
    hooks = Answering(PreToolUse=HookVerdict(updated_input={"path": path}))
    await play(calling(hooks, tool, gate=Gate(rules=NoSecrets())))
    assert tool.calls == ran


class Spelling:
    """Rules that allow an input in a spelling of their own, or ask about it."""

    def __init__(self, action: str) -> None:
        self.action = action

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return Decision(action=self.action, updated_input={"path": "judged"})


@pytest.mark.parametrize(("action", "ran"), [("allow", "judged"), ("ask", "given")])
async def test_what_a_rule_allows_runs_as_it_was_judged_and_what_a_person_allows_as_it_was_shown(action, ran):
    tool, person = Stub("a"), Person("allow")
    hooks = Answering(PreToolUse=HookVerdict(updated_input={"path": "given"}))
    await play(calling(hooks, tool, gate=Gate(rules=Spelling(action), approver=person)))
    assert tool.calls == [{"path": ran}]


async def test_a_changed_output_is_all_that_the_model_and_the_readers_see():
    text = TextBlock(text="nothing to see")
    hooks = Answering(PostToolUse=HookVerdict(updated_output=(text,)))
    events, outcome = await play(calling(hooks, Stub("a", output="a secret")))
    assert results(outcome.messages) == ["nothing to see"]
    assert of(events, ToolCallEnd)[0].result.content == (text,)


async def test_a_changed_output_has_the_same_cap():
    text = TextBlock(text="y" * 500)
    hooks = Answering(PostToolUse=HookVerdict(updated_output=(text,)))
    _, outcome = await play(calling(hooks, Stub("a"), tool_result_cap_chars=100))
    assert results(outcome.messages)[0].startswith("[truncated: 500 chars")


async def test_what_hooks_add_is_read_by_the_model_and_marked_as_theirs():
    def saying(text: str) -> HookVerdict:
        return HookVerdict(added_context=text)

    names = ("UserPromptSubmit", "PreTurn", "PreToolUse", "PostToolUse", "PostTurn")
    hooks = Answering(**{name: saying(f"{name}!") for name in names})
    events, outcome = await play(calling(hooks, Stub("a")))

    def marked(name: str) -> str:
        return f'<hook event="{name}">\n{name}!\n</hook>'

    assert user_texts(outcome.messages) == [
        "go",
        marked("UserPromptSubmit"),
        marked("PreTurn"),
        marked("PostTurn"),
        marked("PreTurn"),
        marked("PostTurn"),
    ]
    assert results(outcome.messages) == [f"ok\n{marked('PreToolUse')}\n{marked('PostToolUse')}"]
    injected = [event.message for event in of(events, MessageAdded) if event.injected]
    assert [message.text for message in injected] == user_texts(outcome.messages)[1:]


@pytest.mark.parametrize(
    "name", ["UserPromptSubmit", "PreTurn", "PreToolUse", "PostToolUse", "PostTurn", "Stop"]
)
async def test_a_stop_ends_the_run_after_the_event(name):
    first, second = Stub("a"), Stub("b")
    hooks = Answering(**{name: HookVerdict(stop=True, reason="enough")})
    agent = calling(hooks, first, second)
    _, outcome = await play(agent)
    assert outcome.stop.kind == "hook_denied"
    assert "enough" in outcome.stop.message
    ran = {"PostToolUse": 1, "PostTurn": 1, "Stop": 1}.get(name, 0)
    assert (len(first.calls), len(second.calls)) == (ran, ran)
    assert outcome.turns == {"UserPromptSubmit": 0, "PreTurn": 0, "Stop": 2}.get(name, 1)
    answered = {block.tool_use_id for message in outcome.messages for block in message.tool_results}
    called = {call.id for message in outcome.messages for call in message.tool_uses}
    assert answered == called


async def test_a_stop_in_the_middle_of_a_reply_keeps_its_other_calls_from_running():
    first, second = Stub("a"), Stub("b")
    hooks = Answering(PreToolUse=lambda event: HookVerdict(stop=event.call.name == "b", reason="enough"))
    _, outcome = await play(calling(hooks, first, second))
    assert (first.calls, second.calls) == ([], [])
    assert results(outcome.messages) == ["Tool call denied: a hook stopped the run: enough"] * 2


async def test_hooks_keep_a_run_going_three_times_at_most():
    hooks = Answering(Stop=HookVerdict(decision="deny", reason="the tests are red"))
    provider = ScriptedProvider([reply(f"done {number}") for number in range(4)])
    events, outcome = await play(Agent(provider, "m", hooks=hooks))
    assert (outcome.stop.kind, outcome.turns) == ("end_of_turn", 4)
    assert user_texts(outcome.messages) == ["go", *["the tests are red"] * 3]
    stops = [event for event in hooks.events if isinstance(event, RunStop)]
    assert [(stop.last_text, stop.again) for stop in stops] == [
        ("done 0", False),
        ("done 1", True),
        ("done 2", True),
        ("done 3", True),
    ]
    assert [event.subtype for event in of(events, Warned)] == ["hook_continuations"]


async def test_an_end_of_another_kind_is_not_held_up():
    hooks = Answering(Stop=DENY)
    provider = ScriptedProvider([reply("no", stop_reason="refusal")])
    _, outcome = await play(Agent(provider, "m", hooks=hooks))
    assert outcome.stop.kind == "refusal"
    assert "Stop" not in hooks.names


def long_conversation() -> Callable[[Any], Reply]:
    """A model that calls a tool until it has a summary before it."""

    def answer(request: Any) -> Reply:
        if not request.tools:
            return reply("what was said")
        summarised = any("Summary of earlier" in message.text for message in request.messages)
        return reply(DONE) if summarised or len(request.messages) > 30 else reply(tool_call("a"))

    return answer


async def test_hooks_hear_of_compaction_before_and_after():
    hooks = Answering()
    provider = ScriptedProvider(long_conversation(), capabilities=Capabilities(context_tokens=2000))
    agent = Agent(provider, "m", tools=[Stub("a", output="y" * 800)], hooks=hooks)
    _, outcome = await play(agent)
    assert outcome.stop.ok
    names = [name for name in hooks.names if "Compact" in name]
    assert names == ["PreCompact", "PostCompact"]


async def test_a_compaction_that_hooks_deny_does_not_happen():
    hooks = Answering(PreCompact=DENY)
    provider = ScriptedProvider(long_conversation(), capabilities=Capabilities(context_tokens=2000))
    agent = Agent(provider, "m", tools=[Stub("a", output="y" * 800)], hooks=hooks)
    _, outcome = await play(agent)
    assert outcome.stop.ok
    assert not any("Summary of earlier" in message.text for message in outcome.messages)
    assert "PostCompact" not in hooks.names


async def test_a_run_that_is_cancelled_while_its_prompt_is_judged_has_not_taken_it_in():
    asked = anyio.Event()

    class Slow:
        async def fire(self, event: HookEvent) -> HookVerdict:
            asked.set()
            await anyio.sleep_forever()
            return NOTHING

    agent = Agent(ScriptedProvider([]), "m", hooks=Slow())
    with anyio.fail_after(HANG_S):
        async with agent.run("go") as run:
            await asked.wait()
            run.cancel()
            async for _ in run.events:
                pass
    assert (run.outcome.stop.kind, run.outcome.messages) == ("cancelled", ())
