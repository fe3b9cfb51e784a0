"""The entry point `local` of the group `caliban.providers`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider_local.options import OPTIONS

ENVIRONMENT_PREFIX = "CALIBAN_LOCAL_"
"""`CALIBAN_LOCAL_THREADS=1` says what the option `threads` says; the option wins."""


class LocalFactory(Struct, frozen=True, kw_only=True):
    """Facts about the local provider, and how it is made."""

    name: str = "local"
    default_model: str = "smollm2"
    needs_key: bool = False
    key_env: tuple[str, ...] = ()
    base_url_env: tuple[str, ...] = ()

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> Provider:
        """Make the provider; loads nothing yet.

        Raises `InvalidRequest` for options that make no sense, `LoadFailed` where the runtime is not
        installed.
        """
        from caliban_provider.options import refuse_unknown
        from caliban_provider_local.provider import LocalProvider
        from caliban_provider_local.runtime import expect_runtime

        refuse_unknown(self, options.extra)
        variables = {name: os.environ.get(ENVIRONMENT_PREFIX + name.upper(), "") for name in OPTIONS}
        extra = {name: value for name, value in variables.items() if value} | dict(options.extra)
        expect_runtime()
        return LocalProvider(replace(options, extra=extra), on_status=options.on_status)


FACTORY = LocalFactory()
