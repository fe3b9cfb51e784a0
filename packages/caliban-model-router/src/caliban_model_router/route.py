"""What a route is: one model behind one provider, for one purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import force_setattr

from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.requirements import Requirements
from caliban_provider.request import Effort

Purpose: TypeAlias = Literal[
    "main_loop", "summarization", "fast_classifier", "sub_agent", "embedding", "other"
]
"""What a model is asked for."""

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

REST_S = 30.0
"""How long a route is passed over after a failure where nothing else is said."""


class Hedge(Struct, frozen=True, kw_only=True):
    """A second route is asked after `after_ms` ≥ 0 without content; at most `max_hedges` ≥ 1 of them."""

    after_ms: int = 1000
    max_hedges: int = 1


class Route(Struct, frozen=True, kw_only=True):
    """A model behind a provider, for one purpose.

    `requires` is what the model must be able to do for the route to be used at all. `fallback` are the ids
    to try after this route, in that order; `None` leaves it to the order of declaration, `()` is none. After
    a failure the route is passed over for `rest_s` while another can answer; a `breaker` counts instead.
    `effort` is the default of requests that say nothing; `effort_map` turns a level into a knob of the
    provider (see `caliban_model_router.effort`).
    """

    purpose: Purpose
    provider: str
    model: str
    id: str = ""
    requires: Requirements = field(default_factory=Requirements)
    fallback: tuple[str, ...] | None = None
    hedge: Hedge | None = None
    breaker: BreakerLimits | None = None
    rest_s: float = REST_S
    effort: Effort | None = None
    effort_map: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id:
            force_setattr(self, "id", f"{self.provider}:{self.model}:{self.purpose}")

    def __hash__(self) -> int:
        return hash((self.id, self.provider, self.model))  # a table of efforts has no hash

    @property
    def label(self) -> str:
        """The model as a person would name it."""
        return f"{self.provider}/{self.model}"
