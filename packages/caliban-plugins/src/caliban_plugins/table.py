"""JSON that others wrote, member by member, with the place of whatever does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.text import half_pair, one_line
from caliban_plugins.errors import ManifestRefused, PluginPathRefused
from caliban_plugins.paths import inner_path

MAX_JSON_BYTES: Final = 4 << 20
MAX_TEXT_CHARS: Final = 4_000
PAGE_HINT: Final = "name the repository, or the address of the file itself"


class JsonTable:
    """An object of JSON at `place`, which begins every message."""

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self.values = values
        self.place = place

    def error(self, name: str, words: str) -> ManifestRefused:
        """What is wrong with the member `name`."""
        return ManifestRefused(f"{self.place}: `{one_line(name, max_chars=60)}` {words}")

    def text(self, name: str, *, required: bool = False, max_chars: int = MAX_TEXT_CHARS) -> str:
        """Text; empty where there is none. Raises `ManifestRefused`."""
        value = self.values.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value.strip()):
            raise self.error(name, "is missing" if value is None else f"must be text, not {_kind(value)}")
        if len(value) > max_chars:
            raise self.error(name, f"has more than {max_chars:,} characters")
        return value.strip()

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or one. Raises `ManifestRefused`."""
        value = self.values.get(name)
        if value is None:
            return ()
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            raise self.error(name, f"must be text or a list of texts, not {_kind(value)}")
        return tuple(values)

    def paths(self, name: str) -> tuple[str, ...]:
        """Paths inside of the plugin; `.` is the plugin itself. Raises `ManifestRefused`."""
        paths = []
        for text in self.texts(name):
            try:
                paths.append("." if text in (".", "./") else inner_path(text))
            except PluginPathRefused as error:
                raise self.error(name, f"must stay in the plugin: {error.message}") from error
        return tuple(paths)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false. Raises `ManifestRefused`."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {_kind(value)}")
        return value

    def table(self, name: str) -> JsonTable | None:
        """An object below. Raises `ManifestRefused`."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(name, f"must be an object, not {_kind(value)}")
        return JsonTable(value, f"{self.place}: `{name}`")

    def tables(self, name: str) -> tuple[JsonTable, ...]:
        """A list of objects below. Raises `ManifestRefused`."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(name, f"must be a list of objects, not {_kind(value)}")
        return tuple(JsonTable(item, f"{self.place}: `{name}[{at}]`") for at, item in enumerate(value))

    def others(self, known: Iterable[str]) -> tuple[str, ...]:
        """The members that are not `known`."""
        return tuple(one_line(name, max_chars=60) for name in self.values if name not in set(known))


def read_table(data: bytes, place: str) -> JsonTable:
    """The object in `data`, the content of the file at `place`. Raises `ManifestRefused`."""
    if len(data) > MAX_JSON_BYTES:
        raise ManifestRefused(f"{place}: has more than {MAX_JSON_BYTES:,} bytes")
    try:
        text = decode_text(data)
        if (at := half_pair(text)) is not None:
            raise ValueError(f"{text[at : at + 6]} is half of a character")
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except CalibanError as error:
        raise ManifestRefused(f"{place}: {error.message}") from error
    except (ValueError, RecursionError) as error:
        if data.lstrip()[:1] == b"<":
            raise ManifestRefused(f"{place}: it is a web page, and no JSON", hint=PAGE_HINT) from error
        raise ManifestRefused(f"{place}: no JSON: {one_line(str(error), max_chars=200)}") from error
    if not isinstance(value, dict):
        raise ManifestRefused(f"{place}: must be an object, not {_kind(value)}")
    return JsonTable(value, place)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{one_line(twice, max_chars=60)!r} stands twice in one object")
    return table


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
