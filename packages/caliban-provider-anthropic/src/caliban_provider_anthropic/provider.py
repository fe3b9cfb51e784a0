"""The provider: encode, send, decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from msgspec.structs import replace

from caliban_provider.call import Caller, StreamKind
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError
from caliban_provider.http import HttpClient
from caliban_provider.json_fields import parse, string
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_anthropic import models
from caliban_provider_anthropic.decode import Decoder, stream_error
from caliban_provider_anthropic.encode import Encoder
from caliban_provider_anthropic.narrow import ROOMY, within
from caliban_provider_anthropic.transport import Transport

MAX_MODELS = 1000
"""How long a list of models may get; the vendor's has a dozen."""

_PAGE = 100
_NO_LIST = (403, 404)
_FOREIGN = "check the base URL: something that is not the Messages API answers there"


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
        self._caller = Caller(
            http,
            error_from=self._error_from,
            reported=self._reported,
            credentials=transport.credentials,
            kind=StreamKind(hint=_FOREIGN),
        )
        self._timeouts = StreamTimeouts(first_byte_s=first_byte_s, idle_s=idle_s)
        self._offered = offered
        self._encoder = Encoder(
            cache_ttl=transport.limits.cache_ttl, server_tools=transport.limits.server_tools
        )
        self._narrow = transport.limits != ROOMY

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, from a dated table."""
        return self._dated(model, models.capabilities(model))

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        A reply that was read to its end leaves its connection open for the next.
        """
        names: Mapping[str, str] = {}
        if self._narrow:
            request, names = within(request, self._transport.limits)
        body = self._encoder.body(request)
        names = {**names, **body.names}
        transport = self._transport
        opening = self._caller.stream(partial(transport.prepare, body), self._timeouts.first_byte_s)
        async with opening as answer:
            decoder = Decoder(model=request.model, names=names, secrets=transport.secrets, provider=self.name)
            yield ReplyReader(answer, transport.framing(), decoder, self._timeouts)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the key may use, at most `MAX_MODELS`; the known ones where there is no list."""
        try:
            return await self._listed()
        except ProviderError as error:
            if not self._offered or error.status not in _NO_LIST:
                raise
            return tuple(map(self._known, self._offered))

    async def _listed(self) -> tuple[ModelInfo, ...]:
        listed: dict[str, ModelInfo] = {}
        after: str | None = None
        while len(listed) < MAX_MODELS:
            page = await self._caller.page(partial(self._transport.prepare_models, after, _PAGE))
            if page is None:
                return tuple(map(self._known, self._offered or [row.prefix for row in models.TABLE]))
            items, after = self._transport.read_models(parse(page))
            before = len(listed)
            listed.update({info.id: info for item in items if (info := self._model_info(item)) is not None})
            if not after or len(listed) == before:
                break
        return tuple(listed.values())[:MAX_MODELS]

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    def _error_from(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        return self._transport.error(status, headers, body, provider=self.name)

    def _reported(self, body: bytes) -> ProviderError | None:
        event = parse(body)
        if "error" not in event:
            return None
        return stream_error(event, secrets=self._transport.secrets, provider=self.name)

    def _dated(self, model: str, known: Capabilities) -> Capabilities:
        """`known` with the day on which the vendor retires `model`; clouds have days of their own."""
        retirement = models.retirement(model) if self.name == models.FAMILY else None
        return known if retirement is None else replace(known, retirement=retirement)

    def _model_info(self, item: object) -> ModelInfo | None:
        """A model of the list; what the list says of its limits counts more than the table."""
        if not isinstance(item, dict) or not string(item, "id"):
            return None
        model = string(item, "id")
        known = self.capabilities(model)
        name = string(item, "display_name") or models.facts(model).display_name
        capabilities = replace(
            known,
            context_tokens=_positive(item.get("max_input_tokens")) or known.context_tokens,
            max_output_tokens=_positive(item.get("max_tokens")) or known.max_output_tokens,
        )
        return ModelInfo(id=model, display_name=name, capabilities=capabilities)

    def _known(self, model: str) -> ModelInfo:
        return ModelInfo(
            id=model,
            display_name=models.facts(model).display_name,
            capabilities=self.capabilities(model),
        )


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value is not True and value > 0 else None
