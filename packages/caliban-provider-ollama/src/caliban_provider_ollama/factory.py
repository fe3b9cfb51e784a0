"""What the entry point `ollama` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from caliban_provider.errors import InvalidRequest
from caliban_provider.provider import ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from caliban_provider_ollama.provider import OllamaProvider

MIN_NUM_CTX = 256
"""The smallest window that an operator may fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaFactory:
    """Makes the provider from an operator's options.

    `options.extra` may hold `num_ctx`, a window that every request is given, in tokens, and `keep_alive`, how
    long a model stays loaded: seconds, -1 for ever, or a span such as `10m`. A key is for servers elsewhere.
    """

    name: str = "ollama"
    default_model: str = "llama3.1"
    needs_key: bool = False
    key_env: tuple[str, ...] = ("OLLAMA_API_KEY",)
    base_url_env: tuple[str, ...] = ("OLLAMA_BASE_URL", "OLLAMA_HOST")

    def create(self, options: ProviderOptions) -> OllamaProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` for an address or a `num_ctx` that is none, `AuthenticationError` for a key.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider_ollama.encode import Wishes
        from caliban_provider_ollama.provider import OllamaProvider
        from caliban_provider_ollama.transport import Transport

        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        wishes = Wishes(
            num_ctx=_num_ctx(options.extra.get("num_ctx")),
            keep_alive=_keep_alive(options.extra.get("keep_alive")),
        )
        return OllamaProvider(
            Transport(options),
            http,
            wishes=wishes,
            silence_s=(options.first_byte_s, options.idle_s),
            on_status=options.on_status,
        )


def _num_ctx(told: str | None) -> int | None:
    if not told:
        return None
    size = _whole(told)
    if size is None or size < MIN_NUM_CTX:
        raise InvalidRequest(
            f"num_ctx must be a whole number of tokens ≥ {MIN_NUM_CTX}, not {told[:40]!r}",
            hint="Leave it out to have the window fit each request.",
        )
    return size


def _keep_alive(told: str | None) -> str | int | None:
    """Seconds as a number, a span as it is."""
    seconds = _whole(told)
    return seconds if seconds is not None else told or None


def _whole(told: str | None) -> int | None:
    try:
        return int(told or "")
    except ValueError:
        return None


FACTORY: ProviderFactory = OllamaFactory()
"""The entry point."""
