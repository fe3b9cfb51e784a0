"""The provider: ask what the model can do, encode, send, decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from uuid import uuid4

from msgspec import Struct

from caliban_provider.call import Caller, Prepared, StreamKind
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.classify import error_for
from caliban_provider.errors import InvalidRequest, ModelUnavailable, NetworkError, ProviderError
from caliban_provider.http import HttpClient, HttpResponse
from caliban_provider.ndjson import NDJSONDecoder
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_ollama.catalog import Catalog
from caliban_provider_ollama.decode import Decoder
from caliban_provider_ollama.encode import Body, Encoder, RequestDefaults
from caliban_provider_ollama.models import FAMILY, ModelFacts, capabilities
from caliban_provider_ollama.transport import Transport

_SLOW = "a large model may take long to load: try again, or use a smaller one"


CUT_FACTOR = 3
"""How many times less than estimated a server has to count before a prompt is taken for cut."""

MIN_CUT_TOKENS = 256
"""A server that counts less has counted something else."""


class Listeners(Struct, frozen=True, kw_only=True):
    """Who is told: `on_status` of a model that is asked without tools, `on_warning` of a cut prompt."""

    on_status: Callable[[str], None] | None = None
    on_warning: Callable[[str], None] | None = None


class OllamaProvider:
    """The models of one server; remembers the bytes of the messages it has sent.

    `known` spares asking the server about these models. `first_byte_s` and `idle_s` bound the silence
    before and within a reply. `listeners` are told what a person should know.
    """

    def __init__(
        self,
        transport: Transport,
        http: HttpClient,
        *,
        known: Mapping[str, ModelFacts] | None = None,
        defaults: RequestDefaults | None = None,
        silence_s: tuple[float, float] = (300.0, 90.0),
        listeners: Listeners | None = None,
    ) -> None:
        self.name = FAMILY
        self.family = FAMILY
        self._transport = transport
        self._http = http
        self._caller = Caller(
            http,
            error_from=self._error_from,
            kind=StreamKind(
                foreign=("html", "event-stream"),
                called="a stream of JSON lines",
                hint="check the base URL: something that is not Ollama answers there",
                slow_hint=_SLOW,
            ),
        )
        self._catalog = Catalog(transport, http, known)
        self._encoder = Encoder(defaults=defaults)
        self._timeouts = StreamTimeouts(first_byte_s=silence_s[0], idle_s=silence_s[1])
        self._on_status = listeners.on_status if listeners is not None else None
        self._on_warning = listeners.on_warning if listeners is not None else None
        self._told: set[str] = set()
        self._begun = set(known or ())

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do as far as the server has told; a guess before it was asked."""
        return capabilities(self._catalog.known(model))

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        The first reply of a model is preceded by the question what it can do, and in a conversation that
        goes on, by the question which window it has.
        """
        facts = await self._catalog.facts(request.model)
        await self._go_on(request)
        self._tell(request, facts)
        body = self._encoder.body(request, facts)
        decoder = Decoder(model=request.model, secrets=self._transport.secrets, salt=str(uuid4().int))
        async with self._opened(
            partial(self._transport.post, "/api/chat", body.data), request.model
        ) as answer:
            yield ReplyReader(answer, NDJSONDecoder(), decoder, self._timeouts)
        self._encoder.learn(request.model, body, decoder.prompt_tokens)
        self._warn_of_cut(request, body, decoder.prompt_tokens)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the server has."""
        try:
            return await self._catalog.list()
        except ProviderError as error:
            raise _advised(error, "NAME") from None

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    async def _go_on(self, request: CompletionRequest) -> None:
        """Keep the window of a conversation that another process began, or the model is loaded anew."""
        if request.model in self._begun:
            return
        self._begun.add(request.model)
        if any(message.role == "assistant" for message in request.messages):
            self._encoder.widen(request.model, await self._catalog.window(request.model))

    def _tell(self, request: CompletionRequest, facts: ModelFacts | None) -> None:
        if self._on_status is None or not request.tools or facts is None or facts.tools is not False:
            return
        if request.model not in self._told:
            self._told.add(request.model)
            self._on_status(f"{request.model} cannot call tools and is asked without them")

    def _warn_of_cut(self, request: CompletionRequest, body: Body, counted_tokens: int) -> None:
        """Say it once when the server read far less of a first prompt than was sent: it cuts without a word.

        Later prompts are no evidence, for some servers leave out of the count what they remember.
        """
        first = not any(message.role == "assistant" for message in request.messages)
        cut = 0 < counted_tokens * CUT_FACTOR < body.prompt_tokens and counted_tokens >= MIN_CUT_TOKENS
        if self._on_warning is None or not (first and cut) or f"{request.model} cut" in self._told:
            return
        self._told.add(f"{request.model} cut")
        self._on_warning(
            f"{request.model} was shown {counted_tokens:,} of about {body.prompt_tokens:,} tokens: "
            f"the server cut the prompt to its own window. num_ctx was {body.num_ctx:,}; raise the server's "
            "limit (OLLAMA_CONTEXT_LENGTH), or set the option num_ctx of the provider to what it allows"
        )

    @asynccontextmanager
    async def _opened(self, prepare: Callable[[], Prepared], model: str) -> AsyncIterator[HttpResponse]:
        """The answer; a failure says what helps on a person's own server."""
        async with AsyncExitStack() as stack:
            try:
                opening = self._caller.stream(prepare, self._timeouts.first_byte_s)
                answer = await stack.enter_async_context(opening)
            except ProviderError as error:
                raise _advised(error, model) from None
            yield answer

    def _error_from(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        return error_for(status, headers, body, provider=self.name, secrets=self._transport.secrets)


def _advised(error: ProviderError, model: str) -> ProviderError:
    """`error` with what helps on a person's own server."""
    if isinstance(error, NetworkError) and "refused the connection" in error.message:
        error.hint = "is Ollama running? Start it with `ollama serve`, or say where it is in OLLAMA_BASE_URL"
    elif isinstance(error, ModelUnavailable):
        error.hint = f"get it with `ollama pull {model}`; `ollama list` shows what is there"
    elif isinstance(error, InvalidRequest) and "does not support" in error.message:
        error.hint = f"`ollama show {model}` tells what the model can do: use another one for this"
    return error
