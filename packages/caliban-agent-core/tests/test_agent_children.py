"""Sub-agents: a history, tools and limits of their own; the gate, hooks and money of who starts them."""

from __future__ import annotations

import anyio
import pytest
from children_kit import Listening, asked, by_agent, delegate, family
from hang_guard import HANG_S
from loop_kit import Rules, Stub, of, play

from caliban_agent_core import AgentOptions, Gate, tool
from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_agent_core.subagent.reach import matches
from caliban_agent_core.subagent.spec import agent_spec
from caliban_common.event import ChildEvent, RunEnd, ToolCallEnd
from caliban_common.history import TargetModel, repair
from caliban_common.message import Message
from caliban_provider.testing.scripted import reply, tool_call

pytestmark = pytest.mark.anyio

NAME = GENERAL.name
EXPLORER = AgentDefinition(
    name="explorer",
    description="reads",
    prompt="You read.",
    tools=("Re*",),
    model="small",
    effort="low",
    max_turns=3,
    initial_prompt="Begin with the README.",
)


def results(messages: tuple[Message, ...]) -> list[tuple[str, bool]]:
    """The texts of all results in a history, and which are errors."""
    blocks = (block for message in messages for block in message.tool_results)
    return ["".join(part.text for part in block.content if part.type == "text") for block in blocks]  # type: ignore


async def test_an_agent_has_a_history_of_its_own_and_its_last_message_is_the_result():
    provider = by_agent(
        {
            "": [reply("So.", delegate("find x")), reply("Thanks.")],
            NAME: [reply(tool_call("Read", id="r1")), reply("x is 1.")],
        }
    )
    events, end = await play(family(provider, tools=[Stub("Read", kind="read")]), "go")
    assert results(end.messages) == ["x is 1."]
    first = asked(provider, NAME)[0]
    assert [(m.role, m.text) for m in first.messages[1:]] == [("user", "find x")]
    assert first.messages[0].text.endswith("Working directory: /work")
    assert [spec.name for spec in first.tools] == ["Read"]
    assert [spec.name for spec in asked(provider, "")[0].tools] == ["Read", "Agent"]
    inside = of(events, ChildEvent)
    assert {(child.tool_use_id, child.agent) for child in inside} == {("d1", NAME)}
    assert isinstance(inside[-1].event, RunEnd)
    (ended,) = of(events, ToolCallEnd)
    assert ended.details == {
        "agent": NAME,
        "stop": "end_of_turn",
        "turns": 2,
        "tool_calls": 1,
        "input_tokens": 20,
        "output_tokens": 10,
    }


async def test_a_definition_says_prompt_tools_model_effort_and_turns():
    calls = [reply(tool_call("Read")) for _ in range(5)]
    provider = by_agent({"": [reply(delegate(subagent_type="explorer")), reply("ok")], "explorer": calls})
    agent = family(provider, tools=[Stub("Read"), Stub("Remove"), Stub("Write")], kinds=(GENERAL, EXPLORER))
    _, end = await play(agent)
    first = asked(provider, "explorer")[0]
    assert first.messages[0].text.startswith("You read.\n\n")
    assert first.messages[1].text == "Begin with the README.\n\nlook"
    assert ([spec.name for spec in first.tools], first.model, first.effort) == (
        ["Read", "Remove"],
        "small",
        "low",
    )
    assert len(asked(provider, "explorer")) == 3
    assert results(end.messages) == [
        "Error: the agent ended before it was done: the run reached its limit of 3 turns"
    ]


async def test_a_call_narrows_the_tools_and_names_the_model():
    provider = by_agent(
        {
            "": [reply(delegate(tools=["Read", "Fly"], model="large")), reply("ok")],
            NAME: [reply("done")],
        }
    )
    _, end = await play(family(provider, tools=[Stub("Read"), Stub("Write")]))
    (first,) = asked(provider, NAME)
    assert ([spec.name for spec in first.tools], first.model) == (["Read"], "large")
    assert results(end.messages) == ["done\n\n[it had no tool Fly]"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"subagent_type": "general"}, f"there is no agent 'general' (there are: {NAME})"),
        ({"prompt": " "}, "the prompt is empty"),
        ({"tools": 5}, "argument 'tools' must be a list of the names of tools"),
        ({"depth": 3}, "unknown argument 'depth'"),
    ],
)
async def test_what_is_wrong_with_a_call_is_answered_in_words(args, words):
    provider = by_agent({"": [reply(delegate(**{"prompt": "p", **args})), reply("ok")]})
    _, end = await play(family(provider))
    (text,) = results(end.messages)
    assert text.startswith(f"Error: invalid input: Agent: {words}")


