"""What the entry point `ollama` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban_provider.errors import InvalidRequest
from caliban_provider.provider import ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from caliban_provider_ollama.provider import OllamaProvider

MIN_NUM_CTX = 256
"""The smallest window that an operator may fix."""

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "keep_alive": "how long a model stays loaded: seconds, -1 for ever, or a span such as 10m",
        "num_ctx": "a window that every request is given, in tokens, instead of one that fits it",
    }
)
"""What `ProviderOptions.extra` may hold."""

_SPAN = r"-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+"


class OllamaFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options.

    `options.extra` may hold `num_ctx`, a window that every request is given, in tokens, and `keep_alive`, how
    long a model stays loaded: seconds, -1 for ever, or a span such as `10m`. A key is for servers elsewhere.
    `environ` stands in for the process's environment: `OLLAMA_NUM_CTX`.
    """

    name: str = "ollama"
    default_model: str = "llama3.1"
    needs_key: bool = False
    key_env: tuple[str, ...] = ("OLLAMA_API_KEY",)
    base_url_env: tuple[str, ...] = ("OLLAMA_BASE_URL", "OLLAMA_HOST")
    environ: Mapping[str, str] | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> OllamaProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` for an address or an option that is none, `AuthenticationError` for a key.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider.options import refuse_unknown
        from caliban_provider_ollama.encode import RequestDefaults
        from caliban_provider_ollama.provider import Listeners, OllamaProvider
        from caliban_provider_ollama.transport import Transport

        refuse_unknown(self, options.extra)
        environ = os.environ if self.environ is None else self.environ
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        defaults = RequestDefaults(
            num_ctx=_num_ctx(options.extra.get("num_ctx") or environ.get("OLLAMA_NUM_CTX")),
            keep_alive=_keep_alive(options.extra.get("keep_alive")),
        )
        return OllamaProvider(
            Transport(options),
            http,
            defaults=defaults,
            silence_s=(options.first_byte_s, options.idle_s),
            listeners=Listeners(on_status=options.on_status, on_warning=options.on_warning),
        )


def _num_ctx(text: str | None) -> int | None:
    if not text:
        return None
    size = _whole(text)
    if size is None or size < MIN_NUM_CTX:
        raise InvalidRequest(
            f"the option num_ctx must be a whole number of tokens ≥ {MIN_NUM_CTX}, not {text[:40]!r}",
            hint="leave it and OLLAMA_NUM_CTX out to have the window fit each request",
        )
    return size


def _keep_alive(text: str | None) -> str | int | None:
    """Seconds as a number, a span as it is."""
    text = (text or "").strip()
    seconds = _whole(text)
    if seconds is None and text and not re.fullmatch(_SPAN, text):
        raise InvalidRequest(
            f"the option keep_alive is seconds, -1, or a span such as 10m, not {text[:40]!r}"
        )
    return seconds if seconds is not None else text or None


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


FACTORY: ProviderFactory = OllamaFactory()
"""The entry point."""
