"""The provider and the model of a run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import ModelOptions
from caliban.compose.choice import ModelInputs
from caliban.compose.keys import KeyHelper, find_key
from caliban.errors import ConfigError, MissingKey
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_provider.capabilities import ModelInfo
from caliban_provider.errors import AuthenticationError, InvalidRequest, ProviderError, UnknownProvider
from caliban_provider.options import check_headers, refuse_unknown, under
from caliban_provider.provider import Provider, ProviderFactory, ProviderOptions
from caliban_provider.registry import find, first_set
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_agent_core.ports import Compactor

DEFAULT_PROVIDER = "anthropic"
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

PARTS: Final = ("name", "family", "capabilities", "stream", "aclose")
"""What a run asks of a provider; only lists of models ask for more."""

NO_KEY = "there is no API key for Anthropic"
WAYS_ON = """\
there are three ways on:
  1. a key:           export ANTHROPIC_API_KEY=sk-ant-…   (or keep it: caliban login anthropic)
  2. a local server:  export ANTHROPIC_BASE_URL=http://127.0.0.1:PORT ANTHROPIC_API_KEY=local
                      for any server that speaks the Anthropic Messages API
  3. no server:       caliban --provider local -p "…"
                      runs a small model in this process"""


class ResolvedModel(Struct, frozen=True, kw_only=True):
    """A provider with the model to ask for.

    `name` is what the operator calls the provider: a session goes on by it. `base_url` is the address that
    settings or a flag give. `compactor` is there where another model than the one at work writes summaries.
    """

    provider: Provider
    model: str
    name: str
    base_url: str | None = None
    compactor: Compactor | None = None


def build_provider(inputs: ModelInputs, report: Report) -> ResolvedModel:
    """The provider and model by flag, then settings, then default.

    Raises `ConfigError` for a missing key, `ProviderError` for a provider that is not there.
    """
    options, settings = inputs.options, inputs.settings
    chosen, model = chosen_names(options, settings)
    name = chosen or DEFAULT_PROVIDER
    table = placed(provider_table(settings, name), name, options.base_url)
    provider, factory = make_provider(name, inputs, table, report=report, explicit=chosen is not None)
    return ResolvedModel(
        provider=provider,
        model=options.model or model or factory.default_model,
        name=name,
        base_url=table.get("base_url"),
    )


def make_provider(
    name: str,
    inputs: ModelInputs,
    table: Mapping[str, Any] | None = None,
    *,
    report: Report,
    explicit: bool = True,
) -> tuple[Provider, ProviderFactory]:
    """The provider called `name`, built in, installed, or described by a table of settings.

    `table` stands for the settings' own. `explicit` says that somebody named the provider. A program for the
    key is run when the provider is first used. Raises as `build_provider` does.
    """
    settings, environ = inputs.settings, inputs.environ
    made = table if table is not None else provider_table(settings, name)
    factory = find_factory(name, made)
    key = find_key(name, key_variables(factory, made), settings, environ)
    base_url = _base_url(factory, made, environ)
    _check_table(name, made)
    if not key and (made.get("api_key_env") or (factory.needs_key and not _is_here(made))):
        raise _missing_key(name, factory, made, explicit=explicit)
    options = ProviderOptions(
        api_key=key if isinstance(key, str) else None,
        base_url=base_url,
        headers=made.get("headers") or {},
        extra=option_texts(made),
        on_status=lambda text: report(Notice(subtype="status", message=text)),
    )
    try:
        if isinstance(key, KeyHelper):
            return _keyed(factory, options, key, report), factory
        return _make(factory, options), factory
    except ProviderError as error:
        if error.category == "other":  # a fault of the package, whatever the configuration
            raise
        if not key and isinstance(error, AuthenticationError):
            raise _missing_key(name, factory, made, explicit=explicit) from error
        raise ConfigError(error.message, hint=error.hint) from error


def provider_table(settings: Settings, name: str) -> Mapping[str, Any]:
    """What settings say of the provider `name`, which may hold dots; empty where they say nothing."""
    tables: Mapping[str, Mapping[str, Any]] = settings.get("provider") or {}
    return tables.get(name) or {}


def placed(table: Mapping[str, Any] | None, name: str, base_url: str | None) -> Mapping[str, Any]:
    """What settings say of the provider `name`, at the address that a flag gives instead."""
    made = table or {}
    return {**made, "kind": made.get("kind") or name, "base_url": base_url} if base_url else made


def find_factory(name: str, made: Mapping[str, Any]) -> ProviderFactory:
    """The factory of the provider `name` that the table `made` describes, with the facts of its options.

    Raises `UnknownProvider`, `ConfigError` for one that can be installed and for options that it does not
    have.
    """
    kind = made.get("kind") or name
    try:
        factory = find(kind, BUILTIN)
    except UnknownProvider as error:
        absent = error.__cause__ is None or isinstance(error.__cause__, ModuleNotFoundError)
        if kind not in EXTRAS or not absent:
            raise
        raise ConfigError(
            f"the provider {kind} is not installed", hint=f"pip install 'caliban[{EXTRAS[kind]}]'"
        ) from error
    extra = option_texts(made)
    try:
        refuse_unknown(factory, extra)
    except InvalidRequest as error:
        raise ConfigError(f"[provider.{name}.options] {error.message}", hint=error.hint) from error
    return under(factory, extra)


def option_texts(made: Mapping[str, Any]) -> dict[str, str]:
    """The options of a provider's table, numbers and booleans as TOML writes them."""
    said: Mapping[str, Any] = made.get("options") or {}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in said.items()
    }


