"""The routes of a run, from flags, `caliban.toml` and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import ModelOptions
from caliban.compose.choice import ModelInputs
from caliban.compose.provider import (
    DEFAULT_PROVIDER,
    chosen_names,
    find_factory,
    make_provider,
    provider_table,
)
from caliban.compose.router import FILE_NAME, VARIABLE
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
    find_config,
    read_config,
    router_config,
    with_overrides,
)
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import UnknownProvider
from caliban_provider.provider import Provider, ProviderFactory
from caliban_settings import Settings

MAIN: Purpose = "main_loop"
FALLBACK_ID = "fallback_model"
FLAG_ID = "flag"


class Routing(Struct, frozen=True, kw_only=True):
    """The routes, and the file or words that they come from.

    `is_configured` is false where nobody asked for more than one model: then there is one route, for it.
    """

    config: RouterConfig
    source: str
    is_configured: bool


def read_routing(inputs: ModelInputs, report: Report) -> Routing:
    """The routes by file, else settings; above them overrides, then flags. Raises `ConfigError`."""
    options, settings = inputs.options, inputs.settings
    found = _find(inputs, report)
    overrides = settings.get("model_overrides") or {}
    config, source = found or (_one(options, settings), "flags and settings")
    try:
        config = with_overrides(config, overrides)
    except RouterConfigError as error:
        raise ConfigError(error.message, hint=error.hint) from error
    own = config.routes_for(MAIN)[0].provider
    fallback = _fallback(options, settings, own)
    config = _with_fallback(_pinned(config, options, settings), fallback)
    configured = found is not None or fallback is not None or bool(overrides)
    return Routing(config=config, source=source, is_configured=configured)


def capabilities_of(
    config: RouterConfig, inputs: ModelInputs, report: Report
) -> Callable[[Route], Capabilities]:
    """What the models of routes can do; it is known without a key, so none is needed."""
    settings, environ = inputs.settings, inputs.environ
    made: dict[str, Provider] = {}
    for name in config.provider_names:
        table = table_of(name, config, settings)
        own = _factory(name, table, settings)
        variables = (table or {}).get("api_key_env"), *own.key_env
        keyless = {variable: "none" for variable in variables if variable and not environ.get(variable)}
        keyed = replace(inputs, environ={**environ, **keyless})
        made[name] = make_provider(name, keyed, table, report=report)[0]
    return lambda route: made[route.provider].capabilities(route.model)


def _find(inputs: ModelInputs, report: Report) -> tuple[RouterConfig, str] | None:
    """The first routes there are, and where they stand."""
    options, settings = inputs.options, inputs.settings
    if options.config is not None:
        path = expand_user(options.config)
        config = _read(path, settings)
        if config is None:
            raise ConfigError(f"--config {path}: there is no [router] table in it")
        return config, str(path)
    for path in _places(inputs, report):
        config = _read(path, settings)
        if config is not None:
            return config, str(path)
    table = settings.get("router")
    if not table:
        return None
    config = _checked("the settings", lambda: router_config({"router": table}), settings)
    return None if config is None else (config, "the settings")


def _places(inputs: ModelInputs, report: Report) -> Iterator[Path]:
    named = inputs.environ.get(VARIABLE)
    if named:
        path = expand_user(named)
        if path.is_file():
            yield path
        else:
            report(Notice(subtype="no_router_file", message=f"{VARIABLE} names no file: {path}"))
    if inputs.sources.bare:
        return
    project = find_config(inputs.workspace, expand_user("~").resolve())
    if project is not None and inputs.sources.trust_project:
        yield project
    elif project is not None:
        # Its routes say where prompts and keys go to: a repository may not, unless a person trusts it.
        message = f"{project} is not used without --trust-project"
        report(Notice(subtype="untrusted_router_file", message=message))
    own = config_dir() / FILE_NAME
    if own.is_file():
        yield own


def _read(path: Path, settings: Settings) -> RouterConfig | None:
    return _checked(str(path), lambda: read_config(path), settings)


def _checked(source: str, read: Callable[[], RouterConfig | None], settings: Settings) -> RouterConfig | None:
    """What `read` gives, with every error in it naming `source`."""
    try:
        config = read()
        for name in () if config is None else config.provider_names:
            _factory(name, table_of(name, config, settings), settings)
    except CalibanError as error:
        said = error.message if source in error.message else f"{source}: {error.message}"
        raise ConfigError(said, hint=error.hint) from error
    return config


def _one(options: ModelOptions, settings: Settings) -> RouterConfig:
    """The one route of the model that settings name."""
    provider, model = chosen_names(replace(options, provider=None, model=None), settings)
    name = provider or DEFAULT_PROVIDER
    return direct(name, model or _factory(name, None, settings).default_model)


def _pinned(config: RouterConfig, options: ModelOptions, settings: Settings) -> RouterConfig:
    """What flags say of provider and model wins.

    Another provider than the first route's sets all routes aside: who names it would not want the prompt
    sent elsewhere.
    """
    first = config.routes_for(MAIN)[0]
    name, model = options.provider or first.provider, options.model
    if name != first.provider:
        model = model or chosen_names(options, settings)[1]
        model = model or _factory(name, table_of(name, config, settings), settings).default_model
        route = Route(purpose=MAIN, provider=name, model=model, id=FLAG_ID)
        return replace(config, routes=(route,), default_purpose=MAIN)
    if model is None:
        return config
    return _exchanged(config, first, replace(first, model=model))


def _fallback(options: ModelOptions, settings: Settings, own: str) -> tuple[str | None, str] | None:
    """Provider and model of the fallback; that of settings is for the provider `own` that they name."""
    if options.fallback_model is not None:
        return None, options.fallback_model
    said = settings.get("fallback_model")
    if not said or options.provider not in (None, own):
        return None
    if not isinstance(said, Mapping):
        return None, said
    name = said.get("provider")
    if name is not None:
        try:
            _factory(name, None, settings)
        except UnknownProvider as error:
            raise ConfigError(f"fallback_model: {error.message}", hint=error.hint) from error
    return name, said["name"]


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


def table_of(name: str, config: RouterConfig | None, settings: Settings) -> Mapping[str, Any] | None:
    """The table that makes the provider `name`: that of settings, with what the file says above it."""
    written = next((table for table in config.providers if table.name == name), None) if config else None
    if written is None:
        return None
    own = provider_table(settings, name)
    said = {
        "kind": written.kind,
        "base_url": written.base_url,
        "api_key_env": written.api_key_env,
        "headers": written.headers,
        "options": {**(own.get("options") or {}), **written.options},
    }
    return {**own, **{key: value for key, value in said.items() if value}}


def _factory(name: str, table: Mapping[str, Any] | None, settings: Settings) -> ProviderFactory:
    made = table if table is not None else provider_table(settings, name)
    return find_factory(name, made)
