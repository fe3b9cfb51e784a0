"""What a run asks: a provider together with a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_provider.provider import Provider

if TYPE_CHECKING:
    from caliban_agent_core.ports import Compactor


class ResolvedModel(Struct, frozen=True, kw_only=True):
    """A provider with the model to ask for.

    `name` is what the operator calls the provider: a session goes on by it. `base_url` is the address that
    settings or a flag give. `compactor` is there where another model than the one at work writes summaries.
    """

    provider: Provider
    model: str
    name: str
    base_url: str | None = None
    compactor: Compactor | None = None
