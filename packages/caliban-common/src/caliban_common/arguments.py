"""Reading the arguments of a tool call: typed access that answers the model, not the developer.

The schema of a tool is what the model was told; this is the check of what it sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.errors import ArgumentError

__all__ = ["ArgumentError", "Arguments"]


class Arguments:
    """The input of one tool call.

    >>> Arguments({"path": "a.py"}, known=("path", "limit")).string("path")
    'a.py'
    """

    def __init__(self, values: Mapping[str, Any], *, known: tuple[str, ...]) -> None:
        unknown = sorted(set(values) - set(known))
        if unknown:
            names = ", ".join(known)
            raise ArgumentError(f"unknown argument {unknown[0]!r} (known: {names})")
        self._values = values

    def string(self, name: str, default: str | None = None) -> str:
        """A string; required when there is no default."""
        value = self._take(name, default)
        if not isinstance(value, str):
            raise ArgumentError(f"argument {name!r} must be a string, got {_kind(value)}")
        return value

    def optional_string(self, name: str) -> str | None:
        """A string, or `None` when it is absent or null."""
        return None if self._values.get(name) is None else self.string(name)

    def integer(self, name: str, default: int, *, low: int, high: int) -> int:
        """A whole number within `low`..`high`; a float without fraction counts as one."""
        value = self._take(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"argument {name!r} must be an integer, got {_kind(value)}")
        if not low <= value <= high:
            raise ArgumentError(f"argument {name!r} must be between {low} and {high}, got {value}")
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """A boolean."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            raise ArgumentError(f"argument {name!r} must be true or false, got {_kind(value)}")
        return value

    def objects(self, name: str, *, required: bool = True) -> tuple[Mapping[str, Any], ...]:
        """A list of objects; when absent and not `required`, none."""
        value = self._take(name, None if required else [])
        if not isinstance(value, list | tuple):
            raise ArgumentError(f"argument {name!r} must be an array, got {_kind(value)}")
        for number, item in enumerate(value, 1):
            if not isinstance(item, Mapping):
                raise ArgumentError(f"item {number} of {name!r} must be an object, got {_kind(item)}")
        return tuple(value)

    def _take(self, name: str, default: Any) -> Any:
        value = self._values.get(name)
        if value is None:
            value = default
        if value is None:
            raise ArgumentError(f"missing required argument {name!r}")
        return value


def _kind(value: object) -> str:
    names = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")
