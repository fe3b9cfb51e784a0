"""The provider: encode, send, decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import AuthenticationError, BadResponse, ProviderError, StreamIdle
from caliban_provider.http import HttpClient, HttpResponse
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider_anthropic import models
from caliban_provider_anthropic.decode import Decoder, stream_error
from caliban_provider_anthropic.encode import Body, Encoder
from caliban_provider_anthropic.received import parse, string
from caliban_provider_anthropic.reply import Reply
from caliban_provider_anthropic.transport import Prepared, Transport

MAX_ERROR_BYTES = 64 * 1024
"""How much of a failed answer is read."""

MAX_MODELS = 1000
"""How long a list of models may get; the vendor's has a dozen."""

_MAX_PAGE_BYTES = 4 * 1024 * 1024
_PAGE = 100
_NO_LIST = (403, 404)


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
        self._first_byte_s = first_byte_s
        self._idle_s = idle_s
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
        async with transport.lease(), self._begun(body) as answer:
            decoder = Decoder(
                model=request.model, names=body.names, secrets=transport.secrets, provider=self.name
            )
            framing = transport.framing()
            yield Reply(answer, framing, decoder, first_byte_s=self._first_byte_s, idle_s=self._idle_s)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the key may use, at most `MAX_MODELS`; the known ones where there is no list."""
        async with self._transport.lease():
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
            items, after = self._transport.read_models(await self._page(prepared))
            before = len(found)
            found.update({info.id: info for item in items if (info := _model_info(item)) is not None})
            if not after or len(found) == before:
                break
        return tuple(found.values())[:MAX_MODELS]

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    @asynccontextmanager
    async def _begun(self, body: Body) -> AsyncIterator[HttpResponse]:
        """An answer that is a stream of events; its head must come in time, and so must a refusal."""
        async with AsyncExitStack() as stack:
            with anyio.move_on_after(self._first_byte_s) as scope:
                answer = await self._accepted(stack, body)
            if scope.cancelled_caught:
                raise StreamIdle(
                    f"the answer did not begin within {self._first_byte_s:g} s",
                    idle_s=self._first_byte_s,
                    hint="The provider is silent: try again, or allow a longer wait.",
                )
            yield answer

    async def _accepted(self, stack: AsyncExitStack, body: Body) -> HttpResponse:
        """The answer, asked for once more with other credentials where the first were refused."""
        try:
            return await self._answer(stack, self._transport.prepare(body))
        except AuthenticationError:
            if not await self._transport.renew():
                raise
        return await self._answer(stack, self._transport.prepare(body))

    async def _answer(self, stack: AsyncExitStack, prepared: Prepared) -> HttpResponse:
        """The answer, which `stack` ends; one that is refused ends here."""
        async with AsyncExitStack() as attempt:
            answer = await attempt.enter_async_context(self._send(prepared))
            await self._check_stream(answer)
            await stack.enter_async_context(attempt.pop_all())
            return answer

    def _send(self, prepared: Prepared) -> AbstractAsyncContextManager[HttpResponse]:
        return self._http.stream(prepared.method, prepared.url, headers=prepared.headers, body=prepared.body)

    async def _check_stream(self, answer: HttpResponse) -> None:
        """Raise what an answer that is no stream of events means."""
        await self._check_status(answer)
        kind = answer.headers.get("content-type", "").lower()
        if "json" in kind:
            data = parse(await answer.read(MAX_ERROR_BYTES))
            if "error" in data:
                raise stream_error(data, secrets=self._transport.secrets, provider=self.name)
        if "json" in kind or "html" in kind:
            raise BadResponse(
                f"the answer is of type {kind[:80]!r} and not a stream of events",
                hint="Check the base URL: something that is not the Messages API answers there.",
                status=answer.status,
            )

    async def _check_status(self, answer: HttpResponse) -> None:
        if 200 <= answer.status < 300:
            return
        try:
            body = await answer.read(MAX_ERROR_BYTES)
        except ProviderError:
            body = b""  # the status says enough
        raise self._transport.error(answer.status, answer.headers, body, provider=self.name)

    async def _page(self, prepared: Prepared) -> dict[str, Any]:
        async with self._send(prepared) as answer:
            await self._check_status(answer)
            return parse(await answer.read(_MAX_PAGE_BYTES))


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