async def test_an_agent_passes_the_gate_and_the_hooks_of_its_caller_under_its_own_name():
    hooks = Listening()
    provider = by_agent(
        {"": [reply(delegate()), reply("ok")], NAME: [reply(tool_call("Write")), reply("I may not.")]}
    )
    writing = Stub("Write", kind="edit")
    agent = family(provider, tools=[writing], gate=Gate(rules=Rules(denied=("Write",))), hooks=hooks)
    events, _ = await play(agent)
    assert writing.calls == []
    inside = [child.event for child in of(events, ChildEvent)]
    assert [(end.outcome, end.reason) for end in of(inside, ToolCallEnd)] == [("denied", "by the test")]
    assert ("PreToolUse", NAME) in hooks.seen
    assert [name for name, who in hooks.seen if who == NAME and "agent" in name] == [
        "SubagentStart",
        "SubagentStop",
    ]
    assert ("Stop", "") in hooks.seen and ("Stop", NAME) not in hooks.seen


async def test_a_hook_that_objects_keeps_an_agent_from_starting():
    provider = by_agent({"": [reply(delegate()), reply("ok")]})
    _, end = await play(family(provider, hooks=Listening("SubagentStart")))
    assert results(end.messages) == ["Error: a hook denied the agent: not today"]


async def test_a_hook_can_keep_an_agent_going_past_its_end():
    provider = by_agent(
        {"": [reply(delegate()), reply("ok")], NAME: [reply(f"answer {n}") for n in range(4)]}
    )
    _, end = await play(family(provider, hooks=Listening("SubagentStop")))
    assert results(end.messages) == ["answer 3"]


async def test_a_long_last_message_is_cut_in_the_middle():
    text = "a" * 4000 + "b" * 4000
    provider = by_agent({"": [reply(delegate()), reply("ok")], NAME: [reply(text)]})
    _, end = await play(family(provider))
    (short,) = results(end.messages)
    assert len(short) <= 5000
    assert (short[0], short[-1]) == ("a", "b")
    assert "characters or more left out" in short


async def test_one_agent_is_stopped_and_everybody_else_goes_on():
    never = Stub("Never", until=anyio.Event())
    provider = by_agent(
        {
            "": [reply(delegate("hang", id="d1"), delegate("answer", id="d2")), reply("Fine.")],
            NAME: lambda request: (
                reply(tool_call("Never")) if request.messages[-1].text == "hang" else reply("yes")
            ),
        }
    )
    agent = family(provider, tools=[never])
    with anyio.fail_after(HANG_S):
        async with agent.run("go") as run:
            ended = []
            async for event in run.events:
                if isinstance(event, ToolCallEnd):
                    ended.append((event.result.tool_use_id, event.outcome))
                    if event.result.tool_use_id == "d2":
                        assert run.stop_call("d1")
                        assert not run.stop_call("d9")
    assert ended == [("d2", "ran"), ("d1", "interrupted")]
    assert run.outcome.stop.ok
    assert results(run.outcome.messages) == ["[stopped: the user ended this call]", "yes"]
    assert never.running == 0


async def test_calls_that_share_an_id_are_stopped_together_whichever_ends_first():
    never = Stub("Never", until=anyio.Event())
    provider = by_agent(
        {
            "": [reply(delegate("hang", id="d"), delegate("quick", id="d")), reply("Done.")],
            NAME: lambda request: (
                reply(tool_call("Never")) if request.messages[-1].text == "hang" else reply("yes")
            ),
        }
    )
    with anyio.fail_after(HANG_S):
        async with family(provider, tools=[never]).run("go") as run:
            async for event in run.events:
                if isinstance(event, ToolCallEnd) and event.outcome == "ran":
                    assert run.stop_call("d")
    assert results(run.outcome.messages) == ["[stopped: the user ended this call]", "yes"]


async def test_a_cancelled_run_takes_its_agents_with_it_and_stays_valid():
    never = Stub("Never", until=anyio.Event())
    provider = by_agent({"": [reply(delegate())], NAME: [reply(tool_call("Never"))]})
    with anyio.fail_after(HANG_S):
        async with family(provider, tools=[never]).run("go") as run:
            async for event in run.events:
                if isinstance(event, ChildEvent) and event.event.type == "tool_call_ready":  # type: ignore
                    run.cancel()
    end = run.outcome
    assert (end.stop.kind, never.running) == ("cancelled", 0)
    assert repair(end.messages, TargetModel(family="scripted", model="m")) is end.messages


async def test_agents_of_one_reply_run_side_by_side_up_to_the_cap():
    stub = Stub("Work", together=2)
    many = [delegate(str(n), id=f"d{n}") for n in range(4)]
    provider = by_agent(
        {
            "": [reply(*many), reply("ok")],
            NAME: lambda request: (
                reply("done") if request.messages[-1].tool_results else reply(tool_call("Work"))
            ),
        }
    )
    _, end = await play(family(provider, tools=[stub], max_at_once=2))
    assert (stub.peak, len(stub.calls), results(end.messages)) == (2, 4, ["done"] * 4)


