"""Errors speak of a provider as the operator does: by the name it has in settings, and by its own key."""

from __future__ import annotations

from collections.abc import Callable

from caliban.compose.catalog import ProviderEntry
from caliban_provider.classify import named
from caliban_provider.errors import ProviderError


def naming(entry: ProviderEntry) -> Callable[[ProviderError], None]:
    """What puts the name of `entry`, and the variable of its key, into an error of its adapter."""
    ways = [f"set {variable}" for variable in entry.key_variables[:1]]
    ways.append(f"keep it: caliban login {entry.name}")
    hint = f"the key is missing or wrong: {', or '.join(ways)}"

    def name(error: ProviderError) -> None:
        named(error, entry.factory.name, entry.name, hint if entry.key_variables else None)

    return name
