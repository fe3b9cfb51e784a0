"""The providers by name: what settings say of them, and the factories that make them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from caliban.errors import ConfigError
from caliban_provider.errors import InvalidRequest, UnknownProvider
from caliban_provider.options import check_headers, refuse_unknown, under
from caliban_provider.provider import ProviderFactory
from caliban_provider.registry import find, first_set
from caliban_settings import Settings

BUILTIN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic": "caliban_provider_anthropic.factory:FACTORY",
        "azure": "caliban_provider_openai.azure:FACTORY",
        "google": "caliban_provider_google.factory:FACTORY",
        "local": "caliban_provider_local.factory:FACTORY",
        "ollama": "caliban_provider_ollama.factory:FACTORY",
        "openai": "caliban_provider_openai.factory:FACTORY",
    }
)
"""Where the providers of this distribution are: a look-up of installed packages would cost more."""

EXTRAS: Final[Mapping[str, str]] = MappingProxyType(
    {"bedrock": "bedrock", "foundry": "vertex", "local": "local", "vertex": "vertex"}
)
"""Providers that are not always installed -> the extra of the distribution that brings them."""

SettingsTable: TypeAlias = Mapping[str, Any]
"""A table `[provider.NAME]` as it was written and checked."""


class ProviderEntry(Struct, frozen=True, kw_only=True):
    """A provider by the `name` that the operator gives it: its table, and its factory with the facts."""

    name: str
    table: SettingsTable
    factory: ProviderFactory

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Where the environment may hold the key."""
        own = self.table.get("api_key_env")
        return (own,) if own else tuple(self.factory.key_env)

    @property
    def option_texts(self) -> dict[str, str]:
        """The options of its table, numbers and booleans as TOML writes them."""
        return _option_texts(self.table)

    @property
    def needs_key(self) -> bool:
        """Whether it is worth a word before the first call that there is no key.

        An endpoint of its own that runs on this machine rarely wants one, and says so if it does.
        """
        return bool(self.table.get("api_key_env")) or (self.factory.needs_key and not _is_here(self.table))

    def base_url(self, environ: Mapping[str, str]) -> str | None:
        """An endpoint of its own name is where its settings say; else the environment comes first."""
        written: str | None = self.table.get("base_url")
        if self.table.get("kind") and written:
            return written
        return first_set(environ, self.factory.base_url_env) or written

    def at(self, base_url: str | None) -> ProviderEntry:
        """The same provider at the address that a flag gives, if it does."""
        if not base_url:
            return self
        kind = self.table.get("kind") or self.name
        return replace(self, table={**self.table, "kind": kind, "base_url": base_url})

    def check(self) -> None:
        """Raise `ConfigError` for an address that is none: a vendor would get a key of somebody else's."""
        written = self.table.get("base_url")
        if written is not None and not written.strip():
            raise ConfigError(
                f"[provider.{self.name}] the base_url is empty", hint="name the server, or leave it out"
            )
        try:
            check_headers(self.table.get("headers") or {})
        except InvalidRequest as error:
            raise ConfigError(f"[provider.{self.name}.headers] {error.message}", hint=error.hint) from None


class ProviderCatalog:
    """The providers that `tables` describe, each looked up once."""

    def __init__(self, tables: Mapping[str, SettingsTable]) -> None:
        self.tables = tables
        self._entries: dict[str, ProviderEntry] = {}

    def entry(self, name: str) -> ProviderEntry:
        """The provider `name`. Raises as `find_provider` does."""
        if name not in self._entries:
            self._entries[name] = find_provider(name, self.tables)
        return self._entries[name]


def provider_tables(settings: Settings) -> Mapping[str, SettingsTable]:
    """What settings say of providers, by names that may hold dots."""
    tables: Mapping[str, SettingsTable] = settings.get("provider") or {}
    return tables


def find_provider(name: str, tables: Mapping[str, SettingsTable]) -> ProviderEntry:
    """The provider `name`, built in, installed, or described by one of `tables`.

    Raises `UnknownProvider`, `ConfigError` for one that can be installed and for options that it does not
    have.
    """
    table = tables.get(name) or {}
    factory = _factory(table.get("kind") or name)
    extra = _option_texts(table)
    try:
        refuse_unknown(factory, extra)
    except InvalidRequest as error:
        raise ConfigError(f"[provider.{name}.options] {error.message}", hint=error.hint) from error
    return ProviderEntry(name=name, table=table, factory=under(factory, extra))


def _option_texts(table: SettingsTable) -> dict[str, str]:
    """The options of a provider's table, numbers and booleans as TOML writes them."""
    options: Mapping[str, Any] = table.get("options") or {}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()
    }


def _factory(kind: str) -> ProviderFactory:
    try:
        return find(kind, BUILTIN)
    except UnknownProvider as error:
        absent = error.__cause__ is None or isinstance(error.__cause__, ModuleNotFoundError)
        if kind not in EXTRAS or not absent:
            raise
        raise ConfigError(
            f"the provider {kind} is not installed", hint=f"pip install 'caliban[{EXTRAS[kind]}]'"
        ) from error


def _is_here(table: SettingsTable) -> bool:
    """Whether the table names an endpoint on this machine."""
    if not table.get("kind"):
        return False
    try:
        host = urlsplit(table.get("base_url") or "").hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or host.startswith("127.")
