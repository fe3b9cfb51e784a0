"""Vendors' own clients, imported by the first test that uses them: finding the tests does not need them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


class Late:
    """Stands for the module `name`, which is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


@cache
def adapter(place: str) -> Any:
    """What reads values as `module:type` describes them, by pydantic."""
    module, _, name = place.partition(":")
    return import_module("pydantic").TypeAdapter(getattr(import_module(module), name))
