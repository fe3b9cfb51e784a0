"""The routes of a run, from flags, `caliban.toml` and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import ModelOptions
from caliban.compose.catalog import ProviderCatalog, ProviderEntry, SettingsTable, provider_tables
from caliban.compose.choice import ROUTER_VARIABLE, ModelInputs, apart, choose_model, split_model
from caliban.compose.project import ALLOWED
from caliban.compose.projectroutes import routes_of_project, say_left_out
from caliban.compose.provider import make_provider
from caliban.compose.supplied import ROUTER_FILE
from caliban.errors import ConfigError
from caliban_common.errors import CalibanError
from caliban_common.paths import config_dir, expand_user
from caliban_drive.notice import Notice, Report
from caliban_model_router import (
    Purpose,
    Route,
    RouterConfig,
    RouterConfigError,
    direct,
    read_config,
    router_config,
    with_overrides,
)
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import UnknownProvider
from caliban_settings import Settings

MAIN: Purpose = "main_loop"
SUMMARIES: Purpose = "summarization"
SUB_AGENTS: Purpose = "sub_agent"
CLASSIFIER: Purpose = "fast_classifier"
PURPOSES: tuple[Purpose, ...] = (MAIN, SUMMARIES, SUB_AGENTS)
"""What every run asks models for; one in the auto mode asks for verdicts, too."""

CLASSIFIER_KEYS = ("model_overrides.fast-classifier", "model_overrides.fast_classifier")

FALLBACK_ID = "fallback_model"
FLAG_ID = "flag"


class Routing(Struct, frozen=True, kw_only=True):
    """The routes, the file or words that they come from, and the providers that these name.

    `is_configured` is false where nobody asked for more than one model: then there is one route, for it.
    `base_url` is where a flag says that the first route's provider is; `classifies` that calls are judged by
    a model.
    """

    config: RouterConfig
    source: str
    is_configured: bool
    catalog: ProviderCatalog
    base_url: str | None = None
    classifies: bool = False

    @property
    def first(self) -> Route:
        """The route that a prompt takes first."""
        return self.config.routes_for(MAIN)[0]

    @property
    def reachable(self) -> RouterConfig:
        """The routes that a run can come to: nobody has to have the keys of the others."""
        routes = {route.id: route for route in self.config.routes}
        purposes = (*PURPOSES, CLASSIFIER) if self.classifies else PURPOSES
        wanted = [route.id for purpose in purposes for route in self.config.routes_for(purpose)]
        for id in wanted:
            wanted += [
                other for other in routes[id].fallback or () if other in routes and other not in wanted
            ]
        kept = tuple(route for route in self.config.routes if route.id in wanted)
        return replace(self.config, routes=kept, default_purpose=routes[wanted[0]].purpose)

    def entries(self) -> tuple[ProviderEntry, ...]:
        """The providers that a run can come to."""
        first = self.first.provider
        return tuple(
            self.catalog.entry(name).at(self.base_url if name == first else None)
            for name in self.reachable.provider_names
        )


def read_routing(inputs: ModelInputs, report: Report) -> Routing:
    """The routes by file, else settings; above them overrides, then flags. Raises `ConfigError`."""
    wanted, settings = inputs.wanted, inputs.settings
    catalog = ProviderCatalog(provider_tables(settings))
    configured = _configured(inputs, report, catalog)
    config, source, catalog = configured or (_one(settings, catalog), "flags and settings", catalog)
    overrides = settings.get("model_overrides") or {}
    if len({settings.get(key) for key in CLASSIFIER_KEYS} - {None}) > 1:
        raise ConfigError(
            f"{' and '.join(CLASSIFIER_KEYS)} name two models", hint="they are one key: leave one of them out"
        )
    try:
        config = with_overrides(config, overrides, lambda model, own: _split(model, own, catalog))
        for name in config.provider_names:
            catalog.entry(name)
    except (RouterConfigError, UnknownProvider) as error:
        raise ConfigError(error.message, hint=error.hint) from error
    fallback = _fallback(wanted, settings, config.routes_for(MAIN)[0].provider, catalog)
    config = _with_fallback(_pinned(config, wanted, settings, catalog), fallback)
    return Routing(
        config=config,
        source=source,
        is_configured=configured is not None or fallback is not None or bool(overrides),
        catalog=catalog,
        base_url=wanted.base_url,
        classifies=inputs.classifies,
    )


def capabilities_of(routing: Routing, inputs: ModelInputs, report: Report) -> Callable[[Route], Capabilities]:
    """What the models of routes can do; it is known without a key, so none is needed."""
    providers = {}
    for name in routing.config.provider_names:
        entry = routing.catalog.entry(name)
        variables = {*entry.key_variables, *entry.factory.key_env}
        keyless = {variable: "none" for variable in variables if not inputs.host.environ.get(variable)}
        keyed = replace(inputs, host=replace(inputs.host, environ={**inputs.host.environ, **keyless}))
        providers[name] = make_provider(entry, keyed, report)
    return lambda route: providers[route.provider].capabilities(route.model)


def _configured(
    inputs: ModelInputs, report: Report, catalog: ProviderCatalog
) -> tuple[RouterConfig, str, ProviderCatalog] | None:
    """The first routes there are, where they stand, and the catalog with the providers they describe."""
    if inputs.options.config is not None:
        path = expand_user(inputs.options.config)
        read = _read(path, lambda: _routes_in(path, report), catalog)
        if read is None:
            raise ConfigError(f"--config {path}: there is no [router] table in it")
        return read
    for place, config in _places(inputs, report):
        read = _read(place, config, catalog)
        if read is not None:
            return read
    table = inputs.settings.get("router")
    if not table:
        return None
    return _checked("the settings", lambda: router_config({"router": table}), catalog)


def _places(inputs: ModelInputs, report: Report) -> Iterator[tuple[Path, Callable[[], RouterConfig | None]]]:
    """Where routes may stand, and what reads them there."""
    named = inputs.host.environ.get(ROUTER_VARIABLE)
    if named:
        path = expand_user(named)
        if path.is_file():
            yield path, lambda: _routes_in(path, report)
        else:
            report(Notice(subtype="no_router_file", message=f"{ROUTER_VARIABLE} names no file: {path}"))
    if inputs.sources.bare:
        return
    project = inputs.project
    router = project.files.router if project is not None else None
    if project is not None and router is not None and project.trust.counts:
        yield router.path, lambda: routes_of_project(router, project.trust.is_confirmed, report)
    elif router is not None:
        # Its routes say where prompts and keys go to: a repository may not, unless a person trusts it.
        message = f"{router.path} is not used {ALLOWED}"
        report(Notice(subtype="untrusted_router_file", message=message))
    own = config_dir() / ROUTER_FILE
    if own.is_file():
        yield own, lambda: _routes_in(own, report)


def _routes_in(path: Path, report: Report) -> RouterConfig | None:
    return read_config(path, left_out=say_left_out(path, report))


def _read(
    path: Path, read: Callable[[], RouterConfig | None], catalog: ProviderCatalog
) -> tuple[RouterConfig, str, ProviderCatalog] | None:
    return _checked(str(path), read, catalog)


def _checked(
    source: str, read: Callable[[], RouterConfig | None], catalog: ProviderCatalog
) -> tuple[RouterConfig, str, ProviderCatalog] | None:
    """What `read` gives, with its providers in the catalog; every error in it names `source`."""
    try:
        config = read()
        if config is None:
            return None
        catalog = ProviderCatalog(_merged(config, catalog.tables))
        for name in config.provider_names:
            catalog.entry(name)
    except CalibanError as error:
        message = error.message if source in error.message else f"{source}: {error.message}"
        raise ConfigError(message, hint=error.hint) from error
    return config, source, catalog


def _one(settings: Settings, catalog: ProviderCatalog) -> RouterConfig:
    """The one route of the model that settings name."""
    choice = choose_model(ModelOptions(), settings)
    return direct(choice.provider, choice.model or catalog.entry(choice.provider).default_model)


def _pinned(
    config: RouterConfig, wanted: ModelOptions, settings: Settings, catalog: ProviderCatalog
) -> RouterConfig:
    """What flags say of provider and model wins.

    Another provider than the first route's sets all routes aside: who names it would not want the prompt
    sent elsewhere.
    """
    first = config.routes_for(MAIN)[0]
    wanted = apart(wanted, first.provider, catalog.tables)
    if wanted.provider not in (None, first.provider):
        choice = choose_model(wanted, settings)
        model = choice.model or catalog.entry(choice.provider).default_model
        route = Route(purpose=MAIN, provider=choice.provider, model=model, id=FLAG_ID)
        return replace(config, routes=(route,), default_purpose=MAIN)
    if wanted.model is None:
        return config
    return _exchanged(config, first, replace(first, model=wanted.model))


def _fallback(
    wanted: ModelOptions, settings: Settings, own: str, catalog: ProviderCatalog
) -> tuple[str | None, str] | None:
    """Provider and model of the fallback; that of settings is for the provider `own` that they name."""
    if wanted.fallback_model is not None:
        return _split(wanted.fallback_model, own, catalog)
    written: Any = settings.get("fallback_model")
    if not written or wanted.provider not in (None, own):
        return None
    if not isinstance(written, Mapping):
        return _split(written, own, catalog)
    name = written.get("provider")
    if name is not None:
        try:
            catalog.entry(name)
        except UnknownProvider as error:
            raise ConfigError(f"fallback_model: {error.message}", hint=error.hint) from error
    return name, written["name"]


def _split(model: str, own: str, catalog: ProviderCatalog) -> tuple[str | None, str]:
    """The provider that stands before a model, if one does, and the model."""
    provider, name = split_model(model, own, catalog.tables)
    return provider, name or model


def _with_fallback(config: RouterConfig, fallback: tuple[str | None, str] | None) -> RouterConfig:
    """`config` with a last route for the main loop."""
    if fallback is None:
        return config
    first = config.routes_for(MAIN)[0]
    provider, model = fallback
    route = Route(purpose=first.purpose, provider=provider or first.provider, model=model, id=FALLBACK_ID)
    if route.label == first.label:
        return config
    if first.fallback is not None:
        config = _exchanged(config, first, replace(first, fallback=(*first.fallback, route.id)))
    return replace(config, routes=(*config.routes, route))


def _exchanged(config: RouterConfig, old: Route, new: Route) -> RouterConfig:
    return replace(config, routes=tuple(new if route is old else route for route in config.routes))


def _merged(config: RouterConfig, tables: Mapping[str, SettingsTable]) -> Mapping[str, SettingsTable]:
    """The tables of settings, with what the file says of providers above them."""
    merged = dict(tables)
    for written in config.providers:
        own = tables.get(written.name) or {}
        above = {
            "kind": written.kind,
            "base_url": written.base_url,
            "api_key_env": written.api_key_env,
            "headers": written.headers,
            "options": {**(own.get("options") or {}), **written.options},
        }
        merged[written.name] = {**own, **{key: value for key, value in above.items() if value}}
    return merged
