"""A session: what it remembers, and when."""

from __future__ import annotations

import threading

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core import Agent, AgentOptions, Tool, tool
from caliban_common.errors import CalibanError
from caliban_common.event import AssistantTextDelta, MessageAdded, ToolCallEnd, ToolCallReady, Warned
from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, system, user
from caliban_common.testing import CountedIds
from caliban_common.usage import Usage
from caliban_drive import Notice, Reporter, Session, SessionParts
from caliban_provider.errors import StreamInterrupted
from caliban_provider.retry import NO_RETRIES
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class Memory:
    """A store that keeps what it is told, until it is full."""

    def __init__(self, room: int = 1000) -> None:
        self.messages: list[Message] = []
        self.results: list[ToolResultBlock] = []
        self.usage = Usage()
        self.closed = False
        self.room = room

    def append(self, message: Message, usage: Usage | None = None) -> None:
        if len(self.messages) >= self.room:
            raise CalibanError("the disk is full", hint="free some space")
        self.messages.append(message)

    unsynced = False

    def sync(self) -> None:
        raise AssertionError("nothing to wait for")

    def keep_result(self, result: ToolResultBlock) -> None:
        self.results.append(result)

    def replace(self, messages: tuple[Message, ...]) -> None:
        self.messages = list(messages)

    def note(self, *, prefix=None, todos=None, plan_mode=None) -> None:
        if prefix is not None:
            self.prefix = prefix

    def add_usage(self, usage: Usage) -> None:
        self.usage += usage

    def close(self) -> None:
        self.closed = True


async def submit(session: Session, text: str) -> list:
    events = []
    with anyio.fail_after(HANG_S):
        async with session.submit(user(text)) as submission:
            async for event in submission.events:
                events.append(event)
    return events


def session_of(replies, store=None, messages=()) -> Session:
    return Session(Agent(ScriptedProvider(replies), "m"), id="s", store=store, messages=messages)


async def test_what_a_run_tells_is_stored_though_nobody_reads_its_events():
    store = Memory()
    session = session_of([reply(tool_call("nope", id="t1")), reply("done")], store)
    with anyio.fail_after(HANG_S):
        async with session.submit(user("go")) as submission:
            await anyio.wait_all_tasks_blocked()
            assert [message.role for message in store.messages] == ["user", "assistant", "user", "assistant"]
            assert [result.tool_use_id for result in store.results] == ["t1"]
            async for _ in submission.events:
                pass
    assert len(store.messages) == 4
    assert submission.result.text == "done"


async def test_every_message_is_stored_before_its_event_is_seen():
    store = Memory()
    session = session_of([reply(tool_call("nope", id="t1")), reply("done")], store)
    async with session.submit(user("go")) as submission:
        async for event in submission.events:
            if isinstance(event, MessageAdded):
                assert event.message in store.messages
            if isinstance(event, ToolCallReady):
                assert any(event.call in message.content for message in store.messages)
            if isinstance(event, ToolCallEnd):
                assert store.results == [event.result]
    assert tuple(store.messages) == session.messages
    assert store.usage == submission.result.usage


@pytest.mark.parametrize("kept", range(4))
async def test_a_store_with_a_fault_of_its_own_ends_the_run_and_its_error_reaches_whoever_submits(kept):
    class Faulty(Memory):
        def append(self, message: Message, usage: Usage | None = None) -> None:
            if len(self.messages) == kept:
                raise LookupError("no such table")
            super().append(message, usage)

    session = session_of([reply(tool_call("nope", id="t1")), reply("done")], Faulty())
    with pytest.raises(LookupError, match="no such table"):
        await submit(session, "go")


