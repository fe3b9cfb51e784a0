"""The two interfaces as one thing each: how a request is written there and a reply read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.capabilities import Capabilities
from caliban_provider.reader import WireDecoder
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEEvent
from caliban_provider_openai import models
from caliban_provider_openai.body import Body
from caliban_provider_openai.chat.decode import ChatDecoder, Style
from caliban_provider_openai.chat.encode import ChatEncoder
from caliban_provider_openai.quirks import Quirks
from caliban_provider_openai.responses.decode import ResponsesDecoder
from caliban_provider_openai.responses.encode import ResponsesEncoder


class ServiceFacts(Struct, frozen=True, kw_only=True):
    """What is said of a service once.

    `name` is the operator's for the provider. `cache_key` groups a session's requests in the vendor's cache.
    `base_model` is the model behind a deployment whose name says nothing. `aliased` says that the server
    calls a model otherwise than the operator does. `server_tools` are those of its own tools that it may use.
    """

    name: str
    cache_key: str = ""
    base_model: str = ""
    aliased: bool = False
    server_tools: tuple[str, ...] = ()


class Service(Protocol):
    """One interface: a writer of bodies that remembers, and a new reader for each reply."""

    @property
    def name(self) -> str: ...

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest`."""
        ...

    def decoder(self, body: Body, secrets: Collection[str]) -> WireDecoder[SSEEvent]:
        """A reader for the reply to `body`."""
        ...

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do through this interface."""
        ...


class ResponsesService:
    """Responses: everything the model wrote is sent back, encrypted reasoning included."""

    def __init__(self, quirks: Quirks, facts: ServiceFacts) -> None:
        self.name: str = facts.name
        self._facts = facts
        self._encoder = ResponsesEncoder(
            cache_key=facts.cache_key,
            base_model=facts.base_model,
            quirks=quirks,
            server_tools=facts.server_tools,
        )

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest`."""
        return self._encoder.body(request)

    def decoder(self, body: Body, secrets: Collection[str]) -> ResponsesDecoder:
        """A reader for the reply to `body`."""
        return ResponsesDecoder(
            model=body.model,
            provider=self.name,
            names=body.names,
            secrets=secrets,
            aliased=self._facts.aliased,
        )

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, from a dated table."""
        return models.capabilities(self._facts.base_model or model)


class ChatService:
    """Chat Completions as one server's quirks want it."""

    def __init__(self, quirks: Quirks, facts: ServiceFacts) -> None:
        self.name: str = facts.name
        self._quirks = quirks
        self._facts = facts
        self._encoder = ChatEncoder(quirks, cache_key=facts.cache_key, base_model=facts.base_model)

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest`."""
        return self._encoder.body(request)

    def decoder(self, body: Body, secrets: Collection[str]) -> ChatDecoder:
        """A reader for the reply to `body`."""
        return ChatDecoder(
            model=body.model,
            provider=self.name,
            names=body.names,
            secrets=secrets,
            style=Style(
                aliased=self._facts.aliased,
                salt=uuid4().hex,
                keeps_reasoning=bool(self._quirks.reasoning_field),
            ),
        )

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, as far as the server's quirks let it."""
        known = models.capabilities(self._facts.base_model or model)
        return replace(
            known,
            parallel_tools=self._quirks.parallel_tool_calls,
            documents=known.documents if self._quirks.files else False,
            efforts=known.efforts if self._quirks.effort else (),
            structured_output=known.structured_output
            and self._quirks.structured in ("json_schema", "json_object_schema"),
        )
