"""The watch over the beginning of the prompt: silent while it holds, and exact about what broke it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from caliban_agent_core import Agent
from caliban_agent_core.prefix import PrefixWatch, fingerprint
from caliban_common.event import Warned
from caliban_common.history import Repairer, TargetModel
from caliban_common.message import ImageBlock, Message, TextBlock, ToolUseBlock, assistant, system, user
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

READ = ToolSpec(name="Read", description="Reads.", input_schema={"type": "object"})
EDIT = ToolSpec(name="Edit", description="Edits.", input_schema={"type": "object"})
BEGUN = (system("You help."), user("Hello"))
CACHED = Usage(input_tokens=5000, cache_read_tokens=4000, cache_write_tokens=1000)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Summary:
    """A compactor whose every summary is another one."""

    made = 0

    async def compact(self, messages, **_: object):
        self.made += 1
        return (user(f"summary {self.made}"), messages[-1])


def request(*messages: Message, **options: object) -> CompletionRequest:
    given = {"model": "m", "max_tokens": 10, "tools": (READ, EDIT), "messages": messages} | options
    return CompletionRequest(**given)


def after(first: CompletionRequest, second: CompletionRequest) -> str | None:
    """The part that the watch names when `second` follows `first`."""
    watch = PrefixWatch()
    assert watch.ask(first, 0) is None
    watch.answered(assistant("Hi"), CACHED)
    warning = watch.ask(second, 0)
    return None if warning is None else warning.details["part"]


GROWN = (*BEGUN, assistant("Hi"), user("On"))


@pytest.mark.parametrize(
    ("second", "part"),
    [
        (request(*GROWN), None),
        (request(*BEGUN), None),
        (request(*GROWN, max_tokens=99), None),
        (request(*GROWN, model="other"), None),
        (request(*GROWN, tools=(READ, EDIT, replace(EDIT, name="More"))), "tool More, which is new"),
        (request(*GROWN, tools=(READ,)), "tool Edit, which is gone"),
        (request(*GROWN, tools=(EDIT, READ)), "tool Edit, which stood elsewhere"),
        (
            request(*GROWN, tools=(replace(READ, description="Reads well."), EDIT)),
            "tool Read, which changed",
        ),
        (request(system("You don't."), *GROWN[1:]), "system message 1, which changed"),
        (request(*GROWN[1:]), "system message 1, which is gone"),
        (request(BEGUN[0], user("Hullo"), *GROWN[2:]), "message 2 (user), block 1 (text), which changed"),
        (request(BEGUN[0], assistant("Hello")), "message 2, which is now of the assistant"),
        (request(BEGUN[0]), "message 2 (user), which is gone"),
        (request(BEGUN[0], Message(role="user", content=(*BEGUN[1].content, TextBlock(text="!")))), None),
    ],
)
def test_the_first_part_that_is_not_what_it_was_is_named(second, part):
    assert after(request(*BEGUN), second) == part


def test_a_message_that_grew_before_others_moved_all_of_them():
    longer = Message(role="user", content=(*BEGUN[1].content, TextBlock(text="!")))
    part = after(request(*GROWN), request(BEGUN[0], longer, *GROWN[2:]))
    assert part == "message 2 (user), block 2, which is new"


def test_equal_messages_that_are_other_objects_are_the_same_beginning():
    twin = tuple(replace(message) for message in GROWN)
    assert after(request(*BEGUN), request(*twin)) is None


def test_a_history_that_was_rewritten_on_purpose_is_no_surprise():
    watch = PrefixWatch()
    watch.ask(request(*GROWN), 0)
    assert watch.ask(request(BEGUN[0], user("A summary")), 1) is None


def test_a_summary_among_the_system_messages_is_no_surprise_now_or_after_a_resume():
    watch = PrefixWatch()
    watch.ask(request(*GROWN), 0)
    shorter = request(BEGUN[0], system("Summary of earlier conversation: they met."), user("On"))
    assert watch.ask(shorter, 1) is None
    assert watch.generation == 1
    assert PrefixWatch(watch.fingerprint).ask(shorter, 0) is None


@pytest.mark.anyio
async def test_a_run_that_rewrites_after_one_that_did_is_no_surprise_either():
    watch = PrefixWatch()
    long = Summary()
    for _ in range(2):
        provider = ScriptedProvider([reply("one")], capabilities=Capabilities(context_tokens=2000))
        agent = Agent(provider, "m", compactor=long)
        async with agent.run((user("x" * 9000), assistant("a"), user("b")), prefix=watch) as run:
            warned = [event async for event in run.events if isinstance(event, Warned)]
            assert [event for event in warned if event.subtype != "status"] == []
    assert (long.made, watch.generation) == (2, 2)


def test_nothing_is_said_where_nothing_is_cached():
    watch = PrefixWatch()
    watch.ask(request(*BEGUN, cache=False), 0)
    assert watch.ask(request(user("x"), cache=False), 0) is None


def test_what_an_earlier_process_left_is_compared_too():
    left = fingerprint(request(*BEGUN))
    assert PrefixWatch(left).ask(request(*GROWN), 0) is None
    warning = PrefixWatch(left).ask(request(*GROWN, tools=(EDIT,)), 0)
    assert warning == Warned(
        subtype="cache_break",
        message="the provider's prompt cache cannot be reused beyond tool Read, which is gone",
        details={"part": "tool Read, which is gone", "cached_tokens": 0},
    )
    assert PrefixWatch(left).ask(request(*GROWN, model="other", tools=()), 0) is None


def test_a_break_says_how_much_was_cached():
    watch = PrefixWatch()
    watch.ask(request(*BEGUN), 0)
    watch.answered(assistant("Hi"), CACHED)
    warning = watch.ask(request(*GROWN, tools=(READ,)), 0)
    assert "(5,000 tokens)" in warning.message
    assert warning.details["cached_tokens"] == 5000


def test_a_cache_that_lost_the_beginning_is_told_once_with_the_time_between():
    clock = Clock()
    watch = PrefixWatch(clock=clock)
    hi = assistant("Hi")
    watch.ask(request(*BEGUN), 0)
    assert watch.answered(hi, CACHED) is None
    clock.now_s = 400.0
    watch.ask(request(*GROWN), 0)
    clock.now_s = 402.0
    warning = watch.answered(hi, replace(CACHED, cache_read_tokens=0, cache_write_tokens=5000))
    assert (warning.subtype, warning.details) == ("cache_miss", {"lost_tokens": 5000, "idle_s": 400.0})
    watch.ask(request(*GROWN), 0)
    assert watch.answered(hi, Usage(input_tokens=5000)) is None


def test_another_model_that_answers_had_nothing_to_lose():
    watch = PrefixWatch()
    watch.ask(request(*BEGUN), 0)
    watch.answered(assistant("Hi"), CACHED)
    watch.ask(request(*GROWN), 0)
    other = replace(assistant("Hi"), family="f", model="fallback")
    assert watch.answered(other, Usage(input_tokens=5000)) is None


WORDS = st.sampled_from(["", " ", "a", "b"])
BLOCKS = st.one_of(
    WORDS.map(lambda word: TextBlock(text=word)),
    st.just(ImageBlock.of(media_type="image/png", data="AA==")),
    st.sampled_from(["", "1", "2"]).map(lambda id: ToolUseBlock(id=id, name="Read", input={})),
)
MESSAGES = st.builds(
    lambda role, content: Message(role=role, content=tuple(content)),
    st.sampled_from(["user", "assistant"]),
    st.lists(BLOCKS, max_size=3),
)


@given(st.lists(MESSAGES, max_size=12))
def test_a_repaired_history_keeps_its_beginning_however_it_grows(messages):
    repairer, watch = Repairer(TargetModel(family="f", model="m")), PrefixWatch()
    history = list(BEGUN)
    for message in messages:
        history.append(message)
        answered = message.role == "user" or not message.tool_uses
        if answered:
            assert watch.ask(request(*repairer.view(history)), 0) is None


@pytest.mark.anyio
async def test_a_run_tells_of_a_break_before_it_asks():
    skills = Capabilities(prompt_cache=True)
    provider = ScriptedProvider([reply("one")], capabilities=skills)
    watch = PrefixWatch({"model": "m", "tool Gone": "0"})
    agent = Agent(provider, "m")
    async with agent.run("Hi", prefix=watch) as run:
        warnings = [event async for event in run.events if isinstance(event, Warned)]
    assert [event.subtype for event in warnings] == ["cache_break"]


@pytest.mark.anyio
async def test_thirty_turns_of_tools_keep_their_beginning(tmp_path):
    replies = [reply(tool_call("nothing", {"n": number})) for number in range(29)]
    provider = ScriptedProvider([*replies, reply("done")])
    agent = Agent(provider, "m")
    async with agent.run("Hi") as run:
        warned = [event async for event in run.events if isinstance(event, Warned)]
    assert warned == []
    assert len(provider.requests) == 30


def test_a_summary_on_a_resume_is_no_surprise() -> None:
    summary = system("Summary of earlier conversation:\nThe port is 8123.")
    known = fingerprint(request(*BEGUN))
    assert PrefixWatch(known).ask(request(BEGUN[0], summary, user("On")), 1) is None
    assert PrefixWatch(fingerprint(request(BEGUN[0], summary, user("On")))).ask(request(*BEGUN), 0) is None
