"""What a run asks: a provider together with a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_provider.provider import Provider

if TYPE_CHECKING:
    from caliban.compose.others import OtherModels
    from caliban_agent_core.ports import Compactor


class ResolvedModel(Struct, frozen=True, kw_only=True):
    """A provider with the model to ask for.

    `name` is what the operator calls the provider: a session goes on by it. `base_url` is the address that
    settings or a flag give, `fallback` what is asked when the model fails, as `provider/model`. `compactor`
    is there where another model than the one at work writes summaries. `child` gives what a sub-agent asks,
    for itself alone, by the name of a model or `None`; without it that is the same provider. `classifier`
    gives what judges calls in the auto mode, where routes say that it is another model. `others` are those of
    other providers, for agents whose files name one.
    """

    provider: Provider
    model: str
    name: str
    base_url: str | None = None
    fallback: str | None = None
    compactor: Compactor | None = None
    child: Callable[[str | None], ResolvedModel] | None = None
    classifier: Callable[[], ResolvedModel] | None = None
    others: OtherModels | None = None

    @property
    def providers(self) -> tuple[Provider, ...]:
        """All that has to be closed."""
        return (self.provider, *(self.others.made.values() if self.others is not None else ()))
