"""The wall around a provider of somebody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from caliban_common.remedy import Remedy
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError, StreamIdle
from caliban_provider.guarded import GuardedProvider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageDelta, MessageStart, MessageStop
from caliban_provider.testing.contract import ask, collect

pytestmark = pytest.mark.anyio


class Odd:
    """Does whatever a test wants it to."""

    name = "odd"
    family = "odd"

    def __init__(self, *events: Any, error: Exception | None = None, can: Any = None) -> None:
        self._events = events
        self._error = error
        self._can = can

    def capabilities(self, model: str) -> Capabilities:
        if self._error is not None:
            raise self._error
        return self._can  # type: ignore[no-any-return]

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[Any]]:
        yield self._told()

    async def _told(self) -> AsyncIterator[Any]:
        for event in self._events:
            if event is Ellipsis:
                await anyio.sleep_forever()
            yield event
        if self._error is not None:
            raise self._error

    async def list_models(self) -> tuple[ModelInfo, ...]:
        raise self._error or RuntimeError

    async def aclose(self) -> None:
        pass


def guarded(inner: Any, total_s: float | None = None) -> GuardedProvider:
    return GuardedProvider(inner, called="mine", package="odd_package", total_s=total_s)


@pytest.mark.parametrize(
    "inner",
    [
        Odd(error=RuntimeError("\x1b[31mboom")),
        Odd("no event"),
        Odd(MessageDelta(usage={"input_tokens": 1})),  # type: ignore[arg-type]
        Odd(MessageStart(usage=Usage(input_tokens="3"))),  # type: ignore[arg-type]
        Odd(MessageDelta(usage=Usage(output_tokens=-1))),
    ],
)
async def test_what_it_does_wrong_in_a_reply_is_said_in_the_name_of_its_package(inner: Odd) -> None:
    with pytest.raises(ProviderError) as caught:
        await collect(guarded(inner), ask("hi", model="m"))
    error = caught.value
    assert error.message.startswith("the provider 'mine' ") and "\x1b" not in error.message
    assert error.hint == "this is a fault of the package odd_package; choose another provider"
    assert error.remedy == Remedy(kind="other_provider", name="odd_package")


async def test_what_it_does_wrong_elsewhere_is_too() -> None:
    inner = guarded(Odd(error=KeyError("x")))
    with pytest.raises(ProviderError, match="cannot say what its models can do"):
        inner.capabilities("m")
    with pytest.raises(ProviderError, match="by a int"):
        guarded(Odd(can=3)).capabilities("m")
    with pytest.raises(ProviderError, match="cannot list its models"):
        await inner.list_models()


async def test_a_reply_that_takes_too_long_ends_and_one_in_time_passes() -> None:
    with pytest.raises(StreamIdle, match=r"within 0\.05 s"):
        await collect(guarded(Odd(MessageStart(), ...), total_s=0.05), ask("hi", model="m"))
    events = (MessageStart(), MessageStop())
    assert await collect(guarded(Odd(*events), total_s=9), ask("hi", model="m")) == events
