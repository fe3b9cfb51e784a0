"""The router's configuration: the tables `[router]` and `[provider.NAME]` of `caliban.toml`, as one value.

Forms and defaults are those of the guide's chapter on the router and of behaviours 2.12. A table that gives a
route part of a breaker or hedge takes the rest from `[router.breaker]` and `[router.hedge]`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.files import read_regular
from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.errors import RouterConfigError
from caliban_model_router.route import PURPOSES, Hedge, Purpose, Route
from caliban_model_router.schema import ProviderTable, read_breaker, read_hedge, read_provider, read_route
from caliban_model_router.table import Table

SplitModel: TypeAlias = Callable[[str, str], tuple[str | None, str]]
"""The provider that stands before a model, if one does, and the model, where another provider was asked."""

FILE_NAME = "caliban.toml"
MAX_BYTES = 1 << 20
OWN_TABLES = frozenset(("router", "provider"))


class RouterConfig(Struct, frozen=True, kw_only=True):
    """Routes in the order of their declaration. A purpose without a route uses those of `default_purpose`."""

    routes: tuple[Route, ...]
    default_purpose: Purpose = "main_loop"
    providers: tuple[ProviderTable, ...] = ()

    def routes_for(self, purpose: Purpose) -> tuple[Route, ...]:
        """The routes of `purpose`, or those of the default purpose; never none."""
        own = tuple(route for route in self.routes if route.purpose == purpose)
        return own or tuple(route for route in self.routes if route.purpose == self.default_purpose)

    @property
    def provider_names(self) -> tuple[str, ...]:
        """The providers that the routes name, in order."""
        return tuple(dict.fromkeys(route.provider for route in self.routes))


def find_config(start: Path, home: Path) -> Path | None:
    """The nearest `caliban.toml` from `start` up to the root of its repository, or to `home`; both absolute.

    Where the way up meets neither, only `start` itself is looked at: a file that somebody put into a shared
    parent is nobody's project.
    """
    way = []
    for folder in (start, *start.parents):
        way.append(folder)
        if folder == home or (folder / ".git").exists():
            break
    else:
        way = [start]
    return next((folder / FILE_NAME for folder in way if (folder / FILE_NAME).is_file()), None)


def read_config(
    path: Path,
    *,
    known: Collection[str] | None = None,
    left_out: Callable[[tuple[str, ...]], None] | None = None,
) -> RouterConfig | None:
    """The configuration in the TOML file `path`; `None` where it has no `[router]`.

    `left_out` is told the names of what else is in it and means nothing here, if there is any.
    Raises `RouterConfigError`, and what `caliban_common.files.read_regular` raises.
    """
    return parse_config(read_regular(path, max_bytes=MAX_BYTES), path, known=known, left_out=left_out)


def parse_config(
    written: bytes,
    path: Path,
    *,
    known: Collection[str] | None = None,
    left_out: Callable[[tuple[str, ...]], None] | None = None,
) -> RouterConfig | None:
    """As `read_config`, of the bytes of a TOML file, which errors call `path`. Raises `RouterConfigError`."""
    import tomllib

    try:
        data = tomllib.loads(written.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else f"not TOML: {error}"
        raise RouterConfigError(f"{path}: {why}", table="router") from error
    others = tuple(sorted(data.keys() - OWN_TABLES))
    if others and left_out is not None:
        left_out(others)
    return router_config(data, known=known) if "router" in data else None


def router_config(data: Mapping[str, Any], *, known: Collection[str] | None = None) -> RouterConfig:
    """The configuration in `data`, the tables of a whole file; other tables than the two are not looked at.

    `known` are the names of installed providers: a route must name one of them or a `[provider.NAME]`
    table. Raises `RouterConfigError`.
    """
    table = Table(data.get("router"), "router")
    purpose = cast("Purpose", table.take_choice("default_purpose", PURPOSES) or "main_loop")
    given_breaker, given_hedge = table.take("breaker"), table.take("hedge")
    breaker = (
        None if given_breaker is None else read_breaker(given_breaker, "router.breaker", BreakerLimits())
    )
    hedge = None if given_hedge is None else read_hedge(given_hedge, "router.hedge", Hedge())
    rows = table.take("route")
    if not isinstance(rows, list) or not rows:
        raise table.error("route", "there is no route", hint="write at least one [[router.route]] table")
    table.end()
    routes = tuple(read_route(row, f"router.route {n}", breaker, hedge) for n, row in enumerate(rows, 1))
    made = data.get("provider")
    named = {} if made is None else Table(made, "provider").rest()
    providers = tuple(read_provider(value, str(name)) for name, value in named.items())
    config = RouterConfig(routes=routes, default_purpose=purpose, providers=providers)
    check(config, known=None if known is None else {*known, *(table.name for table in providers)})
    return config


def check(config: RouterConfig, *, known: Collection[str] | None = None) -> None:
    """Raise `RouterConfigError` for what no run should find out.

    That is an id given twice, an unknown one, a provider not in `known`, a default purpose without a route.
    """
    ids = [route.id for route in config.routes]
    for number, route in enumerate(config.routes, 1):
        name = f"router.route {number}"
        if ids.count(route.id) > 1:
            hint = "give each route an id of its own"
            raise RouterConfigError(f"two routes are called {route.id!r}", table=name, key="id", hint=hint)
        unknown = [id for id in route.fallback or () if id not in ids]
        if unknown:
            hint = f"the routes are {', '.join(ids)}"
            raise RouterConfigError(
                f"no route is called {unknown[0]!r}", table=name, key="fallback", hint=hint
            )
        if known is not None and route.provider not in known:
            hint = f"known are {', '.join(sorted(known))}; others need a [provider.NAME] table"
            raise RouterConfigError(
                f"no provider is called {route.provider!r}", table=name, key="provider", hint=hint
            )
    if not any(route.purpose == config.default_purpose for route in config.routes):
        raise RouterConfigError(
            f"no route has the purpose {config.default_purpose!r}", table="router", key="default_purpose"
        )


def direct(provider: str, model: str, *, fallback: tuple[str, str] | None = None) -> RouterConfig:
    """The configuration that flags and settings alone mean.

    It has one model, the route `primary`, and maybe a `fallback` of provider and model. A failed primary is
    tried again after `REST_S`.
    """
    named = {"primary": (provider, model)} | ({} if fallback is None else {"fallback": fallback})
    return RouterConfig(
        routes=tuple(
            Route(purpose="main_loop", provider=provider, model=model, id=id)
            for id, (provider, model) in named.items()
        )
    )


def _as_it_is(model: str, provider: str) -> tuple[str | None, str]:
    return None, model


def with_overrides(
    config: RouterConfig, overrides: Mapping[str, str], split: SplitModel = _as_it_is
) -> RouterConfig:
    """`config` with other models: `overrides` maps a purpose, or the id of a route, to a model.

    A purpose keeps the rest of its first route, and its provider unless `split` finds another one before the
    model; one that has no route gets one like the first of the default purpose. Raises `RouterConfigError`
    for a key that is neither, and for no model.
    """
    for key, model in overrides.items():
        if not model.strip():
            raise RouterConfigError("names no model", table="model_overrides", key=key)
        purpose = key.replace("-", "_")
        named = next((route for route in config.routes if route.id == key), None)
        if purpose in PURPOSES:
            config = _override(config, purpose, model, split)
        elif named is not None:
            config = _replaced(config, _asking(named, model, split))
        else:
            raise RouterConfigError(
                "is neither a purpose nor the id of a route",
                table="model_overrides",
                key=key,
                hint=f"purposes are {', '.join(PURPOSES)}",
            )
    return config


def _override(config: RouterConfig, purpose: Purpose, model: str, split: SplitModel) -> RouterConfig:
    first = config.routes_for(purpose)[0]
    asked = _asking(first, model, split)
    if first.purpose == purpose:
        return _replaced(config, asked)
    made = Route(
        purpose=purpose,
        provider=asked.provider,
        model=asked.model,
        rest_s=first.rest_s,
        breaker=first.breaker,
    )
    others = tuple(
        replace(route, purpose=purpose, id=f"{route.id}:{purpose}", fallback=None)
        for route in config.routes_for(purpose)
        if route.label != made.label
    )
    return replace(config, routes=(*config.routes, made, *others))


def _asking(route: Route, model: str, split: SplitModel) -> Route:
    """`route` with another model, and with the provider that stands before it, if one does."""
    provider, model = split(model, route.provider)
    return replace(route, provider=provider or route.provider, model=model)


def _replaced(config: RouterConfig, new: Route) -> RouterConfig:
    return replace(config, routes=tuple(new if route.id == new.id else route for route in config.routes))
