"""The provider: encode, send, decode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from msgspec.structs import replace

from caliban_provider.call import Caller, StreamKind
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.classify import error_for
from caliban_provider.errors import BadResponse, ProviderError
from caliban_provider.http import HttpClient
from caliban_provider.json_fields import count, member, objects, parse, string
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEDecoder
from caliban_provider.stream import StreamEvent
from caliban_provider_openai import models
from caliban_provider_openai.service import Service
from caliban_provider_openai.stream_error import stream_error
from caliban_provider_openai.transport import Transport

MAX_MODELS = 1000
"""How long a list of models may get."""

SILENT_OVERFLOW = b'{"error":{"code":"context_length_exceeded","message":"it was refused without a word"}}'
"""What is read where a server that says nothing of a prompt that is too long refuses one."""

_FOREIGN = "check the base URL: something that does not speak this interface answers there"
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length")


class OpenAIProvider:
    """One interface through one transport; remembers the bytes of the messages it has sent.

    `first_byte_s` and `idle_s` bound the silence before and within a reply. `silent_overflow` is that of the
    server's quirks.
    """

    def __init__(
        self,
        service: Service,
        transport: Transport,
        http: HttpClient,
        *,
        first_byte_s: float = 300.0,
        idle_s: float = 90.0,
        silent_overflow: bool = False,
    ) -> None:
        self.name: str = service.name
        self.family = models.FAMILY
        self._silent_overflow = silent_overflow
        self._service = service
        self._transport = transport
        self._http = http
        kind = StreamKind(foreign=("html",), hint=_FOREIGN)
        self._caller = Caller(http, error_from=self._error_from, kind=kind)
        self._timeouts = StreamTimeouts(first_byte_s=first_byte_s, idle_s=idle_s)

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
        opening = self._caller.stream(partial(self._transport.prepare, body), self._timeouts.first_byte_s)
        async with opening as answer:
            kind = answer.headers.get("content-type", "").lower()
            if "json" not in kind:
                yield ReplyReader(answer, SSEDecoder(), decoder, self._timeouts)
                return
            from caliban_provider_openai.whole import WholeDecoder, WholeReply

            framing = WholeReply(kind, self._reported, hint=_FOREIGN)
            yield ReplyReader(answer, framing, WholeDecoder(decoder), self._timeouts)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the server lists, at most `MAX_MODELS`, with the windows it tells."""
        page = parse(await self._caller.page(self._transport.prepare_models) or b"")
        if not isinstance(page.get("data"), list):
            raise BadResponse("the list of models has no 'data'", hint="check the base URL")
        infos = (self._info(item) for item in objects(page, "data"))
        return tuple({info.id: info for info in infos if info is not None}.values())[:MAX_MODELS]

    async def aclose(self) -> None:
        """Close the connections; may be called twice."""
        await self._http.aclose()

    def _error_from(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        if self._silent_overflow and status in (400, 413) and not body.strip():
            body = SILENT_OVERFLOW
        return error_for(status, headers, body, provider=self.name, secrets=self._transport.secrets)

    def _reported(self, body: dict[str, Any]) -> ProviderError | None:
        if not body.get("error"):
            return None
        return stream_error(body, provider=self.name, secrets=self._transport.secrets)

    def _info(self, item: dict[str, Any]) -> ModelInfo | None:
        """A model of the list; what the list says of its window counts more than the table."""
        model = string(item, "id")
        if not model:
            return None
        window = next((value for name in _WINDOWS if (value := count(item, name))), None)
        window = window or count(member(item, "meta"), "n_ctx") or count(member(item, "meta"), "n_ctx_train")
        known = self.capabilities(model)
        name = string(item, "name") or string(item, "display_name") or models.facts(model).display_name
        return ModelInfo(
            id=model,
            display_name=name,
            capabilities=replace(known, context_tokens=window or known.context_tokens),
        )
