"""A provider that answers from a script, event by event and without a network.

provider = ScriptedProvider([reply(tool_call("Read", {"path": "x"})), reply("done")])
...
assert provider.requests[1].messages[-1].tool_results
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel
from msgspec import Struct
from msgspec.structs import replace

from caliban_common.message import (
    Block,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError
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

_USAGE = Usage(input_tokens=10, output_tokens=5)
_CAPABILITIES = Capabilities(context_tokens=200_000, max_output_tokens=64_000, thinking=True, vision=True)


class Reply(Struct, frozen=True, kw_only=True):
    """One scripted reply.

    `stop_reason` `None` is `tool_use` when a block is a tool call, else `end_turn`. `model` `""` is the one
    that is asked for. Texts come in pieces of `piece_chars`. `error` is raised in place of event number
    `error_after`: 0 is before anything, a number past the last is in place of the end. Before event number
    `wait_before`, `reached` is set and `wait` waited for.
    """

    blocks: tuple[Block, ...] = ()
    stop_reason: StopReason | None = None
    usage: Usage | None = _USAGE
    detail: str | None = None
    model: str = ""
    piece_chars: int = 16
    error: ProviderError | None = None
    error_after: int = 0
    wait: anyio.Event | None = None
    wait_before: int = 0
    reached: anyio.Event | None = None


Script: TypeAlias = Sequence[Reply] | Callable[[CompletionRequest], Reply]


class ScriptExhausted(AssertionError):
    """The provider was asked more often than its script has replies."""


def text(value: str) -> TextBlock:
    """A text block."""
    return TextBlock(text=value)


def thinking(value: str, *, signature: str | None = None) -> ThinkingBlock:
    """A thinking block."""
    return ThinkingBlock(text=value, signature=signature)


def tool_call(name: str, input: Mapping[str, Any] | None = None, *, id: str = "") -> ToolUseBlock:
    """A tool call; an empty `id` is replaced by one that is unique within the provider."""
    return ToolUseBlock(id=id, name=name, input=input or {})


def reply(*blocks: Block | str, **options: Any) -> Reply:
    """A reply of `blocks`, a string being a text block; `options` are the other fields of `Reply`."""
    made = tuple(text(block) if isinstance(block, str) else block for block in blocks)
    return Reply(blocks=made, **options)


def failure(error: ProviderError, **options: Any) -> Reply:
    """A reply that fails before anything of it was received."""
    return Reply(error=error, **options)


class ScriptedProvider:
    """Gives out the replies of its script in order, or those that a callable makes of each request.

    `requests` records what was asked, `closed` whether `aclose` was called.
    """

    def __init__(
        self,
        replies: Script = (),
        *,
        name: str = "scripted",
        family: str = "scripted",
        capabilities: Capabilities = _CAPABILITIES,
    ) -> None:
        self.name = name
        self.family = family
        self.requests: list[CompletionRequest] = []
        self.closed: bool = False
        self._ask = replies if callable(replies) else None
        self._replies = [] if callable(replies) else list(replies)
        self._capabilities = capabilities
        self._calls = 0

    @property
    def replies_left(self) -> int:
        """How many replies of the sequence were not asked for."""
        return len(self._replies)

    def capabilities(self, model: str) -> Capabilities:
        """The same for every model."""
        return self._capabilities

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Give out the next reply. Raises `ScriptExhausted` when there is none."""
        self.requests.append(request)
        scripted = self._next(request)
        events = [*_events(self._with_ids(scripted), request.model)]
        await anyio.lowlevel.checkpoint()
        if scripted.error is not None and scripted.error_after <= 0:
            await _pause(scripted, 0)
            raise scripted.error
        async with aclosing(_play(scripted, events)) as playing:
            yield playing

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """One model, `scripted-1`."""
        return (ModelInfo(id="scripted-1", capabilities=self._capabilities),)

    async def aclose(self) -> None:
        """Set `closed`."""
        self.closed = True

    def _next(self, request: CompletionRequest) -> Reply:
        if self._ask is not None:
            return self._ask(request)
        if not self._replies:
            raise ScriptExhausted(f"call {len(self.requests)} of {self.name!r} has no reply in the script")
        return self._replies.pop(0)

    def _with_ids(self, scripted: Reply) -> Reply:
        blocks: list[Block] = []
        for block in scripted.blocks:
            if isinstance(block, ToolUseBlock) and not block.id:
                self._calls += 1
                block = replace(block, id=f"call_{self._calls}")
            blocks.append(block)
        return replace(scripted, blocks=tuple(blocks))


async def _play(scripted: Reply, events: list[StreamEvent]) -> AsyncGenerator[StreamEvent, None]:
    for number, event in enumerate(events):
        await _pause(scripted, number)
        last = number == len(events) - 1
        if scripted.error is not None and (number == scripted.error_after or last):
            raise scripted.error
        await anyio.lowlevel.checkpoint()
        yield event


async def _pause(scripted: Reply, number: int) -> None:
    if number == scripted.wait_before and scripted.wait is not None:
        if scripted.reached is not None:
            scripted.reached.set()
        await scripted.wait.wait()


def _events(scripted: Reply, model: str) -> list[StreamEvent]:
    stop_reason = scripted.stop_reason
    if stop_reason is None:
        calls = any(isinstance(block, ToolUseBlock) for block in scripted.blocks)
        stop_reason = "tool_use" if calls else "end_turn"
    events: list[StreamEvent] = [MessageStart(id="scripted", model=scripted.model or model)]
    for index, block in enumerate(scripted.blocks):
        events += _block_events(index, block, scripted.piece_chars)
    events.append(MessageDelta(stop_reason=stop_reason, usage=scripted.usage, detail=scripted.detail))
    events.append(MessageStop())
    return events


def _block_events(index: int, block: Block, piece_chars: int) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    match block:
        case TextBlock():
            events.append(BlockStart(index, "text"))
            events += [TextDelta(index, piece) for piece in _pieces(block.text, piece_chars)]
        case ThinkingBlock():
            events.append(BlockStart(index, "thinking"))
            events += [ThinkingDelta(index, piece) for piece in _pieces(block.text, piece_chars)]
            if block.signature is not None:
                events.append(SignatureDelta(index, block.signature))
        case ToolUseBlock():
            events.append(BlockStart(index, "tool_use", id=block.id, name=block.name))
            written = block.raw_input if block.raw_input is not None else json.dumps(dict(block.input))
            events += [InputDelta(index, piece) for piece in _pieces(written, piece_chars)]
        case RedactedThinkingBlock():
            events.append(BlockStart(index, "redacted_thinking", data=block.data))
        case OpaqueBlock():
            events.append(BlockStart(index, "opaque", payload=block.data))
        case _:
            raise ValueError(f"a model does not write a block of type {block.type!r}")
    return [*events, BlockStop(index)]


def _pieces(value: str, piece_chars: int) -> list[str]:
    return [value[at : at + piece_chars] for at in range(0, len(value), piece_chars)]
