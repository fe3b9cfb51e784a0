"""Reads one table of a configuration, key by key; what nobody asked for is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_model_router.errors import RouterConfigError


class Table:
    """A table under its name. Each `take_…` gives a key's value or the default; `end` refuses the rest.

    Raises `RouterConfigError`, here and everywhere.
    """

    def __init__(self, value: object, name: str) -> None:
        if not isinstance(value, Mapping):
            raise RouterConfigError(f"is a table, not {_kind(value)}", table=name)
        self.name = name
        self._left: dict[str, Any] = dict(value)

    def take(self, key: str) -> Any:
        """The value as it is; `None` where the key is not given."""
        return self._left.pop(key, None)

    def rest(self) -> dict[str, Any]:
        """Every key that was not taken; they count as taken."""
        left, self._left = self._left, {}
        return left

    def take_text(self, key: str) -> str | None:
        """A text that is not blank."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(key, f"is a text, not {_kind(value)}")
        if not value.strip():
            raise self.error(key, "is empty")
        return value

    def need_text(self, key: str) -> str:
        """A text that must be given."""
        value = self.take_text(key)
        if value is None:
            raise self.error(key, "is missing")
        return value

    def take_choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        """One of `choices`."""
        value = self.take(key)
        if value is None or (isinstance(value, str) and value in choices):
            return value
        raise self.error(key, f"is one of {', '.join(choices)}, not {value!r:.60}")

    def take_int(self, key: str, default: int, *, least: int) -> int:
        """A whole number of at least `least`."""
        value = self.take(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"is a whole number of at least {least}, not {value!r:.60}")
        return value

    def take_seconds(self, key: str, default: float, *, least: float) -> float:
        """A number of seconds of at least `least`."""
        value = self.take(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e9:
            raise self.error(key, f"is a number of seconds of at least {least:g}, not {value!r:.60}")
        return float(value)

    def take_bool(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.take(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, f"is true or false, not {value!r:.60}")
        return value

    def take_texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.error(key, f"is a list of texts, not {_kind(value)}")
        if not all(isinstance(item, str) for item in value):
            raise self.error(key, "is a list of texts only")
        return tuple(value)

    def error(self, key: str, message: str, *, hint: str | None = None) -> RouterConfigError:
        """An error about `key` of this table."""
        return RouterConfigError(message, table=self.name, key=key, hint=hint)

    def end(self, *, hint: str | None = None) -> None:
        """Refuse every key that was not taken."""
        if self._left:
            raise self.error(min(map(str, self._left)), "is not a key of this table", hint=hint)


def _kind(value: object) -> str:
    names = ((bool, "a boolean"), (int | float, "a number"), (str, "a text"), (list, "a list"))
    return next((name for kind, name in names if isinstance(value, kind)), "something else")
