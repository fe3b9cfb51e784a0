"""The provider: encode, send, decode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.classify import error_for
from caliban_provider.errors import BadResponse, ProviderError, StreamIdle
from caliban_provider.http import HttpClient, HttpResponse
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_google import models
from caliban_provider_google.decode import Decoder, stream_error
from caliban_provider_google.encode import Encoder
from caliban_provider_google.received import count, objects, parse, string
from caliban_provider_google.reply import Reply
from caliban_provider_google.transport import Prepared, Transport

MAX_ERROR_BYTES = 64 * 1024
"""How much of a failed answer is read."""

MAX_MODELS = 1000
"""How long a list of models may get; the vendor's has a few dozen."""

_MAX_PAGE_BYTES = 4 * 1024 * 1024
_PAGE = 200


class GoogleProvider:
    """Gemini through one transport; remembers the bytes of the messages it has sent.

    `first_byte_s` and `idle_s` bound the silence before and within a reply.
    """

    def __init__(
        self,
        transport: Transport,
        http: HttpClient,
        *,
        name: str = models.FAMILY,
        first_byte_s: float = 300.0,
        idle_s: float = 90.0,
    ) -> None:
        self.name = name
        self.family = models.FAMILY
        self._transport = transport
        self._http = http
        self._first_byte_s = first_byte_s
        self._idle_s = idle_s
        self._encoder = Encoder()

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, from a dated table."""
        return models.capabilities(model)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        A reply that was read to its end leaves its connection open for the next.
        """
        body = self._encoder.body(request)
        prepared = await self._transport.prepare(request.model, body)
        decoder = Decoder(model=request.model, names=body.names, secrets=self._transport.secrets)
        async with self._begun(prepared) as answer:
            yield Reply(answer, decoder, first_byte_s=self._first_byte_s, idle_s=self._idle_s)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the key may use, at most `MAX_MODELS`; the table's where there is no such list."""
        found: dict[str, ModelInfo] = {}
        after: str | None = None
        while len(found) < MAX_MODELS:
            prepared = await self._transport.prepare_models(after, _PAGE)
            if prepared is None:
                return tuple(map(_from_row, models.TABLE))
            page = await self._page(prepared)
            if "models" not in page and page:
                raise BadResponse("the list of models has no 'models'", hint="Check the base URL.")
            before = len(found)
            infos = (_model_info(item) for item in objects(page, "models"))
            found.update({info.id: info for info in infos if info is not None})
            after = string(page, "nextPageToken")
            if not after or len(found) == before:
                break
        return tuple(found.values())[:MAX_MODELS]

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    @asynccontextmanager
    async def _begun(self, prepared: Prepared) -> AsyncIterator[HttpResponse]:
        """An answer that is a stream of events; its head must come in time, and so must a refusal."""
        async with AsyncExitStack() as stack:
            with anyio.move_on_after(self._first_byte_s) as scope:
                answer = await stack.enter_async_context(self._send(prepared))
                await self._check_stream(answer)
            if scope.cancelled_caught:
                raise StreamIdle(
                    f"the answer did not begin within {self._first_byte_s:g} s",
                    idle_s=self._first_byte_s,
                    hint="The provider is silent: try again, or allow a longer wait.",
                )
            yield answer

    def _send(self, prepared: Prepared) -> AbstractAsyncContextManager[HttpResponse]:
        return self._http.stream(prepared.method, prepared.url, headers=prepared.headers, body=prepared.body)

    async def _check_stream(self, answer: HttpResponse) -> None:
        """Raise what an answer that is no stream of events means."""
        await self._check_status(answer)
        kind = answer.headers.get("content-type", "").lower()
        if "json" in kind:
            told = _first_object(await answer.read(MAX_ERROR_BYTES))
            if "error" in told:
                raise stream_error(told, secrets=self._transport.secrets)
        if "json" in kind or "html" in kind:
            raise BadResponse(
                f"the answer is of type {kind[:80]!r} and not a stream of events",
                hint="Check the base URL: something that is not the Gemini API answers there.",
                status=answer.status,
            )

    async def _check_status(self, answer: HttpResponse) -> None:
        if 200 <= answer.status < 300:
            return
        if answer.status == 401:
            self._transport.forget()
        try:
            body = await answer.read(MAX_ERROR_BYTES)
        except ProviderError:
            body = b""  # the status says enough
        raise error_for(
            answer.status, answer.headers, body, provider=self.name, secrets=self._transport.secrets
        )

    async def _page(self, prepared: Prepared) -> dict[str, Any]:
        async with self._send(prepared) as answer:
            await self._check_status(answer)
            return parse(await answer.read(_MAX_PAGE_BYTES))


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
