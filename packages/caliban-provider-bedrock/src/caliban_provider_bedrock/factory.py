"""What the entry point `bedrock` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban_provider.provider import ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from caliban_provider_anthropic.provider import AnthropicProvider

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic_beta": "beta features to ask for: a comma list",
        "anthropic_version": "the version in the body (bedrock-2023-05-31)",
        "auth_refresh": "how old keys may become: 5m; 0 is never renewed",
        "inference_profile": "the geography that short names of models are called through (global)",
        "profile": "the AWS profile with the keys",
        "region": "the AWS region",
    }
)
"""What `ProviderOptions.extra` may hold."""


class BedrockFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options; see `settings_of` for those in `extra`.

    An `api_key` is a bearer token for Bedrock. `environ` stands in for the process's environment.
    """

    name: str = "bedrock"
    default_model: str = "global.anthropic.claude-sonnet-5-5"
    needs_key: bool = False
    key_env: tuple[str, ...] = ()
    base_url_env: tuple[str, ...] = (
        "AWS_BEDROCK_BASE_URL",
        "ANTHROPIC_BEDROCK_BASE_URL",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    )
    environ: Mapping[str, str] | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> AnthropicProvider:
        """Make the provider; opens no connection and looks for no keys yet.

        Raises `InvalidRequest` for a region, base URL or option that is none, `AuthenticationError` for such
        a token.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider.options import refuse_unknown
        from caliban_provider_anthropic.provider import AnthropicProvider
        from caliban_provider_bedrock.models import offered
        from caliban_provider_bedrock.settings import settings_of
        from caliban_provider_bedrock.transport import BedrockTransport

        refuse_unknown(self, options.extra)
        settings = settings_of(options, os.environ if self.environ is None else self.environ)
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        return AnthropicProvider(
            BedrockTransport(settings),
            http,
            name=self.name,
            first_byte_s=options.first_byte_s,
            idle_s=options.idle_s,
            offered=offered(profile=settings.inference_profile),
        )


FACTORY: ProviderFactory = BedrockFactory()
"""The entry point."""
