"""Providers are made, asked for their models, and closed: a fault of a package is an error by its name."""

from __future__ import annotations

from typing import Final

import anyio
from msgspec.structs import replace

from caliban.compose.catalog import ProviderEntry
from caliban.compose.choice import DEFAULT_PROVIDER, ModelInputs
from caliban.compose.keys import KeyHelper, find_key
from caliban.errors import ConfigError, MissingKey
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_provider.capabilities import ModelInfo
from caliban_provider.credential import Fetch
from caliban_provider.errors import AuthenticationError, ProviderError
from caliban_provider.provider import Provider, ProviderFactory, ProviderOptions

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


def make_provider(
    entry: ProviderEntry, inputs: ModelInputs, report: Report, *, explicit: bool = True
) -> Provider:
    """The provider of `entry` with its key. `explicit` says that somebody named it.

    A program for the key is run when the provider is first used. Raises `ConfigError` for a table of which
    none can be made and for a missing key, `ProviderError` for a fault of its package.
    """
    key = find_key(entry.name, entry.key_variables, inputs.settings, inputs.host.environ)
    if isinstance(key, str):
        inputs.host.masker.add(key)
    entry.check()
    if not key and entry.needs_key:
        raise _missing_key(entry, explicit=explicit)
    options = ProviderOptions(
        api_key=key if isinstance(key, str) else None,
        base_url=entry.base_url(inputs.host.environ),
        headers=entry.table.get("headers") or {},
        extra=entry.option_texts,
        on_status=lambda text: report(Notice(subtype="status", message=text)),
        on_warning=lambda text: report(Notice(subtype="provider_warning", message=text)),
        **entry.waits,
    )
    try:
        if isinstance(key, KeyHelper):
            from caliban.compose.keyprogram import key_source

            source = key_source(key, inputs.host, report)
            return _fenced(entry, _keyed(entry.factory, options, source), report)
        return _fenced(entry, _make(entry.factory, options), report)
    except ProviderError as error:
        if error.category == "other":  # a fault of the package, whatever the configuration
            raise
        if not key and isinstance(error, AuthenticationError):
            raise _missing_key(entry, explicit=explicit) from error
        raise ConfigError(error.message, hint=error.hint) from error


async def list_models(provider: Provider) -> tuple[ModelInfo, ...]:
    """What `provider` lists. Raises `ProviderError`, also for a fault of its package."""
    try:
        listed = tuple(await provider.list_models())
    except CalibanError:
        raise
    except Exception as error:
        raise _at_fault(provider.name, f"cannot list its models: {type(error).__name__}: {error}") from error
    if not all(isinstance(model, ModelInfo) for model in listed):
        raise _at_fault(provider.name, "lists something that is no model")
    return listed


async def close_provider(provider: Provider, report: Report) -> None:
    """Close the provider, for at most a second; the run has its result, so a failure is only told."""
    try:
        with anyio.move_on_after(1, shield=True):
            await provider.aclose()
    except Exception as error:
        message = f"the provider could not be closed: {type(error).__name__}: {one_line(str(error))}"
        report(Notice(subtype="close_failed", message=message))


def _fenced(entry: ProviderEntry, provider: Provider, report: Report) -> Provider:
    """The provider within its bounds: a total time where settings give one, a wall where it is not ours."""
    if entry.total_s is not None or not entry.is_ours:
        from caliban_provider.guarded import GuardedProvider

        provider = GuardedProvider(provider, called=entry.name, package=entry.package, total_s=entry.total_s)
    if entry.may_speak_calls:
        from caliban_provider.spoken_provider import SpokenCallsProvider

        provider = SpokenCallsProvider(
            provider,
            lambda text: report(Notice(subtype="spoken_call", message=text)),
            always=entry.kind == "local",
        )
    if entry.may_tell_windows:
        from caliban.compose.told import ToldProvider

        provider = ToldProvider(provider)
    models, extra = entry.table.get("models") or {}, entry.extra_body
    if models or extra:
        from caliban.compose.described import DescribedProvider

        provider = DescribedProvider(provider, models=models, extra=extra)
    return provider


def _keyed(factory: ProviderFactory, options: ProviderOptions, fetch: Fetch[str]) -> Provider:
    """The provider with the key that a program gives at the time."""
    from caliban_provider.keyed import KeyedProvider

    return KeyedProvider(lambda key: _make(factory, replace(options, api_key=key)), fetch)


def _make(factory: ProviderFactory, options: ProviderOptions) -> Provider:
    try:
        provider = factory.create(options)
        missing = [part for part in PARTS if not hasattr(provider, part)]
    except CalibanError:
        raise
    except (Exception, SystemExit) as error:
        raise _at_fault(factory.name, f"cannot be made: {type(error).__name__}: {error}") from error
    if missing:
        raise _at_fault(factory.name, f"is none: it has no {', '.join(missing)}")
    return provider


def _at_fault(name: str, what: str) -> ProviderError:
    return ProviderError(
        f"the provider {name!r} {one_line(what)}",
        hint="this is a fault of the package that offers it; choose another --provider",
    )


def _missing_key(entry: ProviderEntry, *, explicit: bool) -> MissingKey:
    if entry.name == DEFAULT_PROVIDER and not entry.table:
        return MissingKey(NO_KEY, hint=WAYS_ON)
    ways = [f"export {variable}=…" for variable in entry.key_variables[:1]]
    ways.append(f"keep it: caliban login {entry.name}")
    if not explicit:
        ways.append("choose another --provider")
    return MissingKey(f"there is no API key for {entry.name}", hint=", or ".join(ways))
