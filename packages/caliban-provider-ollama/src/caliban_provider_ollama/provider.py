"""The provider: ask what the model can do, encode, send, decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.classify import error_for
from caliban_provider.errors import (
    BadResponse,
    InvalidRequest,
    ModelUnavailable,
    NetworkError,
    ProviderError,
    StreamIdle,
)
from caliban_provider.http import HttpClient, HttpResponse
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_ollama.catalog import Catalog
from caliban_provider_ollama.decode import Decoder
from caliban_provider_ollama.encode import Encoder, Wishes
from caliban_provider_ollama.models import FAMILY, ModelFacts, capabilities
from caliban_provider_ollama.reply import Reply
from caliban_provider_ollama.transport import Prepared, Transport

MAX_ERROR_BYTES = 64 * 1024
"""How much of a failed answer is read."""


class OllamaProvider:
    """The models of one server; remembers the bytes of the messages it has sent.

    `known` spares asking the server what these models can do. `first_byte_s` and `idle_s` bound the silence
    before and within a reply. `on_status` is told when a model is asked without its tools.
    """

    def __init__(
        self,
        transport: Transport,
        http: HttpClient,
        *,
        known: Mapping[str, ModelFacts] | None = None,
        wishes: Wishes | None = None,
        silence_s: tuple[float, float] = (300.0, 90.0),
        on_status: Callable[[str], None] | None = None,
    ) -> None:
        self.name = FAMILY
        self.family = FAMILY
        self._transport = transport
        self._http = http
        self._catalog = Catalog(transport, http, known)
        self._encoder = Encoder(wishes=wishes)
        self._first_byte_s, self._idle_s = silence_s
        self._on_status = on_status
        self._told: set[str] = set()

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do as far as the server has told; a guess before it was asked."""
        return capabilities(self._catalog.known(model))

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        The first reply of a model is preceded by the question what it can do.
        """
        facts = await self._catalog.facts(request.model)
        self._tell(request, facts)
        body = self._encoder.body(request, facts)
        decoder = Decoder(model=request.model, secrets=self._transport.secrets)
        prepared = self._transport.post("/api/chat", body.data)
        async with self._begun(prepared, request.model) as answer:
            yield Reply(answer, decoder, first_byte_s=self._first_byte_s, idle_s=self._idle_s)
        self._encoder.learn(request.model, body, decoder.prompt_tokens)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the server has."""
        try:
            return await self._catalog.list()
        except ProviderError as error:
            raise _advised(error, "NAME") from None

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    def _tell(self, request: CompletionRequest, facts: ModelFacts | None) -> None:
        if self._on_status is None or not request.tools or facts is None or facts.tools is not False:
            return
        if request.model not in self._told:
            self._told.add(request.model)
            self._on_status(f"{request.model} cannot call tools and is asked without them")

    @asynccontextmanager
    async def _begun(self, prepared: Prepared, model: str) -> AsyncIterator[HttpResponse]:
        """An answer that is a stream of lines; its head must come in time, and so must a refusal."""
        async with AsyncExitStack() as stack:
            with anyio.move_on_after(self._first_byte_s) as scope:
                try:
                    answer = await stack.enter_async_context(
                        self._http.stream(
                            prepared.method, prepared.url, headers=prepared.headers, body=prepared.body
                        )
                    )
                    await self._check(answer)
                except ProviderError as error:
                    raise _advised(error, model) from None
            if scope.cancelled_caught:
                raise StreamIdle(
                    f"the answer did not begin within {self._first_byte_s:g} s",
                    idle_s=self._first_byte_s,
                    hint="A large model may take long to load: try again, or allow a longer wait.",
                )
            yield answer

    async def _check(self, answer: HttpResponse) -> None:
        """Raise what an answer that is no stream of lines means."""
        kind = answer.headers.get("content-type", "").lower()
        if 200 <= answer.status < 300:
            if "html" in kind or "event-stream" in kind:
                raise BadResponse(
                    f"the answer is of type {kind[:80]!r} and not a stream of JSON lines",
                    hint="Check the base URL: something that is not Ollama answers there.",
                    status=answer.status,
                )
            return
        try:
            body = await answer.read(MAX_ERROR_BYTES)
        except ProviderError:
            body = b""  # the status says enough
        raise error_for(
            answer.status, answer.headers, body, provider=self.name, secrets=self._transport.secrets
        )


def _advised(error: ProviderError, model: str) -> ProviderError:
    """`error` with what helps on a person's own server."""
    if isinstance(error, NetworkError) and "refused the connection" in error.message:
        error.hint = "Is Ollama running? Start it with `ollama serve`, or say where it is in OLLAMA_BASE_URL."
    elif isinstance(error, ModelUnavailable):
        error.hint = f"Get it with `ollama pull {model}`; `ollama list` shows what is there."
    elif isinstance(error, InvalidRequest) and "does not support" in error.message:
        error.hint = f"`ollama show {model}` tells what the model can do: use another one for this."
    return error
