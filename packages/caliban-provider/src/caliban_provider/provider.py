"""The contract of a provider, and how one is made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct, field

from caliban_common.secret import masked_repr
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent


class Provider(Protocol):
    """One door to language models.

    `name` is how the operator calls it; `family` is whose signed blocks it understands (two providers may
    share a family). A provider with several behind it has an empty family: it makes of every history what
    each of them can read. A provider is used by one event loop and closed with `aclose`.
    """

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> str: ...

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do; a best guess for an unknown one, never an error."""
        ...

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply. Entering sends the request; leaving early ends it.

        Raises `ProviderError`, from entering or from the iterator. Never retries by itself.
        """
        ...

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models on offer; raises `ProviderError`."""
        ...

    async def aclose(self) -> None:
        """Give connections and memory back; may be called twice."""
        ...


class ProviderOptions(Struct, frozen=True, kw_only=True):
    """What an operator can say to any provider.

    `api_key` is the bare secret, taken from here into a header and nowhere else. `first_byte_s` bounds the
    wait for the first event of a reply, `idle_s` that between two. `on_status` is told in a
    line of what takes long before the first reply, such as loading a model, and `on_warning` of what makes a
    reply worth less than it seems. `extra` holds what only one
    provider knows, with string keys. Raises `TypeError` and `ValueError` for what none of them can be.
    """

    api_key: str | None = None
    base_url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    connect_s: float = 10.0
    first_byte_s: float = 300.0
    idle_s: float = 90.0
    on_status: Callable[[str], None] | None = None
    on_warning: Callable[[str], None] | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("api_key", "base_url"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} takes a text, not {type(value).__name__}")
        for name in ("headers", "extra"):
            table = getattr(self, name)
            if not isinstance(table, Mapping) or not all(isinstance(each, str) for each in table.values()):
                raise TypeError(f"{name} takes texts by their names, as {{'x-team': 'desk'}}")
        for name in ("connect_s", "first_byte_s", "idle_s"):
            seconds = getattr(self, name)
            if isinstance(seconds, bool) or not isinstance(seconds, int | float):
                raise TypeError(f"{name} takes a number of seconds, not {type(seconds).__name__}")
            if not seconds > 0:
                raise ValueError(f"{name} takes seconds above 0, not {seconds}")

    def __repr__(self) -> str:
        return masked_repr(self, "api_key")


class ProviderFactory(Protocol):
    """What an entry point of the group `caliban.providers` names: facts first, then the provider itself.

    `key_env` and `base_url_env` are environment variables, the first that is set wins; `needs_key` says
    whether a missing key is worth a message before the first call.

    A factory may have three members more, read by `caliban_provider.options`. `options` maps each name it
    understands in `ProviderOptions.extra` to a line about it; any other is refused, and every name is taken
    where there is no such member. `under(extra)` gives the factory whose facts hold with those options, for
    one whose keys depend on them. `prices` maps ids of models to US dollars per million tokens, as
    `{"input": 3.0, "output": 15.0}`, with `cache_read` and `cache_write` where they are others.
    """

    @property
    def name(self) -> str: ...

    @property
    def default_model(self) -> str: ...

    @property
    def needs_key(self) -> bool: ...

    @property
    def key_env(self) -> tuple[str, ...]: ...

    @property
    def base_url_env(self) -> tuple[str, ...]: ...

    def create(self, options: ProviderOptions) -> Provider:
        """Make the provider; opens no connection. Raises `ProviderError` for options it cannot work with."""
        ...


async def make_ready(provider: Provider) -> None:
    """Let `provider` get what its first call needs; one that has such a need has an async method `ready`.

    Raises `ProviderError` for what keeps that call from being made.
    """
    ready = getattr(provider, "ready", None)
    if callable(ready):
        await ready()
