"""Providers, routers and requests for the tests of the router."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from hang_guard import HANG_S

from caliban_common.message import Message, user
from caliban_common.usage import Usage
from caliban_model_router import RouterConfig, RouterOptions, RouterProvider, Switch
from caliban_model_router.attempt import is_content
from caliban_model_router.route import Route
from caliban_provider.assemble import Assembler
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageDelta, MessageStart, MessageStop, StreamEvent
from caliban_provider.testing.scripted import Reply, ScriptedProvider

ABLE = Capabilities(context_tokens=200_000, vision=True, documents=True, thinking=True)


@dataclass
class Clock:
    """A clock that stands still until it is told."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Call:
    """One call of a provider that has ended: what it used, and how it ended.

    `answered` was read to its end, `left` closed after content, `broken` failed after content, `failed`
    before any, `lost` was closed before any.
    """

    name: str
    usage: Usage = field(default_factory=Usage)
    end: str = "lost"


class Watched:
    """A provider whose every call is written down when it has ended."""

    def __init__(self, name: str, inner: Provider, calls: list[Call]) -> None:
        self._called = name
        self._inner = inner
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        call = Call(name=self._called)
        try:
            async with self._inner.stream(request) as events:
                yield self._read(events, call)
        except ProviderError:
            call.end = "broken" if call.end == "left" else "failed"
            raise
        finally:
            self._calls.append(call)

    async def _read(self, events: AsyncIterator[StreamEvent], call: Call) -> AsyncIterator[StreamEvent]:
        async for event in events:
            if isinstance(event, MessageStart | MessageDelta):
                call.usage = event.usage or call.usage
            if isinstance(event, MessageStop):
                call.end = "answered"
            elif is_content(event):
                call.end = "left"
            yield event
        call.end = "answered"


@dataclass
class Rig:
    """A router over scripted providers, and what it told."""

    router: RouterProvider
    providers: dict[str, ScriptedProvider]
    clock: Clock
    switches: list[Switch] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(s.source.id, s.target.id, s.category) for s in self.switches]

    @property
    def outcomes(self) -> list[tuple[str, str, Usage]]:
        return [(call.name, call.end, call.usage) for call in self.calls]

    def asked(self) -> list[int]:
        return [len(provider.requests) for provider in self.providers.values()]


def route(name: str, **options: object) -> Route:
    """A main-loop route to the provider `name`, whose id is that name too."""
    return Route(
        **({"purpose": "main_loop", "provider": name, "model": f"{name}-model", "id": name} | options)
    )


def rig(
    scripts: dict[str, Sequence[Reply]],
    routes: Sequence[Route] = (),
    capabilities: dict[str, Capabilities] | None = None,
    **options: object,
) -> Rig:
    """One route and one provider per script, each provider a family of its own."""
    providers = {
        name: ScriptedProvider(
            replies, name=name, family=f"{name}-family", capabilities=(capabilities or {}).get(name, ABLE)
        )
        for name, replies in scripts.items()
    }
    config = RouterConfig(routes=tuple(routes) or tuple(route(name) for name in scripts))
    return rig_over(config, providers, **options)


def rig_over(config: RouterConfig, providers: dict[str, Provider], **options: object) -> Rig:
    """A router of `config` that writes down what it tells."""
    clock, switches, calls = Clock(), [], []
    given = {"on_switch": switches.append, "clock": clock} | options
    watched = {name: Watched(name, provider, calls) for name, provider in providers.items()}
    router = RouterProvider(config, watched, RouterOptions(**given))
    return Rig(router=router, providers=providers, clock=clock, switches=switches, calls=calls)


def ask(*messages: Message, **options: object) -> CompletionRequest:
    """A request of `messages`, or of a short prompt."""
    given = {"model": "any", "messages": messages or (user("Hello?"),), "max_tokens": 100} | options
    return CompletionRequest(**given)


async def answer(provider: Provider, request: CompletionRequest | None = None) -> Assembler:
    """The reply, folded; no test waits for ever."""
    reply = Assembler()
    with anyio.fail_after(HANG_S):
        async with provider.stream(request or ask()) as events:
            async for event in events:
                reply.add(event)
    return reply


def words(reply: Assembler) -> str:
    return reply.message("", "").text


class Silent:
    """A provider that never says a word, and records that it was asked, left and closed."""

    def __init__(self, *, before: Sequence[StreamEvent] = (), name: str = "silent") -> None:
        self.name = self.family = name
        self.entered = anyio.Event()
        self.left = anyio.Event()
        self.requests: list[CompletionRequest] = []
        self._before = before

    def capabilities(self, model: str) -> Capabilities:
        return ABLE

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        self.requests.append(request)
        self.entered.set()
        try:
            yield self._events()
        finally:
            self.left.set()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        for event in self._before:
            yield event
        await anyio.sleep_forever()

    async def list_models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def aclose(self) -> None:
        pass
