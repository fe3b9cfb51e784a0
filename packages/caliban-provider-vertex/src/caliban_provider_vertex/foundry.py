"""What the entry point `foundry` names: Claude on Azure AI Foundry, the API itself at another address."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.errors import InvalidRequest
from caliban_provider.provider import ProviderFactory, ProviderOptions
from caliban_provider_anthropic.factory import OPTIONS as ANTHROPIC_OPTIONS
from caliban_provider_anthropic.factory import check_extra

if TYPE_CHECKING:
    from caliban_provider_anthropic.provider import AnthropicProvider

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {**ANTHROPIC_OPTIONS, "resource": "the resource's name, where no base URL is given"}
)
"""What `ProviderOptions.extra` may hold."""

_RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")


class FoundryFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options; a model is the name of a deployment.

    `options.extra` may hold `resource` (also ANTHROPIC_FOUNDRY_RESOURCE) where no base URL is given, and what
    `ApiTransport` reads; `auth` `bearer` is for a token of Entra. `environ` stands in for the process's
    environment.
    """

    name: str = "foundry"
    default_model: str = "claude-sonnet-4-6"
    needs_key: bool = True
    key_env: tuple[str, ...] = ("ANTHROPIC_FOUNDRY_API_KEY",)
    base_url_env: tuple[str, ...] = ("ANTHROPIC_FOUNDRY_BASE_URL",)
    environ: Mapping[str, str] | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> AnthropicProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` without a resource or for a base URL or option that is none,
        `AuthenticationError` for a key that is none.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider.options import refuse_unknown
        from caliban_provider_anthropic.provider import AnthropicProvider
        from caliban_provider_anthropic.transport import ApiTransport

        refuse_unknown(self, options.extra)
        check_extra(options.extra)
        environ = os.environ if self.environ is None else self.environ
        base_url = options.base_url or _address(
            options.extra.get("resource") or environ.get("ANTHROPIC_FOUNDRY_RESOURCE") or ""
        )
        extra = {"auth": "x-api-key", **options.extra}
        headers = dict(options.headers)
        if options.api_key and extra["auth"] != "bearer":
            headers = {"api-key": options.api_key.strip(), **headers}
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        return AnthropicProvider(
            ApiTransport(replace(options, base_url=base_url, extra=extra, headers=headers)),
            http,
            name=self.name,
            first_byte_s=options.first_byte_s,
            idle_s=options.idle_s,
        )


def _address(resource: str) -> str:
    if _RESOURCE.fullmatch(resource.strip()) is None:
        raise InvalidRequest(
            "no Foundry resource is named"
            if not resource
            else f"{resource[:40]!r} is not a Foundry resource",
            hint="set ANTHROPIC_FOUNDRY_RESOURCE or ANTHROPIC_FOUNDRY_BASE_URL",
        )
    return f"https://{resource.strip()}.services.ai.azure.com/anthropic"


FACTORY: ProviderFactory = FoundryFactory()
"""The entry point."""
