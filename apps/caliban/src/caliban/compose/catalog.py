"""The providers by name: what settings say of them, and the factories that make them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.presets import OTHER_NAMES, PRESETS, WITHOUT_KEYS, Preset
from caliban.errors import ConfigError
from caliban_common.near import did_you_mean
from caliban_provider.address import is_address
from caliban_provider.errors import InvalidRequest, UnknownProvider
from caliban_provider.options import check_headers, prices, refuse_unknown, under
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

WAITS: Final = ("first_byte_s", "idle_s")
"""Limits of waiting that every adapter keeps."""

OF_BODIES: Final = ("extra_body", "service_tier")
"""Options of every provider: members of the body of each request."""

_VARIABLE: Final = r"\{([A-Z_]+)\}"

SettingsTable: TypeAlias = Mapping[str, Any]
"""A table `[provider.NAME]` as it was written and checked."""


class ProviderEntry(Struct, frozen=True, kw_only=True):
    """A provider by the `name` that the operator gives it: its table, and its factory with the facts."""

    name: str
    table: SettingsTable
    factory: ProviderFactory
    preset: Preset | None = None

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Where the environment may hold the key."""
        own = self.table.get("api_key_env")
        if own:
            return (own,)
        return tuple(self.factory.key_env) if self.preset is None else self.preset.key_env

    @property
    def default_model(self) -> str:
        """The model that is asked where nobody names one. Raises `ConfigError` where there is none."""
        model = self.factory.default_model if self.preset is None else self.preset.default_model
        if not model:
            raise ConfigError(
                f"{self.name} needs the name of a model",
                hint=f"say which by --model NAME; caliban models --provider {self.name} lists them",
            )
        return model

    @property
    def option_texts(self) -> dict[str, str]:
        """The options of its table, numbers and booleans as TOML writes them."""
        return _option_texts(self.table)

    @property
    def is_ours(self) -> bool:
        """Whether this distribution brings the adapter."""
        return self.kind in BUILTIN or self.kind in EXTRAS

    @property
    def kind(self) -> str:
        """The name of the adapter."""
        return self.table.get("kind") or self.name

    @property
    def package(self) -> str:
        """The module that the adapter is of, for a fault of it."""
        return type(self.factory).__module__.partition(".")[0]

    @property
    def waits(self) -> dict[str, float]:
        """The limits of waiting that its table gives, in seconds."""
        return {name: float(self.table[name]) for name in WAITS if self.table.get(name)}

    @property
    def total_s(self) -> float | None:
        """How long a whole reply may take, where its table limits that."""
        limit = self.table.get("total_s")
        return float(limit) if limit else None

    @property
    def may_speak_calls(self) -> bool:
        """Whether its models may write calls as text: those that run here, open ones that others serve."""
        if self.kind in ("local", "ollama"):
            return True
        return self.kind == "openai" and bool(self.table.get("base_url"))

    @property
    def may_tell_windows(self) -> bool:
        """Whether its server may tell, in its list of models, windows that no table of ours has."""
        return self.kind == "openai" and (self.preset is not None or bool(self.table.get("base_url")))

    @property
    def prices(self) -> dict[str, Mapping[str, float]]:
        """What its models cost: as its table says, and as its package does for the rest."""
        models: Mapping[str, Mapping[str, Any]] = self.table.get("models") or {}
        described = {model: row["price"] for model, row in models.items() if row.get("price")}
        return {**prices(self.factory), **described}

    @property
    def extra_body(self) -> dict[str, Any]:
        """What its table adds to the body of every request."""
        options: Mapping[str, Any] = self.table.get("options") or {}
        tier = options.get("service_tier")
        named = {} if tier is None else {"serviceTier" if self.kind == "google" else "service_tier": tier}
        return {**(options.get("extra_body") or {}), **named}

    @property
    def needs_key(self) -> bool:
        """Whether it is worth a word before the first call that there is no key.

        An endpoint of its own that runs on this machine rarely wants one, and says so if it does.
        """
        if self.preset is not None and not self.table.get("api_key_env"):
            return bool(self.preset.key_env) and not _is_here(self.table)
        return bool(self.table.get("api_key_env")) or (self.factory.needs_key and not _is_here(self.table))

    def base_url(self, environ: Mapping[str, str]) -> str | None:
        """An endpoint of its own name is where its settings say; else the environment comes first."""
        written: str | None = self.table.get("base_url")
        if self.preset is not None and written:
            return _filled(written, self.name, environ)
        if self.table.get("kind") and written:
            return written
        return first_set(environ, self.factory.base_url_env) or written

    def at(self, base_url: str | None) -> ProviderEntry:
        """The same provider at the address that a flag gives, if it does."""
        if not base_url:
            return self
        kind = self.table.get("kind") or self.name
        table = {**self.table, "kind": kind, "base_url": base_url}
        return replace(self, table=table if self.preset is None else _under(self.preset, table))

    def check(self) -> None:
        """Raise `ConfigError` for an address that is none: a vendor would get a key of somebody else's."""
        written = self.table.get("base_url")
        if written is not None and not is_address(re.sub(_VARIABLE, "name", written.strip())):
            raise ConfigError(
                f"[provider.{self.name}] the base_url is not an http or https URL",
                hint="write it as https://HOST/PATH, or http://HOST:PORT/PATH with a port up to 65535",
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
    preset = _preset(name, table)
    if preset is not None:
        table = _under(preset, table)
    kind = table.get("kind") or name
    try:
        factory = _factory(kind)
    except UnknownProvider as error:
        if error.__cause__ is not None:
            raise
        raise UnknownProvider(error.message, hint=_meant(kind, tables, error.hint)) from None
    extra = _option_texts(table)
    try:
        refuse_unknown(factory, extra, others=OF_BODIES)
    except InvalidRequest as error:
        raise ConfigError(f"[provider.{name}.options] {error.message}", hint=error.hint) from error
    return ProviderEntry(name=name, table=table, factory=under(factory, extra), preset=preset)


def _meant(kind: str, tables: Mapping[str, SettingsTable], installed: str | None) -> str:
    """What to do about a provider that is none; `installed` says which packages have one."""
    listed = "caliban models --providers lists all there are"
    head, slash, _ = kind.partition("/")
    if slash and is_provider(head, tables):
        return f"a model is named by --model {kind}"
    if kind in tables:
        return (
            f'say in [provider.{kind}] which wire it speaks: kind = "openai" fits most servers, others are '
            f"{', '.join(wire for wire in BUILTIN if wire != 'openai')}"
        )
    if kind.lower() in WITHOUT_KEYS:
        return f"it takes no key of its own: put a gateway before it, such as litellm; {listed}"
    other = OTHER_NAMES.get(kind.lower())
    meant = f"did you mean {other}?" if other else did_you_mean(kind, (*BUILTIN, *EXTRAS, *PRESETS, *tables))
    if meant:
        return f"{meant} {listed}"
    return f"{installed}; {listed}" if installed else listed


def is_provider(name: str, tables: Mapping[str, SettingsTable]) -> bool:
    """Whether `name` is that of a provider which is known without looking at installed packages."""
    return name in BUILTIN or name in EXTRAS or name in tables or name in PRESETS


def holds_slashes(name: str, tables: Mapping[str, SettingsTable]) -> bool:
    """Whether the ids of the models of the provider `name` may hold slashes of their own."""
    table = tables.get(name) or {}
    preset = _preset(name, table)
    if preset is not None:
        return preset.owner_in_id
    return "ollama" in (name, table.get("kind")) or bool(table.get("kind"))


def _preset(name: str, table: SettingsTable) -> Preset | None:
    """The row for `name`, unless `table` describes a provider of its own."""
    if name in BUILTIN or name in EXTRAS or table.get("kind"):
        return None
    return PRESETS.get(name)


def _under(preset: Preset, table: SettingsTable) -> SettingsTable:
    """`table` with what `preset` says under it."""
    options = {**(table.get("options") or {})}
    if preset.kind == "openai" and (quirks := _quirks(preset, table, options)):
        options["quirks"] = quirks
    below = {"kind": preset.kind, "base_url": preset.base_url}
    return {**below, **table, "options": options}


def _quirks(preset: Preset, table: SettingsTable, options: SettingsTable) -> str:
    """The quirks of a row, of the server that it names where `table` has a proxy before it, and its own."""
    own = options.get("quirks", preset.quirks)
    host = urlsplit(preset.base_url).hostname or ""
    stands_before = f"like={host}" if table.get("base_url") and "{" not in host else ""
    return ",".join(filter(None, (stands_before, _option_text(own))))


def _filled(url: str, name: str, environ: Mapping[str, str]) -> str:
    """`url` with the variables that it names. Raises `ConfigError` for one that is not set."""

    def value(variable: re.Match[str]) -> str:
        text = environ.get(variable[1], "").strip().removeprefix("https://").strip("/")
        if not text:
            raise ConfigError(
                f"the address of {name} needs the variable {variable[1]}",
                hint=f"export {variable[1]}=…, or write base_url in [provider.{name}]",
            )
        return text

    return re.sub(_VARIABLE, value, url)


def _option_texts(table: SettingsTable) -> dict[str, str]:
    """The options of a provider's table: numbers and booleans as TOML writes them, lists with commas."""
    options: Mapping[str, Any] = table.get("options") or {}
    return {name: _option_text(value) for name, value in options.items() if name not in OF_BODIES}


def _option_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _factory(kind: str) -> ProviderFactory:
    try:
        return find(kind, BUILTIN)
    except UnknownProvider as error:
        absent = error.__cause__ is None or isinstance(error.__cause__, ModuleNotFoundError)
        if kind not in EXTRAS or not absent:
            raise
        raise ConfigError(
            f"the provider {kind} is not installed", hint=f"pip install 'caliban-cli[{EXTRAS[kind]}]'"
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
