"""What `caliban doctor` says of a provider: whether its server answers, and with which models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban.commands.doctor.check import Check, check_row
from caliban.commands.report import report
from caliban.compose.catalog import ProviderEntry, SettingsTable, find_provider, provider_tables
from caliban.compose.choice import ModelInputs
from caliban.compose.host import Host
from caliban.compose.keys import find_key
from caliban.compose.provider import close_provider, list_models, make_provider
from caliban.errors import ConfigError, KeyFailed, MissingKey
from caliban_common.errors import CalibanError
from caliban_common.text import one_line, plural
from caliban_provider.capabilities import ModelInfo
from caliban_provider.errors import UnknownProvider
from caliban_provider.provider import make_ready
from caliban_settings import Settings

PROBE_S: Final = 5.0


class ProviderCheck(Struct, frozen=True, kw_only=True):
    """One provider to look at. `model` must be on its list; `deep` asks servers nobody named too.

    What is wrong with one that no run `uses` is no failure.
    """

    name: str
    settings: Settings
    host: Host
    deep: bool
    uses: bool = True
    model: str | None = None

    def inputs(self, keys: Mapping[str, str]) -> ModelInputs:
        """What it is made by; `keys` stand above the environment."""
        host = replace(self.host, environ={**self.host.environ, **keys})
        return ModelInputs(settings=self.settings, host=host, workspace=Path())

    @property
    def table(self) -> SettingsTable:
        """What settings say of it."""
        return provider_tables(self.settings).get(self.name) or {}


async def provider_row(question: ProviderCheck) -> Check:
    """The row of a provider. Its server is contacted only if one is configured, or with `--deep`."""
    name = question.name
    try:
        entry = find_provider(name, provider_tables(question.settings))
        _check_options(question, entry)
    except UnknownProvider as error:
        return check_row(name, "fail", f"not installed; {error.message}")
    except ConfigError as error:
        absent = name == "local" and not question.table
        return check_row(
            name, "warn" if absent else "fail", "; ".join(filter(None, (error.message, error.hint)))
        )
    url, variables = entry.base_url(question.host.environ), entry.factory.base_url_env
    if variables and not url and not question.deep:
        return check_row(name, "pass", f"{variables[0]} unset (its server was not asked; --deep asks it)")
    try:
        key = find_key(name, entry.key_variables, question.settings, question.host.environ)
    except CalibanError as error:
        return check_row(name, "fail", error.message)
    known = key if isinstance(key, str) else None  # what a program gives is known to the provider only
    return await _probe(question, entry, _shown(url) if url else "its server", known)


def _check_options(question: ProviderCheck, entry: ProviderEntry) -> None:
    """Raise `ConfigError` for options of which no provider can be made; nothing is asked or sent."""
    if question.table.get("options") or question.name == "local":
        keys = {variable: question.host.environ.get(variable) or "none" for variable in entry.key_variables}
        make_provider(entry, question.inputs(keys), report)


async def _probe(question: ProviderCheck, entry: ProviderEntry, where: str, key: str | None) -> Check:
    """Ask for the list of models; a server that repeats the `key` is not quoted in that."""
    name = question.name
    try:
        provider = make_provider(entry, question.inputs({}), report)
        try:
            await make_ready(provider)
            with anyio.fail_after(PROBE_S):
                models = await list_models(provider)
        finally:
            await close_provider(provider, report)
    except TimeoutError:
        return check_row(name, "fail", f"{where} did not answer within {PROBE_S:g} s")
    except MissingKey:
        return check_row(name, "warn", f"not asked: there is no API key; caliban login {name} stores one")
    except KeyFailed as error:
        return check_row(name, "fail", error.message)
    except CalibanError as error:
        words = error.message.replace(key, "…") if key else error.message
        return check_row(name, "fail", f"{where}: {words}")
    return _listed(question, models, where)


def _listed(question: ProviderCheck, models: Sequence[ModelInfo], where: str) -> Check:
    if question.model is not None and models and question.model not in {model.id for model in models}:
        return check_row(question.name, "fail", f"{where} does not offer the model {question.model}")
    count = f"({plural(len(models), 'model')})"
    if question.name == "local":
        return check_row("local", "pass" if models else "warn", f"runs in this process {count}")
    return check_row(question.name, "pass", f"{where} reachable {count}")


def _shown(url: str) -> str:
    """An address without what may be secret: user and password, query, fragment."""
    scheme, mark, rest = url.partition("?")[0].partition("#")[0].rpartition("://")
    return one_line(scheme + mark + rest.rsplit("@", 1)[-1], max_chars=200)
