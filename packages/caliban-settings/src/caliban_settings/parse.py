"""Bytes of a settings file to plain data, without trusting them.

Both formats come out as JSON data: TOML's dates as text. Refused, with the line where it is known: what is
not UTF-8, what is nested deeper than any setting, keys given twice, numbers that other programs would read
differently, NaN and infinity. The time is linear in the size, whatever the bytes are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from caliban_common.text import clean, half_pair, one_line
from caliban_settings.errors import SettingsError

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_INTEGER = 2**63
_JSON_TOKEN: Final = r'(?s)"(?:[^"\\]++|\\.)*+"?|[\[\]{}]'
_TOML_DEEP_KEY: Final = (
    rf"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}"""
)
_ONLY_TEXT: Final = "settings hold text; a file whose name is none cannot be named there"
_AT: Final = r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$"


def parse(data: bytes | str, *, name: str, toml: bool) -> tuple[dict[str, Any], str]:
    """The settings in `data` and its text. `name` stands for the file in errors. Raises `SettingsError`.

    An empty file is no settings. A byte order mark and CRLF are accepted. A text that is about to be written
    is read as its file would be: one that has no bytes in UTF-8 is refused.
    """
    text = _text(as_bytes(data, name) if isinstance(data, str) else data, name)
    if not text.strip():
        return {}, text
    value = _toml(text, name) if toml else _json(text, name)
    if not isinstance(value, dict):
        raise SettingsError(f"{name}: settings must be a JSON object, not {kind_of(value)}")
    return _plain(value, name), text


def kind_of(value: object) -> str:
    """What a person calls the type of a JSON value, with its article."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "a table")


def as_bytes(text: str, name: str) -> bytes:
    """`text` as it stands in the file `name`. Raises `SettingsError` where UTF-8 does not have it."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        shown = one_line(clean(text[max(0, error.start - 30) : error.end + 10]))
        raise SettingsError(f"{name}: not UTF-8 text: {shown!r}", hint=_ONLY_TEXT) from error


def check_writable(value: object, name: str) -> None:
    """Raise `SettingsError` for plain data, called `name`, with a text that no file of ours can hold."""
    as_bytes(json.dumps(value, ensure_ascii=False), name)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(
            f"{name}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x})", hint="save the file as UTF-8"
        ) from error


def _toml(text: str, name: str) -> Any:
    import tomllib

    deep = re.search(
        _TOML_DEEP_KEY, text
    )  # before tomllib, whose time grows with the square of a key's length
    if deep is not None:
        raise _too_deep(f"{name}:{text.count(chr(10), 0, deep.start()) + 1}")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise _too_deep(name) from error
    except ValueError as error:
        message = str(error)
        at = re.search(_AT, message)
        place = f"{name}:{at[1]}:{at[2]}" if at is not None and at[1] else name
        ending = " at the end of the file" if at is not None and not at[1] else ""
        raise SettingsError(f"{place}: not TOML: {re.sub(_AT, '', message)}{ending}") from error


def _json(text: str, name: str) -> Any:
    depth = 0
    for token in re.finditer(_JSON_TOKEN, text):
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(f"{name}:{text.count(chr(10), 0, token.start()) + 1}")
        elif token[0] in "]}":
            depth -= 1
    if (at := half_pair(text)) is not None:
        line, begin = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at)
        raise SettingsError(f"{name}:{line}:{at - begin}: {text[at : at + 6]} is half of a character")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise SettingsError(
            f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}",
            hint="JSON has no comments and no trailing commas; TOML has both",
        ) from error
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"the key {twice!r:.80} is given twice")
    return table


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number that settings may hold")


def _plain(root: dict[str, Any], name: str) -> dict[str, Any]:
    """`root` with TOML's dates as text, checked level by level: depth costs no stack."""
    level: list[Any] = [root]
    for _ in range(MAX_DEPTH):
        if not level:
            return root
        inner: list[Any] = []
        for container in level:
            items: Iterable[tuple[Any, Any]] = (
                container.items() if isinstance(container, dict) else enumerate(container)
            )
            for key, value in list(items):
                if isinstance(value, (dict, list)):
                    inner.append(value)
                else:
                    container[key] = _scalar(value, key, name)
        level = inner
    if level:
        raise _too_deep(name)
    return root


def _scalar(value: object, key: object, name: str) -> object:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if not -MAX_INTEGER <= value < MAX_INTEGER:
            raise SettingsError(f"{name}: the number of {key!r:.80} has more than 64 bits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SettingsError(f"{name}: {key!r:.80} must be a number, not {value}")
        return value
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _too_deep(place: str) -> SettingsError:
    return SettingsError(f"{place}: nested more than {MAX_DEPTH} levels deep")
