"""A provider that says the last user message back, word by word."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from msgspec import Struct

from caliban_common.usage import Usage
from caliban_provider import (
    BlockStart,
    BlockStop,
    Capabilities,
    CompletionRequest,
    MessageDelta,
    MessageStart,
    MessageStop,
    ModelInfo,
    ProviderOptions,
    StreamEvent,
    TextDelta,
)


class EchoProvider:
    """Knows one model, `echo-1`, and calls every other one by its name as well."""

    name = "echo"
    family = "echo"

    def capabilities(self, model: str) -> Capabilities:
        """No tools: an echo has no wishes."""
        return Capabilities(context_tokens=100_000, max_output_tokens=100_000, tools=False)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Answer with the text of the last user message."""
        heard = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
        async with aclosing(_speak(heard or "(silence)", request)) as events:
            yield events

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The one model."""
        return (ModelInfo(id="echo-1", display_name="Echo"),)

    async def aclose(self) -> None:
        """Nothing to give back."""


async def _speak(text: str, request: CompletionRequest) -> AsyncGenerator[StreamEvent, None]:
    words = text.split(" ")
    yield MessageStart(id="echo", model=request.model)
    yield BlockStart(0, "text")
    for number, word in enumerate(words):
        yield TextDelta(0, word if number == 0 else f" {word}")
    yield BlockStop(0)
    heard_tokens = sum(len(message.text) for message in request.messages) // 4
    yield MessageDelta(
        stop_reason="end_turn", usage=Usage(input_tokens=heard_tokens, output_tokens=len(words))
    )
    yield MessageStop()


class EchoFactory(Struct, frozen=True):
    """What the entry point names."""

    name: str = "echo"
    default_model: str = "echo-1"
    needs_key: bool = False
    key_env: tuple[str, ...] = ()
    base_url_env: tuple[str, ...] = ()

    def create(self, options: ProviderOptions) -> EchoProvider:
        """Make the provider; there is nothing to set."""
        return EchoProvider()


ECHO = EchoFactory()
