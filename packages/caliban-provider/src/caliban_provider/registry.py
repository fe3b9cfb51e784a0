"""Finds a provider by its name: the application's own table first, entry points after it.

The table keeps the built-in providers off the slow path through the installed packages' metadata; both ways
name a `module:attribute`, and only the provider that is asked for is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from caliban_provider.errors import AuthenticationError, UnknownProvider
from caliban_provider.provider import Provider, ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "caliban.providers"

_FACTS = ("name", "default_model", "needs_key", "key_env", "base_url_env", "create")
_KINDS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {"name": (str,), "default_model": (str,), "key_env": (tuple, list), "base_url_env": (tuple, list)}
)


def find(name: str, builtin: Mapping[str, str]) -> ProviderFactory:
    """The factory of the provider `name`; `builtin` maps names to `module:attribute`.

    Raises `UnknownProvider`, for a provider that is broken as well.
    """
    reference = builtin.get(name) or _references().get(name)
    if reference is None:
        offered = ", ".join(names(builtin))
        raise UnknownProvider(
            f"no provider is called {name!r}",
            hint=f"installed are: {offered}" if offered else "no provider is installed",
        )
    return _load(name, reference)


def connect(name: str, *, environ: Mapping[str, str] | None = None) -> Provider:
    """The installed provider `name`, with its key and base URL from the environment.

    Raises `UnknownProvider`, and `AuthenticationError` where the provider needs a key and there is none.
    """
    given = os.environ if environ is None else environ
    factory = find(name, {})
    key = first_set(given, factory.key_env)
    if factory.needs_key and key is None:
        raise AuthenticationError(
            f"there is no API key for {name}", hint=f"set the environment variable {factory.key_env[0]}"
        )
    return factory.create(ProviderOptions(api_key=key, base_url=first_set(given, factory.base_url_env)))


def first_set(environ: Mapping[str, str], variables: tuple[str, ...]) -> str | None:
    """The value of the first of `variables` that is set and not empty."""
    return next((environ[name] for name in variables if environ.get(name)), None)


def names(builtin: Mapping[str, str]) -> tuple[str, ...]:
    """The names on offer, sorted; nothing is imported."""
    return tuple(sorted({*builtin, *_references()}))


def _references() -> dict[str, str]:
    """What the installed packages offer; the first of two with one name counts."""
    from importlib.metadata import entry_points

    factories: dict[str, str] = {}
    for entry in cast("tuple[EntryPoint, ...]", tuple(entry_points(group=ENTRY_POINT_GROUP))):
        factories.setdefault(entry.name, entry.value)
    return factories


def _load(name: str, reference: str) -> ProviderFactory:
    """Import the factory. Everything a plugin can throw ends here: this is the wall of plugin loading."""
    module_name, _, attribute = reference.partition(":")
    try:
        factory: object = import_module(module_name.strip())
        for part in attribute.partition("[")[0].strip().split("."):
            factory = getattr(factory, part)
        missing = [fact for fact in _FACTS if not hasattr(factory, fact)]
        odd = [] if missing else [fact for fact, kinds in _KINDS.items() if not _is(factory, fact, kinds)]
    except (Exception, SystemExit) as error:
        raise _broken(name, reference, f"{type(error).__name__}: {error}") from error
    if missing:
        raise _broken(name, reference, f"it is not a provider factory: it has no {', '.join(missing)}")
    if odd:
        raise _broken(
            name, reference, f"it is no provider factory as documented: look at its {', '.join(odd)}"
        )
    return cast("ProviderFactory", factory)


def _is(factory: object, fact: str, kinds: tuple[type, ...]) -> bool:
    """Whether a fact is of one of `kinds`, and its members, if it has any, are words."""
    value: object = getattr(factory, fact)
    words = value if isinstance(value, tuple | list) else ()
    return isinstance(value, kinds) and all(isinstance(word, str) for word in words)


def _broken(name: str, reference: str, why: str) -> UnknownProvider:
    return UnknownProvider(
        f"the provider {name!r} ({reference}) does not load: {' '.join(why.split())[:300]}",
        hint="reinstall or remove the package that offers it",
    )
