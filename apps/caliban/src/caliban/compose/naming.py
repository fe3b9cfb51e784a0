"""Errors speak of a provider as the operator does: by the name it has in settings, and by its own key."""

from __future__ import annotations

from collections.abc import Callable

from caliban.compose.catalog import ProviderEntry
from caliban.compose.costs import price_book
from caliban_provider.classify import named
from caliban_provider.errors import ModelUnavailable, ProviderError


def naming(entry: ProviderEntry) -> Callable[[ProviderError, str], None]:
    """What puts the name of `entry`, and the variable of its key, into an error of its adapter.

    Where the model that was asked for is not there, the known one that is called almost like it is named.
    """
    ways = [f"set {variable}" for variable in entry.key_variables[:1]]
    ways.append(f"keep it: caliban login {entry.name}")
    hint = f"the key is missing or wrong: {', or '.join(ways)}"

    def name(error: ProviderError, model: str) -> None:
        named(error, entry.factory.name, entry.name, hint if entry.key_variables else None)
        if isinstance(error, ModelUnavailable) and (near := _near(entry, model)):
            error.hint = f"{near} {error.hint or ''}".rstrip()

    return name


def _near(entry: ProviderEntry, model: str) -> str:
    return price_book(None, {entry.name: (entry.factory.name, entry.table.get("base_url"))}).near(
        entry.name, model
    )
