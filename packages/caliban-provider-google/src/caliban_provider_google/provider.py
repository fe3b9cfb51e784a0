"""The provider: encode, send, decode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from caliban_provider.call import Caller, StreamKind
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.classify import error_for
from caliban_provider.errors import BadResponse, ProviderError
from caliban_provider.http import HttpClient
from caliban_provider.json_fields import count, objects, parse, string
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEDecoder
from caliban_provider.stream import StreamEvent
from caliban_provider_google import models
from caliban_provider_google.decode import Decoder, stream_error
from caliban_provider_google.encode import Encoder
from caliban_provider_google.transport import Transport

MAX_MODELS = 1000
"""How long a list of models may get; the vendor's has a few dozen."""

TRAIL_S = 10.0
"""How long at most a reply that has told its end is waited on: some servers tell it with every event."""

_PAGE = 200
_FOREIGN = "check the base URL: something that is not the Gemini API answers there"


class GoogleProvider:
    """Gemini through one transport; remembers the bytes of the messages it has sent.

    `first_byte_s` and `idle_s` bound the silence before and within a reply. `server_tools` are those of the
    vendor's own tools that it may use.
    """

    def __init__(
        self,
        transport: Transport,
        http: HttpClient,
        *,
        name: str = models.FAMILY,
        first_byte_s: float = 300.0,
        idle_s: float = 90.0,
        server_tools: Sequence[str] = (),
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
        self._timeouts = StreamTimeouts(first_byte_s=first_byte_s, idle_s=idle_s, trail_s=TRAIL_S)
        self._encoder = Encoder(server_tools=server_tools)

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, from a dated table."""
        return models.capabilities(model)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        A reply that was read to its end leaves its connection open for the next.
        """
        body = self._encoder.body(request)
        prepare = partial(self._transport.prepare, request.model, body)
        async with self._caller.stream(prepare, self._timeouts.first_byte_s) as answer:
            decoder = Decoder(
                model=request.model, names=body.names, secrets=self._transport.secrets, salt=uuid4().hex
            )
            yield ReplyReader(answer, SSEDecoder(), decoder, self._timeouts)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the key may use, at most `MAX_MODELS`; the table's where there is no such list."""
        listed: dict[str, ModelInfo] = {}
        after: str | None = None
        while len(listed) < MAX_MODELS:
            body = await self._caller.page(partial(self._transport.prepare_models, after, _PAGE))
            if body is None:
                return tuple(map(_from_row, models.TABLE))
            page = parse(body)
            if "models" not in page and page:
                raise BadResponse("the list of models has no 'models'", hint="check the base URL")
            before = len(listed)
            infos = (_model_info(item) for item in objects(page, "models"))
            listed.update({info.id: info for info in infos if info is not None})
            after = string(page, "nextPageToken")
            if not after or len(listed) == before:
                break
        return tuple(listed.values())[:MAX_MODELS]

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    def _error_from(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        return error_for(status, headers, body, provider=self.name, secrets=self._transport.secrets)

    def _reported(self, body: bytes) -> ProviderError | None:
        event = _first_object(body)
        return stream_error(event, secrets=self._transport.secrets) if "error" in event else None


def _first_object(body: bytes) -> dict[str, Any]:
    """The object in `body`, or the first of a list of them; empty where there is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else {}


def _model_info(item: dict[str, Any]) -> ModelInfo | None:
    """A model of the list that can be asked; what the list says of its limits counts more than the table."""
    model = string(item, "name").removeprefix("models/")
    methods = item.get("supportedGenerationMethods")
    if not model or (isinstance(methods, list) and "generateContent" not in methods):
        return None
    known = models.capabilities(model)
    thinks = item.get("thinking")
    capabilities = replace(
        known,
        context_tokens=count(item, "inputTokenLimit") or known.context_tokens,
        max_output_tokens=count(item, "outputTokenLimit") or known.max_output_tokens,
        thinking=thinks if isinstance(thinks, bool) else known.thinking,
    )
    name = string(item, "displayName") or models.facts(model).display_name
    return ModelInfo(id=model, display_name=name, capabilities=capabilities)


def _from_row(row: models.ModelFacts) -> ModelInfo:
    return ModelInfo(
        id=row.prefix, display_name=row.display_name, capabilities=models.capabilities(row.prefix)
    )
