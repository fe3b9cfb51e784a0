"""A vendor, played: how its wire writes, and a loopback server that answers in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, TypeAlias

from caliban_common.message import Block, TextBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.testing.exchange import Exchange, Request, Send, Step, answer
from caliban_provider.testing.loopback import LoopbackServer

KEY = "sk-test-0123456789abcdef"
"""The key that every checked provider gets."""

USAGE = Usage(input_tokens=12, output_tokens=7)
"""What every checked reply says that it used."""


class Wire(ABC):
    """How one vendor writes, for the suite to write it; override what the vendor has.

    `textual` says that lines may end in CRLF as well; `thinking` that the wire carries signed thinking;
    `reports_usage` that it counts tokens; `parallel` that a reply may hold two calls.
    """

    model: str = "model-1"
    content_type: str = "text/event-stream"
    textual: bool = True
    thinking: bool = False
    reports_usage: bool = True
    parallel: bool = True

    @abstractmethod
    def make(self, options: ProviderOptions) -> Provider:
        """The provider; `options.base_url` is a server on this machine, without a path."""

    @abstractmethod
    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        """The body of an answer that holds `blocks`, one piece per event, the ending events included.

        Every text and every input should come in more than one delta.
        """

    @abstractmethod
    def refusal(self, status: int) -> bytes:
        """The body of an answer with an error status: 400, 401, 404 (for the model), 429, 500 or 529."""

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes] | None:
        """The body of an answer whose two calls grow in turns; `None` where the wire cannot say that."""
        return None

    def overloaded(self) -> bytes | None:
        """The event by which a running answer ends in overload; `None` where the wire has none."""
        return None

    def noise(self) -> list[bytes]:
        """Events that an adapter must pass over: unknown kinds, pings, comments."""
        return []

    def complaint(self, request: Request) -> str | None:
        """What the vendor would find wrong with a request for a reply; be as strict as the vendor."""
        return None


class Vendor:
    """A `Wire` behind a loopback server, inside a `with` block."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.complaints: list[str] = []
        self.server: LoopbackServer = LoopbackServer(validator=self._validate)

    def __enter__(self) -> Vendor:
        self.server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.__exit__(kind, error, trace)

    def says(self, *answers: Exchange) -> None:
        """Answer the next requests so."""
        self.server.extend(*answers)

    def refuses(self, status: int, **headers: str) -> None:
        """Answer the next request with the wire's refusal."""
        self.says(answer(status, self.wire.refusal(status), content_type="application/json", **headers))

    def exchange(self, pieces: Sequence[bytes], *then: Step, **options: Any) -> Exchange:
        """An answer of the wire's content type that sends `pieces` and goes on with `then`."""
        headers = {"content-type": self.wire.content_type}
        return Exchange(headers=headers, steps=(*map(Send, pieces), *then), **options)

    def body(self, *blocks: Block | str, stop_reason: StopReason = "end_turn") -> list[bytes]:
        """The pieces of a reply of `blocks`, a string being a text block."""
        made = [TextBlock(text=block) if isinstance(block, str) else block for block in blocks]
        return self.wire.reply(made, usage=USAGE, stop_reason=stop_reason)

    @asynccontextmanager
    async def provider(
        self,
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        first_byte_s: float = 20.0,
        idle_s: float = 20.0,
    ) -> AsyncIterator[Provider]:
        """The wire's provider with `KEY`, for the played vendor or for `url`."""
        options = ProviderOptions(
            api_key=KEY,
            base_url=url or self.server.url,
            headers=headers or {},
            first_byte_s=first_byte_s,
            idle_s=idle_s,
        )
        provider = self.wire.make(options)
        try:
            yield provider
        finally:
            await provider.aclose()

    def _validate(self, request: Request) -> tuple[int, bytes] | None:
        if request.method != "POST" or (complaint := self.wire.complaint(request)) is None:
            return None
        self.complaints.append(complaint)
        return 400, complaint.encode()


VendorCheck: TypeAlias = Callable[[Vendor], Awaitable[None]]
"""What is checked against a played vendor; raises `AssertionError`."""


async def failure_of(
    provider: Provider, request: CompletionRequest
) -> tuple[ProviderError, tuple[StreamEvent, ...]]:
    """The error that a request ends in, and the events before it."""
    events: list[StreamEvent] = []
    try:
        async with provider.stream(request) as stream:
            async for event in stream:
                events.append(event)
    except ProviderError as error:
        return error, tuple(events)
    raise AssertionError(f"no error was raised; the events were {events}")
