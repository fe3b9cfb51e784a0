"""What the entry point `anthropic` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.provider import ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from caliban_provider_anthropic.provider import AnthropicProvider

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic_beta": "beta features to ask for: a comma list",
        "anthropic_version": "the version of the API (2023-06-01)",
        "cache_ttl": "how long the vendor's cache keeps a prompt: 5m or 1h, which costs more",
        "auth": "how the key is sent: x-api-key or bearer",
        "server_tools": "tools that the vendor runs itself: web_search",
    }
)
"""What `ProviderOptions.extra` may hold."""


class AnthropicFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options; see `ApiTransport` for those in `extra`."""

    name: str = "anthropic"
    default_model: str = "claude-sonnet-4-6"
    needs_key: bool = True
    key_env: tuple[str, ...] = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    base_url_env: tuple[str, ...] = ("ANTHROPIC_BASE_URL",)

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> AnthropicProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` for a base URL or an option that is none, `AuthenticationError` for a key that
        is none.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider.options import refuse_unknown
        from caliban_provider_anthropic.provider import AnthropicProvider
        from caliban_provider_anthropic.transport import ApiTransport

        refuse_unknown(self, options.extra)
        options = replace(options, extra={**_versions(), **options.extra})
        check_extra(options.extra)
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        return AnthropicProvider(
            ApiTransport(options),
            http,
            first_byte_s=options.first_byte_s,
            idle_s=options.idle_s,
        )


def _versions() -> dict[str, str]:
    """The version that the environment asks for."""
    version = os.environ.get("ANTHROPIC_VERSION", "")
    return {"anthropic_version": version} if version else {}


def check_extra(extra: Mapping[str, str]) -> None:
    """Raise `InvalidRequest` for an option of this wire whose value cannot be sent."""
    from caliban_provider.options import LINE, VERSION, matching, one_of, several_of
    from caliban_provider_anthropic.encode import SERVER_TOOLS

    one_of(extra, "auth", ("x-api-key", "bearer"))
    one_of(extra, "cache_ttl", ("5m", "1h"))
    several_of(extra, "server_tools", tuple(SERVER_TOOLS))
    matching(extra, "anthropic_version", VERSION, what="a version such as 2023-06-01")
    matching(extra, "anthropic_beta", LINE, what="a comma list of plain words")


FACTORY: ProviderFactory = AnthropicFactory()
"""The entry point."""