async def close_provider(provider: Provider, report: Report) -> None:
    """Close the provider, for at most a second; the run has its result, so a failure is only told."""
    try:
        with anyio.move_on_after(1, shield=True):
            await provider.aclose()
    except Exception as error:
        message = f"the provider could not be closed: {type(error).__name__}: {one_line(str(error))}"
        report(Notice(subtype="close_failed", message=message))


def _keyed(
    factory: ProviderFactory, options: ProviderOptions, question: KeyHelper, report: Report
) -> Provider:
    """The provider with the key that a program gives at the time."""
    from caliban.compose.keyprogram import key_source
    from caliban_provider.keyed import KeyedProvider

    return KeyedProvider(
        lambda key: _make(factory, replace(options, api_key=key)), key_source(question, report)
    )


def _make(factory: ProviderFactory, options: ProviderOptions) -> Provider:
    try:
        made = factory.create(options)
        missing = [part for part in PARTS if not hasattr(made, part)]
    except CalibanError:
        raise
    except (Exception, SystemExit) as error:
        raise _at_fault(factory.name, f"cannot be made: {type(error).__name__}: {error}") from error
    if missing:
        raise _at_fault(factory.name, f"is none: it has no {', '.join(missing)}")
    return made


async def list_models(provider: Provider) -> tuple[ModelInfo, ...]:
    """What `provider` lists. Raises `ProviderError`, also for a fault of its package."""
    try:
        found = tuple(await provider.list_models())
    except CalibanError:
        raise
    except Exception as error:
        raise _at_fault(provider.name, f"cannot list its models: {type(error).__name__}: {error}") from error
    if not all(isinstance(model, ModelInfo) for model in found):
        raise _at_fault(provider.name, "lists something that is no model")
    return found


def _at_fault(name: str, what: str) -> ProviderError:
    return ProviderError(
        f"the provider {name!r} {one_line(what)}",
        hint="this is a fault of the package that offers it; choose another --provider",
    )


def chosen_names(options: ModelOptions, settings: Settings) -> tuple[str | None, str | None]:
    """Provider and model by name; a model that settings name belongs to the provider they name."""
    said: Any = settings.get("model")
    provider: str | None = said.get("provider") if isinstance(said, Mapping) else None
    model: str | None = said.get("name") if isinstance(said, Mapping) else said
    if options.provider is not None and options.provider != (provider or DEFAULT_PROVIDER):
        return options.provider, None
    return options.provider or provider, model


def key_variables(factory: ProviderFactory, made: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the environment may hold the key."""
    own = made.get("api_key_env")
    return (own,) if own else tuple(factory.key_env)


def _base_url(factory: ProviderFactory, made: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """An endpoint of its own name is where its settings say; else the environment comes first."""
    written: str | None = made.get("base_url")
    if made.get("kind") and written:
        return written
    return first_set(environ, factory.base_url_env) or written


def _check_table(name: str, made: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for an address that is none, or the vendor would get a key of somebody else's."""
    written = made.get("base_url")
    if written is not None and not written.strip():
        raise ConfigError(f"[provider.{name}] the base_url is empty", hint="name the server, or leave it out")
    try:
        check_headers(made.get("headers") or {})
    except InvalidRequest as error:
        raise ConfigError(f"[provider.{name}.headers] {error.message}", hint=error.hint) from None


def _is_here(made: Mapping[str, Any]) -> bool:
    """Whether an endpoint of its own runs on this machine: it rarely wants a key, and says so if it does."""
    if not made.get("kind"):
        return False
    try:
        host = urlsplit(made.get("base_url") or "").hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or host.startswith("127.")


def _missing_key(
    name: str, factory: ProviderFactory, made: Mapping[str, Any], *, explicit: bool
) -> MissingKey:
    if name == DEFAULT_PROVIDER and not made:
        return MissingKey(NO_KEY, hint=WAYS_ON)
    ways = [f"export {variable}=…" for variable in key_variables(factory, made)[:1]]
    ways.append(f"keep it: caliban login {name}")
    if not explicit:
        ways.append("choose another --provider")
    return MissingKey(f"there is no API key for {name}", hint=", or ".join(ways))