class SlowDisk(Memory):
    """A store whose disk has nothing before the store was told the last word."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()
        self.synced = 0
        self.on_disk: list[Message | ToolResultBlock] = []

    def append(self, message: Message, usage: Usage | None = None) -> None:
        super().append(message, usage)
        if message.text == "done":
            self.may_end.set()

    @property
    def written(self) -> int:
        return len(self.messages) + len(self.results)

    @property
    def unsynced(self) -> bool:
        return self.synced < self.written

    def sync(self) -> None:
        written, kept = self.written, [*self.messages, *self.results]
        if not self.may_end.wait(HANG_S):
            raise CalibanError("the run waits for the disk")
        self.synced, self.on_disk = written, kept


async def test_a_run_goes_on_while_the_disk_is_waited_for_and_no_event_is_seen_before():
    store = SlowDisk()
    session = session_of([reply(tool_call("nope", id="t1")), reply("done")], store)
    seen = 0
    with anyio.fail_after(2 * HANG_S):
        async with session.submit(user("go")) as submission:
            async for event in submission.events:
                assert store.may_end.is_set()
                if isinstance(event, MessageAdded | ToolCallEnd):
                    assert (
                        event.message if isinstance(event, MessageAdded) else event.result
                    ) in store.on_disk
                    seen += 1
    assert seen == 4
    assert submission.result.text == "done"
    assert session.store_error is None


async def test_a_disk_that_fails_when_it_is_waited_for_is_told_once():
    class Failing(SlowDisk):
        def sync(self) -> None:
            raise CalibanError("the disk is gone", hint="look at it")

    session = session_of([reply("one"), reply("two")], Failing())
    events = await submit(session, "first") + await submit(session, "second")
    warnings = [event for event in events if isinstance(event, Warned)]
    assert [(warned.subtype, warned.details) for warned in warnings] == [
        ("session_write_failed", {"hint": "look at it"})
    ]
    assert session.messages[-1].text == "two"


async def test_the_conversation_goes_on():
    provider = ScriptedProvider([reply("one"), reply("two")])
    session = Session(Agent(provider, "m"), id="s")
    await submit(session, "first")
    await submit(session, "second")
    assert [m.text for m in provider.requests[1].messages] == ["first", "one", "second"]


async def test_a_store_that_fails_is_told_once_and_the_answer_still_comes():
    session = session_of([reply("one"), reply("two")], Memory(room=1))
    events = await submit(session, "first") + await submit(session, "second")
    warnings = [e for e in events if isinstance(e, Warned)]
    assert [(w.subtype, w.details) for w in warnings] == [
        ("session_write_failed", {"hint": "free some space"})
    ]
    assert session.messages[-1].text == "two"
    assert session.store_error is not None


async def test_an_open_call_of_a_resumed_session_is_answered_and_stored():
    call = ToolUseBlock(id="t1", name="Bash", input={})
    history = (user("go"), Message(role="assistant", content=(call,)))
    store = Memory()
    session = session_of([], store, history)
    assert session.messages[-1].tool_results[0].tool_use_id == "t1"
    assert store.messages == [session.messages[-1]]


async def test_the_system_prompt_is_put_in_front_and_exchanged():
    store = Memory()
    session = session_of([reply("x")], store)
    session.set_system(system("be brief"))
    await submit(session, "hi")
    session.set_system(system("be long"))
    assert [m.text for m in session.messages] == ["be long", "hi", "x"]
    assert tuple(store.messages) == session.messages
    session.set_system(None)
    assert session.messages[0].role == "user"


async def test_a_session_that_is_closed_lets_go_of_its_store():
    store = Memory()
    session = session_of([reply("x")], store)
    before = list(store.messages)
    await session.aclose()
    session.set_system(system("be brief"))
    assert (store.closed, store.messages) == (True, before)


async def test_a_cancelled_submission_leaves_a_session_that_goes_on():
    held = anyio.Event()
    session = session_of([reply("never", wait=held, wait_before=1), reply("fine")])
    async with session.submit(user("go")) as submission:
        submission.interrupt()
        async for _ in submission.events:
            pass
    assert submission.result.subtype == "cancelled"
    await submit(session, "again")
    assert session.messages[-1].text == "fine"


async def test_what_nobody_read_is_remembered_too():
    store = Memory()
    session = session_of([reply("first", tool_call("nope", id="t1")), reply("done")], store)
    async with session.submit(user("go")) as submission:
        async for _ in submission.events:
            break
    assert tuple(store.messages) == session.messages
    assert store.usage == submission.result.usage
    assert submission.result.subtype == "cancelled"


async def test_a_reply_that_fails_is_paid_for_in_the_store():
    store = Memory()
    failing = reply("half of it", error=StreamInterrupted("cut"), error_after=4)
    session = Session(
        Agent(ScriptedProvider([failing]), "m", options=AgentOptions(retry=NO_RETRIES), new_id=CountedIds()),
        id="s",
        store=store,
    )
    await submit(session, "go")
    assert session.messages[-1].role == "assistant"
    assert tuple(store.messages) == session.messages


async def test_the_same_system_prompt_is_not_written_again():
    store = Memory()
    session = session_of([], store)
    session.set_system(system("Be brief."))
    before = list(store.messages)
    store.replace = None  # type: ignore[assignment, method-assign]
    session.set_system(system("Be brief."))
    assert store.messages == before == list(session.messages)


async def test_a_new_system_prompt_leaves_the_summary_of_what_was_before():
    summary = system("Summary of earlier conversation:\nThe port is 8123.")
    store = Memory()
    session = session_of([], store, (system("Be brief."), summary, user("go")))
    session.set_system(system("Be brief."))
    assert store.messages == [], "nothing changed"
    session.set_system(system("Be long."))
    assert [m.text for m in session.messages] == ["Be long.", summary.text, "go"]
    assert session.messages == tuple(store.messages)
    session.set_system(None)
    assert [m.text for m in session.messages] == [summary.text, "go"]


async def test_what_is_known_of_a_prompts_beginning_is_forgotten_with_the_history_it_was_of():
    store = Memory()
    session = session_of([reply("x")], store)
    await submit(session, "hi")
    assert store.prefix["model"] == "m"
    session.set_system(system("be brief"))
    assert store.prefix == {}


async def test_a_store_that_fails_while_nobody_reads_is_told_of_at_once():
    shown: list[Notice] = []
    parts = SessionParts(reporter=Reporter(shown.append))
    agent = Agent(ScriptedProvider([reply("one")]), "m")
    session = Session(agent, id="s", store=Memory(room=1), parts=parts)
    async with session.submit(user("go")) as submission:
        async for event in submission.events:
            if isinstance(event, AssistantTextDelta):
                break
    assert [(n.subtype, "the disk is full" in n.message) for n in shown] == [("session_write_failed", True)]


async def test_a_result_that_an_earlier_process_left_is_clipped_as_on_arrival():
    call = ToolUseBlock(id="t1", name="Bash", input={})
    huge = ToolResultBlock(tool_use_id="t1", content=(TextBlock(text="x" * 200_000),))
    history = (
        user("go"),
        Message(role="assistant", content=(call,)),
        Message(role="user", content=(huge,)),
    )
    session = session_of([reply("done")], Memory(), history)
    (result,) = session.messages[2].tool_results
    assert len(result.content[0].text) <= 50_000
    assert session.messages[:2] == history[:2]


async def test_a_conversation_is_summarised_when_a_person_asks_and_put_back():
    class Archive(Memory):
        said: tuple[Message, ...] | None = None

        def transcript(self) -> tuple[Message, ...] | None:
            return self.said

    dialogue = tuple(
        Message(role=role, content=(TextBlock(text="x" * 400),), id=f"{n}")
        for n, role in enumerate(("user", "assistant") * 7)
    )
    store = Archive()
    session = session_of(
        [reply("short", usage=Usage(input_tokens=7))], store, (system("Be brief."), *dialogue)
    )
    done = await session.compact()
    assert done.is_done and session.messages == done.messages == tuple(store.messages)
    assert len(session.messages) == 10
    assert store.usage == Usage(input_tokens=7)
    assert session.undo_compaction() is None  # the store does not know all of it
    store.said = dialogue
    event = session.undo_compaction()
    assert event is not None and session.messages == (
        system("Be brief.", id=session.messages[0].id),
        *dialogue,
    )
    assert tuple(store.messages) == session.messages
    assert session.undo_compaction() is None


async def test_nothing_is_summarised_while_a_prompt_is_at_work():
    session = session_of([reply("hi")])
    async with session.submit(user("go")):
        with pytest.raises(RuntimeError):
            await session.compact()
        with pytest.raises(RuntimeError):
            session.undo_compaction()


async def test_what_goes_on_beside_the_turns_is_told_with_a_turn_or_a_prompt_and_holds_no_run_up():
    lines: list[str] = ["before"]

    def news() -> tuple[str, ...]:
        fresh, lines[:] = tuple(lines), []
        return fresh

    @tool
    def wait() -> str:
        """Wait."""
        lines.append("between")
        return "waited"

    provider = ScriptedProvider([reply(tool_call("wait", {})), reply("one"), reply("two")])
    store = Memory()
    tools: list[Tool] = [wait]
    session = Session(Agent(provider, "m", tools=tools), id="s", store=store, parts=SessionParts(news=news))
    injected = []
    with anyio.fail_after(HANG_S):
        async with session.submit(user("go")) as submission:
            async for event in submission.events:
                if isinstance(event, MessageAdded) and event.message.role == "user" and event.injected:
                    injected.append(event.message.text)
    lines.append("after")
    await submit(session, "on")
    prompts = [message.text for message in session.messages if message.role == "user" and message.text]
    tag = '<background_result status="news">\n{}\n</background_result>'
    assert prompts == [tag.format("before"), "go", tag.format("between"), tag.format("after"), "on"]
    assert tag.format("before") in injected and tag.format("between") in injected
    assert [message.text for message in store.messages if message.text in prompts] == prompts
    assert len(provider.requests) == 3
