"""A provider as settings describe it: what its models can do, and what every request of it says besides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from msgspec.structs import replace

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedProvider

MEMBERS: Final[Mapping[str, str]] = {
    "window": "context_tokens",
    "max_output": "max_output_tokens",
    "vision": "vision",
    "documents": "documents",
    "tools": "tools",
    "thinking": "thinking",
}
"""What settings call an ability -> what it is called here."""


class DescribedProvider(WrappedProvider):
    """`inner`, whose models are what `models` say, and whose requests have the members `extra` besides.

    A model's own name counts first; `*` stands for every model that has no table. Attributes that a provider
    need not have are those of `inner`.
    """

    def __init__(
        self, inner: Provider, *, models: Mapping[str, Mapping[str, Any]], extra: Mapping[str, Any]
    ) -> None:
        super().__init__(inner)
        self._models = models
        self._extra = extra

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do: as described, and as the provider knows for the rest."""
        return self._described(model, self._inner.capabilities(model))

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        described = self._described(request.model, Capabilities())
        if described.max_output_tokens is not None and request.max_tokens > described.max_output_tokens:
            request = replace(request, max_tokens=described.max_output_tokens)
        if not described.tools:
            request = replace(request, tools=())
        if self._extra:
            request = replace(request, extra={**self._extra, **request.extra})
        return self._inner.stream(request)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models on offer, as they are described."""
        listed = await self._inner.list_models()
        return tuple(
            replace(info, capabilities=self._described(info.id, info.capabilities)) for info in listed
        )

    def _described(self, model: str, known: Capabilities) -> Capabilities:
        table = self._models.get(model) or self._models.get("*") or {}
        changes: dict[str, Any] = {ours: table[theirs] for theirs, ours in MEMBERS.items() if theirs in table}
        if "context_tokens" in changes:
            changes["input_tokens"] = None  # what the table knows is of another window
        return replace(known, **changes) if changes else known
