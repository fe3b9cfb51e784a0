"""Models of providers that a run does not ask itself: what the file of an agent, or a hook, names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from caliban.compose.catalog import ProviderEntry, find_provider
from caliban.compose.choice import split_model
from caliban_provider.provider import Provider


class OtherModels:
    """Providers beside `own`, each made by `make` when a model of it is first asked, and kept in `made`."""

    def __init__(
        self, own: str, tables: Mapping[str, Any], make: Callable[[ProviderEntry], Provider]
    ) -> None:
        self.made: dict[str, Provider] = {}
        self._own = own
        self._tables = tables
        self._make = make

    def of(self, wanted: str) -> tuple[Provider, str] | None:
        """The provider that stands before the model in `wanted`, and the model; `None` for the run's own.

        Raises `UnknownProvider`, and as `make_provider` does.
        """
        name, model = split_model(wanted, self._own, self._tables)
        if name is None or name == self._own or model is None:
            return None
        if name not in self.made:
            self.made[name] = self._make(find_provider(name, self._tables))
        return self.made[name], model

    def refusal(self, wanted: str) -> str | None:
        """Why a model may not name `wanted` for an agent: where prompts go to is for persons to say."""
        name, _ = split_model(wanted, self._own, self._tables)
        if name in (None, self._own):
            return None
        return f"{wanted!r} is of another provider than {self._own}: only the file of an agent names one"
