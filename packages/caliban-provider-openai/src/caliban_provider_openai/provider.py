"""The provider: encode, send, decode."""

from __future__ import annotations

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
from caliban_provider_openai import models
from caliban_provider_openai.received import count, mapping, objects, parse, stream_error, string
from caliban_provider_openai.reply import Reply
from caliban_provider_openai.service import Service
from caliban_provider_openai.transport import Prepared, Transport

MAX_ERROR_BYTES = 64 * 1024
"""How much of a failed answer is read."""

MAX_MODELS = 1000
"""How long a list of models may get."""

_MAX_PAGE_BYTES = 4 * 1024 * 1024
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length")


class OpenAIProvider:
    """One interface through one transport; remembers the bytes of the messages it has sent.

    `first_byte_s` and `idle_s` bound the silence before and within a reply.
    """

    def __init__(
        self,
        service: Service,
        transport: Transport,
        http: HttpClient,
        *,
        first_byte_s: float = 300.0,
        idle_s: float = 90.0,
    ) -> None:
        self.name = service.name
        self.family = models.FAMILY
        self._service = service
        self._transport = transport
        self._http = http
        self._first_byte_s = first_byte_s
        self._idle_s = idle_s

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, from a dated table."""
        return self._service.capabilities(model)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        A reply that was read to its end leaves its connection open for the next.
        """
        body = self._service.body(request)
        decoder = self._service.decoder(body, self._transport.secrets)
        async with self._begun(self._transport.prepare(body)) as answer:
            yield Reply(answer, decoder, first_byte_s=self._first_byte_s, idle_s=self._idle_s)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the server lists, at most `MAX_MODELS`, with the windows it tells."""
        async with self._send(self._transport.prepare_models()) as answer:
            await self._check_status(answer)
            page = parse(await answer.read(_MAX_PAGE_BYTES))
        if not isinstance(page.get("data"), list):
            raise BadResponse("the list of models has no 'data'", hint="Check the base URL.")
        found = {info.id: info for item in objects(page, "data") if (info := self._info(item)) is not None}
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
            data = parse(await answer.read(MAX_ERROR_BYTES))
            if data.get("error"):
                raise stream_error(data, provider=self.name, secrets=self._transport.secrets)
        if "json" in kind or "html" in kind:
            raise BadResponse(
                f"the answer is of type {kind[:80]!r} and not a stream of events",
                hint="Check the base URL: something that does not speak this interface answers there.",
                status=answer.status,
            )

    async def _check_status(self, answer: HttpResponse) -> None:
        if 200 <= answer.status < 300:
            return
        try:
            body = await answer.read(MAX_ERROR_BYTES)
        except ProviderError:
            body = b""  # the status says enough
        raise error_for(
            answer.status, answer.headers, body, provider=self.name, secrets=self._transport.secrets
        )

    def _info(self, item: dict[str, Any]) -> ModelInfo | None:
        """A model of the list; what the list says of its window counts more than the table."""
        model = string(item, "id")
        if not model:
            return None
        told = next((value for name in _WINDOWS if (value := count(item, name))), None)
        told = told or count(mapping(item, "meta"), "n_ctx") or count(mapping(item, "meta"), "n_ctx_train")
        known = self.capabilities(model)
        name = string(item, "name") or string(item, "display_name") or models.facts(model).display_name
        return ModelInfo(
            id=model,
            display_name=name,
            capabilities=replace(known, context_tokens=told or known.context_tokens),
        )
