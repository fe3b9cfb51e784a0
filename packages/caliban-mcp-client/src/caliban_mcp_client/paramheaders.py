"""Arguments of a call that are repeated in headers: what schemas mark with `x-mcp-header`."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

MARK: Final = "x-mcp-header"
PREFIX: Final = "mcp-param-"
_KINDS: Final = frozenset(("string", "integer", "boolean"))
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}"
_SAFE: Final = r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?"
_CODED: Final = r"=\?base64\?.*\?="
_MAX_WHOLE: Final = 2**53 - 1
_MAX_DEPTH: Final = 32


class ParamHeader(Struct, frozen=True, kw_only=True):
    """One header: where its value stands in the arguments, and its name in lower case."""

    path: tuple[str, ...]
    name: str


def read(schema: Mapping[str, Any]) -> tuple[str | None, tuple[ParamHeader, ...]]:
    """What is wrong with the headers of a tool, so that it must not be called; and the headers."""
    headers: list[ParamHeader] = []
    for path, entry in _marked(schema, ()):
        name = entry[MARK]
        place = ".".join(path) or "the whole"
        if not path:
            return f"`{MARK}` stands where there is no argument", ()
        if not isinstance(name, str) or re.fullmatch(_TOKEN, name) is None:
            return f"the `{MARK}` of {place[:80]} is no name of a header", ()
        if entry.get("type") not in _KINDS:
            return (
                f"the `{MARK}` of {place[:80]} is on neither text, a whole number nor a boolean",
                (),
            )
        if any(header.name == name.lower() for header in headers):
            return f"two arguments share the `{MARK}` {name}", ()
        headers.append(ParamHeader(path=path, name=name.lower()))
    if _count(schema) > len(headers):
        return f"`{MARK}` stands where no argument is reached by names alone", ()
    return None, tuple(headers)


def values(headers: tuple[ParamHeader, ...], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers of one call; what is absent, null, or no value of a header's kind has none."""
    texts: dict[str, str] = {}
    for header in headers:
        value: Any = arguments
        for step in header.path:
            value = value.get(step) if isinstance(value, Mapping) else None
        match value:
            case bool():
                texts[PREFIX + header.name] = "true" if value else "false"
            case int() if abs(value) <= _MAX_WHOLE:
                texts[PREFIX + header.name] = str(value)
            case float() if value.is_integer() and abs(value) <= _MAX_WHOLE:
                texts[PREFIX + header.name] = str(int(value))
            case str():
                texts[PREFIX + header.name] = coded(value)
            case _:
                pass
    return texts


def coded(value: str) -> str:
    """`value` as a header may have it: printable ASCII as it is, anything else in base64."""
    if re.fullmatch(_SAFE, value) is not None and re.fullmatch(_CODED, value) is None:
        return value
    return f"=?base64?{binascii.b2a_base64(value.encode('utf-8', 'replace'), newline=False).decode()}?="


def _marked(schema: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every marked schema that is reached through `properties` only."""
    if not isinstance(schema, dict) or len(path) > _MAX_DEPTH:
        return
    if MARK in schema:
        yield path, schema
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, entry in properties.items():
            yield from _marked(entry, (*path, name))


def _count(value: object, depth: int = 0, *, is_names: bool = False) -> int:
    """How many schemas are marked, wherever they stand."""
    if depth > 3 * _MAX_DEPTH:
        return 0
    if isinstance(value, list):
        return sum(_count(item, depth + 1) for item in value)
    if not isinstance(value, dict):
        return 0
    own = 1 if MARK in value and not is_names else 0
    return own + sum(
        _count(item, depth + 1, is_names=key in ("properties", "$defs", "definitions"))
        for key, item in value.items()
        if key not in ("default", "const", "enum", "examples")
    )
