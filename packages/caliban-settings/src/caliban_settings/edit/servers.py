"""MCP servers added to, changed in and taken out of the text of a settings file.

Whatever comes out is read again before it is believed: it must say what was asked for, and nothing else may
have changed. Comments stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_settings.edit.scan import Block, scan
from caliban_settings.errors import ServersNotWritten, SettingsError
from caliban_settings.parse import check_writable, parse

TABLE: Final = "mcp_servers"
SHARED: Final = "mcpServers"
_BARE: Final = lazy_pattern(r"[A-Za-z0-9_-]+")
_HEADER_LINE: Final = lazy_pattern(r"[^\n]*\n?")
_DISABLED: Final = lazy_pattern(r"(?m)^[ \t]*disabled[ \t]*=[^\n]*\n?")
_BY_HAND: Final = "change it by hand"


def with_server(text: str, name: str, table: Mapping[str, Any], *, toml: bool) -> str:
    """`text` with one more server. Raises `ServersNotWritten`, also where there is one of this name.

    Raises `SettingsError` for a server that no file can hold.
    """
    check_writable({name: dict(table)}, f"the server {one_line(name, max_chars=64)}")
    data = _data(text, toml)
    if name in _servers(data, toml):
        raise ServersNotWritten(f"there is a server {name!r} in it already")
    if not toml:
        return _json_with(data, {**_servers(data, toml), name: dict(table)})
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text if not text or text.endswith("\n") else text + newline
    lines = list(_blocks((TABLE, name), table))
    changed = before + (newline if before.strip() else "") + newline.join(lines) + newline
    return _checked(text, changed, {**_servers(data, toml), name: dict(table)})


def without_server(text: str, name: str, *, toml: bool) -> str:
    """`text` without a server. Raises `ServersNotWritten`."""
    data = _data(text, toml)
    rest = {other: table for other, table in _servers(data, toml).items() if other != name}
    if not toml:
        return _json_with(data, rest)
    changed = text
    for block in reversed([block for block in _layout(text) if block.path[:2] == (TABLE, name)]):
        start = block.start
        if changed[:start].endswith(("\n\n", "\r\n\r\n")):  # the blank line that stood before it
            start -= 2 if changed[:start].endswith("\r\n") else 1
        changed = changed[:start] + changed[block.end :]
    return _checked(text, changed, rest)


def with_switch(text: str, name: str, *, disabled: bool, toml: bool) -> str:
    """`text` with a server switched off or on. Raises `ServersNotWritten`."""
    data = _data(text, toml)
    servers = _servers(data, toml)
    table = {member: value for member, value in servers.get(name, {}).items() if member != "disabled"}
    wanted = {**servers, name: {**table, "disabled": True} if disabled else table}
    if not toml:
        return _json_with(data, wanted)
    block = next((block for block in _layout(text) if block.path == (TABLE, name)), None)
    if block is None:
        if name in servers:
            raise ServersNotWritten(
                f"the server {name!r} is written in a form that is not changed here", hint=_BY_HAND
            )
        return with_server(text, name, {"disabled": True}, toml=True) if disabled else text
    inner = re.sub(_DISABLED.pattern, "", text[block.start : block.end])
    if disabled:
        match = _HEADER_LINE.match(inner)
        end = match.end() if match is not None else len(inner)
        newline = "\r\n" if "\r\n" in text else "\n"
        head = inner[:end] if inner[:end].endswith("\n") else inner[:end] + newline
        inner = f"{head}disabled = true{newline}{inner[end:]}"
    return _checked(text, text[: block.start] + inner + text[block.end :], wanted)


def server_toml(name: str, table: Mapping[str, Any]) -> str:
    """A server as it would be written."""
    return "\n".join(_blocks((TABLE, name), table)) + "\n"


def _servers(data: Mapping[str, Any], toml: bool) -> dict[str, Any]:
    tables = data.get(TABLE if toml else SHARED, {})
    if not isinstance(tables, dict):
        raise ServersNotWritten("the servers in it are no table", hint=_BY_HAND)
    return tables


def _data(text: str, toml: bool) -> dict[str, Any]:
    return parse(text, name="the file", toml=toml)[0]


def _layout(text: str) -> tuple[Block, ...]:
    try:
        return scan(text).blocks
    except ValueError as error:
        raise ServersNotWritten(
            "the file is written in a way that is not changed here", hint=_BY_HAND
        ) from error


def _json_with(data: Mapping[str, Any], servers: Mapping[str, Any]) -> str:
    return json.dumps({**data, SHARED: servers}, indent=2, ensure_ascii=False) + "\n"


def _blocks(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """A table in lines: what it says itself, then the tables in it."""
    inner = {name: value for name, value in table.items() if isinstance(value, Mapping) and value}
    yield f"[{'.'.join(map(_key, path))}]"
    for name, value in table.items():
        if name not in inner and not isinstance(value, Mapping):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in inner.items():
        yield ""
        yield from _blocks((*path, name), value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) is not None else _text(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    """A basic string of TOML: JSON's, with what only TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(before: str, after: str, servers: Mapping[str, Any]) -> str:
    try:
        old, new = _data(before, True), _data(after, True)
    except SettingsError as error:
        raise ServersNotWritten(
            "the file is written in a way that is not changed here", hint=_BY_HAND
        ) from error
    rest = {name: value for name, value in old.items() if name != TABLE}
    if {name: value for name, value in new.items() if name != TABLE} != rest or new.get(TABLE, {}) != servers:
        raise ServersNotWritten("the file is written in a way that is not changed here", hint=_BY_HAND)
    return after