async def test_agents_start_agents_down_to_the_depth_that_is_allowed():
    offered = []

    def child(request):
        offered.append([spec.name for spec in request.tools])
        if request.messages[-1].text == "deeper":
            return reply(delegate("bottom"))
        return reply("done")

    provider = by_agent({"": [reply(delegate("deeper")), reply("ok")], NAME: child})
    events, end = await play(family(provider, max_depth=2, max_at_once=1))
    assert offered == [["Agent"], [], ["Agent"]]
    assert results(end.messages) == ["done"]
    nested = [child.event for child in of(events, ChildEvent) if isinstance(child.event, ChildEvent)]
    assert nested and {child.agent for child in nested} == {NAME}


async def test_a_run_with_few_turns_gives_its_agents_no_more():
    provider = by_agent({"": [reply(delegate()), reply("ok")], NAME: lambda _: reply(tool_call("Read"))})
    await play(family(provider, tools=[Stub("Read")], options=AgentOptions(max_turns=2)))
    assert len(asked(provider, NAME)) == 2


def test_the_tool_tells_of_each_kind_in_a_line():
    spec = agent_spec((GENERAL, AgentDefinition(name="long", description="x\n" * 400)))
    lines = spec.description.splitlines()[1:]
    assert lines[0] == f"- {NAME}: any task of several steps"
    assert len(lines) == 2 and len(lines[1]) < 320
    assert spec.kind == "session"


async def test_what_belongs_to_the_callers_session_is_an_agents_where_its_definition_says_so():
    listed = AgentDefinition(name="lister", description="lists", tools=("Read", "Tasks"))
    provider = by_agent(
        {
            "": [reply(delegate(), delegate(subagent_type="lister", id="d2")), reply("ok")],
            NAME: [reply("one")],
            "lister": [reply("two")],
        }
    )
    tools = [Stub("Read", kind="read"), Stub("Tasks", kind="session")]
    await play(family(provider, tools=tools, kinds=(GENERAL, listed)))
    offered = {who: [spec.name for spec in asked(provider, who)[0].tools] for who in (NAME, "lister")}
    assert offered == {NAME: ["Read"], "lister": ["Read", "Tasks"]}


async def test_an_agent_that_only_reads_is_offered_nothing_else():
    reader = AgentDefinition(name="reader", description="reads", reads_only=True)
    provider = by_agent({"": [reply(delegate()), reply("ok")], "reader": [reply("done")]})
    await play(
        family(provider, tools=[Stub("Read", kind="read"), Stub("Write", kind="edit")], kinds=(reader,))
    )
    assert [spec.name for spec in asked(provider, "reader")[0].tools] == ["Read"]


async def test_long_results_of_agents_take_no_place_of_each_others_or_of_their_callers(tmp_path):
    """Servers number calls: an agent's may be called as its caller's, and two agents' as each other's."""
    texts = iter("abcd")
    provider = by_agent(
        {
            "": [
                reply(tool_call("Read", id="c0")),
                reply(delegate(id="c0")),
                reply(delegate(id="c0")),
                reply("ok"),
            ],
            NAME: [reply(tool_call("Read", id="c0")), reply("done")] * 2,
        }
    )
    options = AgentOptions(session_id="sess", tool_result_cap_chars=300, overflow_dir=tmp_path)

    @tool(name="Read")
    def read() -> str:
        """Read."""
        return next(texts) * 900

    _, outcome = await play(family(provider, tools=[read], options=options))
    assert outcome.stop.ok
    kept = {path.read_text()[:1] for path in tmp_path.rglob("*.txt")}
    assert kept == set("abc")
    assert (tmp_path / "sess" / "c0.txt").read_text() == "a" * 900


@pytest.mark.parametrize(
    ("patterns", "name", "is_meant"),
    [
        (("mcp__docs",), "mcp__docs__read", True),
        (("mcp__doc",), "mcp__docs__read", False),
        (("mcp__docs__",), "mcp__docs__read", False),
        (("Read",), "Read__x", False),
        (("Task",), "Agent", True),
        (("AgentTool",), "Agent", True),
        (("Task",), "TaskList", False),
    ],
)
def test_names_of_tools_mean_for_agents_what_they_mean_in_rules(patterns, name, is_meant):
    assert matches(name, patterns) is is_meant


@pytest.mark.parametrize(
    ("asked_for", "had", "note"),
    [
        ("sonnet", "m", "\n\n[no model is called 'sonnet' here: it had yours]"),
        ("inherit", "m", ""),
        (" ", "m", ""),
        ("other", "other", ""),
    ],
)
async def test_a_call_may_name_the_model_as_other_harnesses_do(asked_for, had, note):
    provider = by_agent(
        {
            "": [reply("So.", delegate("find x", model=asked_for)), reply("Thanks.")],
            NAME: [reply("x is 1.")],
        }
    )
    _, end = await play(family(provider), "go")
    assert results(end.messages) == [f"x is 1.{note}"]
    assert [request.model for request in asked(provider, NAME)] == [had]
