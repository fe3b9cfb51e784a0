"""Hooks of sessions and prompts: asked before anything is recorded."""

from __future__ import annotations

import anyio
import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban_agent_core import Agent
from caliban_common.event import AgentEvent, HookFired, MessageAdded, RunEnd
from caliban_common.hook import HookEvent, HookVerdict, SessionEnd, SessionStart, UserPromptSubmit
from caliban_common.message import Message, ToolResultBlock, user
from caliban_common.usage import Usage
from caliban_drive import Notice, PromptResult, Reporter, Session, SessionParts
from caliban_provider.testing.scripted import ScriptedProvider, reply

pytestmark = pytest.mark.anyio

ALL = (SessionStart, UserPromptSubmit, SessionEnd)


class Scripted:
    """Hooks that answer by kind of event and remember what they were told of a session."""

    def __init__(self, **verdicts: HookVerdict) -> None:
        self.verdicts = verdicts
        self.told: list[HookEvent] = []

    async def fire(self, event: HookEvent) -> HookVerdict:
        if isinstance(event, ALL):
            self.told.append(event)
        return self.verdicts.get(event.type, HookVerdict())


class Memory:
    """A store that keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: list[ToolResultBlock] = []

    def append(self, message: Message, usage: Usage | None = None) -> None:
        self.messages.append(message)

    unsynced = False

    def sync(self) -> None:
        raise AssertionError("nothing to wait for")

    def keep_result(self, result: ToolResultBlock) -> None:
        self.results.append(result)

    def replace(self, messages: tuple[Message, ...]) -> None:
        self.messages = list(messages)

    def note(self, *, prefix=None, todos=None, plan_mode=None) -> None:
        pass

    def add_usage(self, usage: Usage) -> None:
        pass

    def close(self) -> None:
        pass


async def submit(session: Session, text: str) -> tuple[PromptResult, list[AgentEvent]]:
    with anyio.fail_after(HANG_S):
        async with session.submit(user(text)) as submission:
            events = [event async for event in submission.events]
    return submission.result, events


async def test_a_denied_prompt_is_recorded_nowhere_and_the_session_goes_on():
    hooks = Scripted(UserPromptSubmit=HookVerdict(decision="deny", reason="not today"))
    provider, store = ScriptedProvider([reply("fine")]), Memory()
    session = Session(Agent(provider, "m", hooks=hooks), id="s", store=store)
    result, events = await submit(session, "secret")
    assert (result.subtype, result.stop.kind, result.error) == (
        "error", "hook_denied", "a hook denied the run: not today",
    )  # fmt: skip
    assert [type(event) for event in events] == [HookFired, HookFired, RunEnd]
    assert (session.messages, store.messages, provider.requests) == ((), [], [])
    hooks.verdicts = {}
    result, _ = await submit(session, "hello")
    assert [m.text for m in session.messages] == ["hello", "fine"]


async def test_hooks_hear_of_the_start_once_of_each_prompt_and_of_the_end():
    hooks = Scripted()
    start = SessionStart(session_id="s", cwd="/w", provider="p", model="m", source="fork")
    agent = Agent(ScriptedProvider([reply("one"), reply("two")]), "m", hooks=hooks)
    session = Session(agent, id="s", parts=SessionParts(start=start))
    await submit(session, "first")
    await submit(session, "second")
    await session.aclose("other")
    await session.aclose("other")
    first, second = (UserPromptSubmit(session_id="s", prompt=text) for text in ("first", "second"))
    assert hooks.told == [start, first, second, SessionEnd(session_id="s", reason="other")]


async def test_hooks_hear_that_a_person_took_what_was_said_away():
    hooks = Scripted()
    start = SessionStart(session_id="s", cwd="/w", provider="p", model="m")
    agent = Agent(ScriptedProvider([reply("one"), reply("two")]), "m", hooks=hooks)
    session = Session(agent, id="s", parts=SessionParts(start=start))
    session.clear()  # nothing was said yet: there is nothing to tell
    await submit(session, "first")
    session.clear()
    await submit(session, "second")
    session.clear()
    await session.aclose("other")
    first, second = (UserPromptSubmit(session_id="s", prompt=text) for text in ("first", "second"))
    cleared = SessionEnd(session_id="s", reason="clear")
    assert hooks.told == [start, first, cleared, replace(start, source="clear"), second, cleared]


async def test_a_session_that_nobody_spoke_in_tells_no_hook():
    hooks = Scripted()
    await Session(Agent(ScriptedProvider([]), "m", hooks=hooks), id="s").aclose()
    assert hooks.told == []


async def test_what_hooks_add_stands_around_the_prompt_and_is_recorded():
    hooks = Scripted(
        SessionStart=HookVerdict(added_context="It is Monday."),
        UserPromptSubmit=HookVerdict(added_context="Be quick."),
    )
    store = Memory()
    session = Session(Agent(ScriptedProvider([reply("ok")]), "m", hooks=hooks), id="s", store=store)
    _, events = await submit(session, "go")
    texts = [message.text for message in session.messages]
    assert texts[1] == "go"
    assert ("It is Monday." in texts[0], "Be quick." in texts[2], texts[3]) == (True, True, "ok")
    assert tuple(store.messages) == session.messages
    assert [e.injected for e in events if isinstance(e, MessageAdded)] == [True, True, False]


async def test_a_session_that_may_not_start_records_nothing_and_asks_again():
    hooks = Scripted(SessionStart=HookVerdict(decision="deny", reason="closed"))
    session = Session(Agent(ScriptedProvider([reply("ok")]), "m", hooks=hooks), id="s")
    result, _ = await submit(session, "go")
    assert ("closed" in result.error, session.messages) == (True, ())
    hooks.verdicts = {}
    result, _ = await submit(session, "go")
    assert (result.text, [type(event) for event in hooks.told]) == (
        "ok", [SessionStart, SessionStart, UserPromptSubmit],
    )  # fmt: skip


async def test_a_prompt_that_is_interrupted_while_hooks_think_was_never_said():
    asked = anyio.Event()

    class Slow(Scripted):
        async def fire(self, event: HookEvent) -> HookVerdict:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

    session = Session(Agent(ScriptedProvider([]), "m", hooks=Slow()), id="s")

    async def interrupt() -> None:
        await asked.wait()
        session.interrupt()

    async with anyio.create_task_group() as group:
        group.start_soon(interrupt)
        result, events = await submit(session, "go")
    assert (result.subtype, [type(event) for event in events], session.messages) == (
        "cancelled",
        [RunEnd],
        (),
    )


async def test_what_is_said_to_a_run_at_work_is_read_with_its_next_turn():
    hooks = Scripted()
    session = Session(Agent(ScriptedProvider([reply("one"), reply("two")]), "m", hooks=hooks), id="s")
    with anyio.fail_after(HANG_S):
        async with session.submit(user("go")) as submission:
            async for event in submission.events:
                if event.type == "turn_start" and event.turn == 0:
                    session.steer(user("and be brief"))
    assert [m.text for m in session.messages] == ["go", "one", "and be brief", "two"]
    assert [e.prompt for e in hooks.told if isinstance(e, UserPromptSubmit)] == ["go", "and be brief"]
    assert submission.result.turns == 2


async def test_a_message_to_a_run_that_hooks_deny_is_told_of_and_not_read():
    class Strict(Scripted):
        async def fire(self, event: HookEvent) -> HookVerdict:
            denied = isinstance(event, UserPromptSubmit) and "rude" in event.prompt
            return HookVerdict(decision="deny", reason="manners") if denied else HookVerdict()

    shown: list[Notice] = []
    agent = Agent(ScriptedProvider([reply("one")]), "m", hooks=Strict())
    session = Session(agent, id="s", parts=SessionParts(reporter=Reporter(shown.append)))
    warnings = []
    with anyio.fail_after(HANG_S):
        async with session.submit(user("go")) as submission:
            async for event in submission.events:
                if event.type == "turn_start":
                    session.steer(user("something rude"))
                if event.type == "warned":
                    warnings.append((event.subtype, event.message))
    assert [m.text for m in session.messages] == ["go", "one"]
    assert warnings == [("message_denied", "a hook denied the run: manners")]
    assert shown == []
