"""The provider: encode, send, decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec.structs import replace

from caliban_provider.call import Caller, in_time
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import AuthenticationError, ProviderError
from caliban_provider.http import HttpClient, HttpResponse
from caliban_provider.json_fields import parse, string
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_anthropic import models
from caliban_provider_anthropic.decode import Decoder, stream_error
from caliban_provider_anthropic.encode import Body, Encoder
from caliban_provider_anthropic.transport import Transport

MAX_MODELS = 1000
"""How long a list of models may get; the vendor's has a dozen."""

_PAGE = 100
_NO_LIST = (403, 404)
_FOREIGN = "Check the base URL: something that is not the Messages API answers there."


class AnthropicProvider:
    """Claude through one transport; remembers the bytes of the messages it has sent.

    `first_byte_s` and `idle_s` bound the silence before and within a reply. `offered` is what `list_models`
    tells where the service has no list or gives none to this caller; when empty, the table is.
    """

    def __init__(
        self,
        transport: Transport,
        http: HttpClient,
        *,
        name: str = models.FAMILY,
        first_byte_s: float = 300.0,
        idle_s: float = 90.0,
        offered: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.family = models.FAMILY
        self._transport = transport
        self._http = http
        self._caller = Caller(http, error_from=self._error_from, reported=self._reported, hint=_FOREIGN)
        self._timeouts = StreamTimeouts(first_byte_s=first_byte_s, idle_s=idle_s)
        self._offered = offered
        self._encoder = Encoder()

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, from a dated table."""
        return models.capabilities(model)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        A reply that was read to its end leaves its connection open for the next. The request is sent once
        more only when its credentials were refused and the transport has others.
        """
        body = self._encoder.body(request)
        transport = self._transport
        async with (
            transport.hold(),
            in_time(self._accepted(body), self._timeouts.first_byte_s) as answer,
        ):
            decoder = Decoder(
                model=request.model, names=body.names, secrets=transport.secrets, provider=self.name
            )
            yield ReplyReader(answer, transport.framing(), decoder, self._timeouts)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the key may use, at most `MAX_MODELS`; the known ones where there is no list."""
        async with self._transport.hold():
            try:
                return await self._listed()
            except ProviderError as error:
                if not self._offered or error.status not in _NO_LIST:
                    raise
                return tuple(map(_known, self._offered))

    async def _listed(self) -> tuple[ModelInfo, ...]:
        found: dict[str, ModelInfo] = {}
        after: str | None = None
        while len(found) < MAX_MODELS:
            prepared = self._transport.prepare_models(after, _PAGE)
            if prepared is None:
                return tuple(map(_known, self._offered or [row.prefix for row in models.TABLE]))
            items, after = self._transport.read_models(parse(await self._caller.page(prepared)))
            before = len(found)
            found.update({info.id: info for item in items if (info := _model_info(item)) is not None})
            if not after or len(found) == before:
                break
        return tuple(found.values())[:MAX_MODELS]

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    @asynccontextmanager
    async def _accepted(self, body: Body) -> AsyncIterator[HttpResponse]:
        """The answer, asked for once more with other credentials where the first were refused."""
        async with AsyncExitStack() as stack:
            answer: HttpResponse | None = None
            try:
                answer = await self._answer(stack, body)
            except AuthenticationError:
                if not await self._transport.renew():
                    raise
            yield answer or await self._answer(stack, body)

    async def _answer(self, stack: AsyncExitStack, body: Body) -> HttpResponse:
        return await stack.enter_async_context(self._caller.stream(self._transport.prepare(body)))

    def _error_from(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        return self._transport.error(status, headers, body, provider=self.name)

    def _reported(self, body: bytes) -> ProviderError | None:
        told = parse(body)
        if "error" not in told:
            return None
        return stream_error(told, secrets=self._transport.secrets, provider=self.name)


def _model_info(item: object) -> ModelInfo | None:
    """A model of the list; what the list says of its limits counts more than the table."""
    if not isinstance(item, dict) or not string(item, "id"):
        return None
    model = string(item, "id")
    known = models.capabilities(model)
    name = string(item, "display_name") or models.facts(model).display_name
    capabilities = replace(
        known,
        context_tokens=_positive(item.get("max_input_tokens")) or known.context_tokens,
        max_output_tokens=_positive(item.get("max_tokens")) or known.max_output_tokens,
    )
    return ModelInfo(id=model, display_name=name, capabilities=capabilities)


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value is not True and value > 0 else None


def _known(model: str) -> ModelInfo:
    return ModelInfo(
        id=model,
        display_name=models.facts(model).display_name,
        capabilities=models.capabilities(model),
    )
