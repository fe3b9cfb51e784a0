"""What the entry point `anthropic` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from caliban_provider.provider import ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from caliban_provider_anthropic.provider import AnthropicProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicFactory:
    """Makes the provider from an operator's options; see `ApiTransport` for those in `extra`."""

    name: str = "anthropic"
    default_model: str = "claude-sonnet-4-6"
    needs_key: bool = True
    key_env: tuple[str, ...] = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    base_url_env: tuple[str, ...] = ("ANTHROPIC_BASE_URL",)

    def create(self, options: ProviderOptions) -> AnthropicProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` for a base URL that is none, `AuthenticationError` for a key that is none.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider_anthropic.provider import AnthropicProvider
        from caliban_provider_anthropic.transport import ApiTransport

        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        return AnthropicProvider(
            ApiTransport(options), http, first_byte_s=options.first_byte_s, idle_s=options.idle_s
        )


FACTORY: ProviderFactory = AnthropicFactory()
"""The entry point."""
