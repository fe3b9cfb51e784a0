"""What every provider must do, whatever is behind it: checks that need no wire.

@pytest.mark.parametrize("check", contract_checks(make_provider, model="m"), ids=str)
def test_keeps_the_contract(check):
    check.run("asyncio")
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, assert_never

import anyio
from msgspec import Struct

from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, assistant, system, user
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import Assembler
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

LIMIT_S = 300.0
"""After this a check has hung; no machine is so slow."""

MakeProvider: TypeAlias = Callable[[], Provider]

READ = ToolSpec(
    name="Read",
    description="Read a file.",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
"""A tool to offer in checks."""


class Check(Struct, frozen=True):
    """One check by its name; `run` raises `AssertionError` on a provider that fails it."""

    name: str
    check: Callable[[], Awaitable[None]]

    def __str__(self) -> str:
        return self.name

    def run(self, backend: str = "asyncio") -> None:
        """Run it on an event loop of its own: `asyncio` or `trio`."""
        anyio.run(self._limited, backend=backend)

    async def _limited(self) -> None:
        with anyio.fail_after(LIMIT_S):
            await self.check()


def contract_checks(make: MakeProvider, *, model: str) -> tuple[Check, ...]:
    """The checks; each makes its own provider and asks for `model` once or twice."""

    def named(name: str, check: Callable[[Provider, str], Awaitable[None]]) -> Check:
        async def run() -> None:
            provider = make()
            try:
                await check(provider, model)
            finally:
                await provider.aclose()

        return Check(name, run)

    return (
        named("it has a name, a family and capabilities for any model", _facts),
        named("a reply is a well-formed series of events", _reply),
        named("a history with tool calls and their results is accepted", _history),
        named("leaving a reply early is no error and the next one works", _early),
        named("closing twice is no error", _closing),
    )


def ask(prompt: str, *, model: str, max_tokens: int = 256) -> CompletionRequest:
    """A request of one user message."""
    return CompletionRequest(model=model, messages=(user(prompt),), max_tokens=max_tokens)


def ask_with_history(*, model: str) -> CompletionRequest:
    """A request whose history has a system message and two parallel calls, one of which failed."""
    return CompletionRequest(
        model=model,
        messages=(
            system("Be brief."),
            user("What do the two files say? 你好 🌍"),
            Message(
                role="assistant",
                content=(
                    TextBlock(text="I look."),
                    ToolUseBlock(id="call_1", name="Read", input={"path": "a.txt"}),
                    ToolUseBlock(id="call_2", name="Read", input={"path": "b.txt", "limit": 3}),
                ),
            ),
            Message(
                role="user",
                content=(
                    ToolResultBlock(tool_use_id="call_1", content=(TextBlock(text="alpha\u2028beta"),)),
                    ToolResultBlock(
                        tool_use_id="call_2", content=(TextBlock(text="no such file"),), is_error=True
                    ),
                ),
            ),
            assistant("One says alpha, the other is not there."),
            user("Thank you. And now?"),
        ),
        max_tokens=256,
        tools=(READ,),
    )


async def collect(provider: Provider, request: CompletionRequest) -> tuple[StreamEvent, ...]:
    """Every event of one reply."""
    async with provider.stream(request) as events:
        return tuple([event async for event in events])


def assembled(events: Sequence[StreamEvent]) -> Assembler:
    """The events, folded."""
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    return assembler


def assert_order(events: Sequence[StreamEvent]) -> None:
    """The order of the contract: one start, blocks that begin before they go on and end once, one stop."""
    assert events, "there are no events"
    assert isinstance(events[0], MessageStart), f"the first event is {events[0]!r}"
    assert isinstance(events[-1], MessageStop), f"the last event is {events[-1]!r}"
    open_kinds: dict[int, str] = {}
    for event in events[1:-1]:
        match event:
            case MessageStart() | MessageStop():
                raise AssertionError(f"{type(event).__name__} comes twice")
            case BlockStart(index, kind):
                assert index not in open_kinds, f"block {index} begins again before it ended"
                open_kinds[index] = kind
            case TextDelta(index):
                assert open_kinds.get(index) == "text", f"text for block {index}, which is not open as text"
            case ThinkingDelta(index) | SignatureDelta(index):
                assert open_kinds.get(index) == "thinking", (
                    f"thinking for block {index}, which is not open as it"
                )
            case InputDelta(index):
                assert open_kinds.get(index) == "tool_use", f"input for block {index}, which is no open call"
            case BlockStop(index):
                assert open_kinds.pop(index, None), f"block {index} ends, but is not open"
            case MessageDelta():
                pass
            case _:
                assert_never(event)
    assert not open_kinds, f"blocks {sorted(open_kinds)} do not end"


async def _facts(provider: Provider, model: str) -> None:
    assert provider.name and isinstance(provider.family, str)
    for name in (model, "", "no such model, surely"):
        capabilities = provider.capabilities(name)
        assert capabilities.context_tokens is None or capabilities.context_tokens > 0


async def _reply(provider: Provider, model: str) -> None:
    events = await collect(provider, ask("Say a word.", model=model))
    assert_order(events)
    reply = assembled(events)
    assert reply.stop_reason is not None, "no stop reason was told"
    assert reply.message(provider.family, model).content, "the reply is empty"


async def _history(provider: Provider, model: str) -> None:
    assert_order(await collect(provider, ask_with_history(model=model)))


async def _early(provider: Provider, model: str) -> None:
    async with provider.stream(ask("Say many words.", model=model)) as events:
        async for _ in events:
            break
    assert_order(await collect(provider, ask("Say a word.", model=model)))


async def _closing(provider: Provider, model: str) -> None:
    await collect(provider, ask("Say a word.", model=model))
    await provider.aclose()
    await provider.aclose()
