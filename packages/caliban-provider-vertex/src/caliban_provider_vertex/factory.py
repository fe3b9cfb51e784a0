"""What the entry point `vertex` names: facts that cost nothing, and the door to the provider."""

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
        "anthropic_version": "the version in the body (vertex-2023-10-16)",
        "auth_refresh": "how old a token may become: 5m; 0 is never renewed",
        "project": "the id of the Google Cloud project",
        "region": "the region (global)",
    }
)
"""What `ProviderOptions.extra` may hold."""


class VertexFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options; see `settings_of` for those in `extra`.

    An `api_key` is a ready token. `environ` stands in for the process's environment.
    """

    name: str = "vertex"
    default_model: str = "claude-sonnet-4-6"
    needs_key: bool = False
    key_env: tuple[str, ...] = ("ANTHROPIC_VERTEX_TOKEN",)
    base_url_env: tuple[str, ...] = ("ANTHROPIC_VERTEX_BASE_URL",)
    environ: Mapping[str, str] | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> AnthropicProvider:
        """Make the provider; opens no connection and looks for no credentials yet.

        Raises `InvalidRequest` for a region, project, base URL or option that is none, `AuthenticationError`
        for such a token.
        """
        from caliban_provider.google_auth import DefaultTokens, GivenToken
        from caliban_provider.http import HttpClient
        from caliban_provider.options import refuse_unknown
        from caliban_provider_anthropic.provider import AnthropicProvider
        from caliban_provider_vertex.models import WIRE_IDS
        from caliban_provider_vertex.settings import settings_of
        from caliban_provider_vertex.transport import VertexTransport

        refuse_unknown(self, options.extra)
        settings = settings_of(options, os.environ if self.environ is None else self.environ)
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        ready = DefaultTokens(http, package="caliban-cli[vertex]", variable="ANTHROPIC_VERTEX_TOKEN")
        tokens = GivenToken(settings.token) if settings.token else ready
        return AnthropicProvider(
            VertexTransport(settings, tokens),
            http,
            name=self.name,
            first_byte_s=options.first_byte_s,
            idle_s=options.idle_s,
            offered=tuple(WIRE_IDS.values()),
        )


FACTORY: ProviderFactory = VertexFactory()
"""The entry point."""
