"""Single settings put into the text of a TOML file and taken out: comments, order and blank lines stay.

Whatever comes out is read again before it is believed: the one setting is changed, and nothing else is.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from caliban_common.text import one_line
from caliban_settings.check import problem
from caliban_settings.edit.address import ANY_NAME, KeyAddress
from caliban_settings.errors import SettingsError, SettingsNotWritten
from caliban_settings.key import Form, Scope
from caliban_settings.leaves import LeafPath, dotted, read_leaves, schema_tree
from caliban_settings.parse import check_writable, parse
from caliban_settings.schema import SCHEMA
from caliban_settings.source import Source

if TYPE_CHECKING:
    from tomlkit.container import Container

_BOM: Final = "\ufeff"
_BY_HAND: Final = "change the file by hand"


def read_value(text: str, address: KeyAddress) -> Any:
    """The value that a person means by `text`: TOML or JSON where that fits the setting, else plain text.

    Raises `SettingsNotWritten`, which says what the setting takes.
    """
    if address.key is None:
        raise SettingsNotWritten(f"`{address.name}` is a table of settings", hint=_ways_below(address))
    form: Form = {} if address.inner else address.key.form
    readings = (*_readings(text), text)
    for value in readings:
        if value is not None and problem(form, value) is None:
            return value
    if readings[0] is None:
        raise SettingsNotWritten(
            f"`{address.name}` cannot be null in a file: TOML has no such value",
            hint="take it out instead, or say it in a JSON overlay",
        )
    wrong = problem(form, readings[0])
    place, words = wrong if wrong is not None else ((), "is not understood")
    below = f" ({dotted(place)})" if place else ""
    quoted = "" if "got '" in words else f": {one_line(text, max_chars=80)!r}"
    raise SettingsNotWritten(f"`{address.name}`{below} {words}{quoted}")


def with_value(text: str, address: KeyAddress, value: Any) -> str:
    """`text` with the setting as `value`, which is plain data. Raises `SettingsNotWritten`.

    Raises `SettingsError` for a value that no file can hold.
    """
    check_writable({address.name: value}, f"`{one_line(address.name, max_chars=80)}`")
    data = _data(text)
    path = _spelled(data, address)
    wanted = copy.deepcopy(data)
    table = wanted
    for name in path[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise SettingsNotWritten(f"`{name}` is no table in this file", hint=_BY_HAND)
    if path[-1] in table and _same(table[path[-1]], value):
        return text
    table[path[-1]] = value

    def change(document: Container) -> None:
        import tomlkit

        inner: Any = document
        for name in path[:-1]:
            if name not in inner:
                inner[name] = tomlkit.table()
            inner = inner[name]
        inner[path[-1]] = value

    return _changed(text, change, wanted)


def value_in(text: str, address: KeyAddress) -> Any:
    """What `text` says for the setting; `None` where it does not."""
    data: Any = _data(text)
    for name in _spelled(data, address):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def without_value(text: str, address: KeyAddress) -> str:
    """`text` without the setting. Raises `SettingsNotWritten`, also where it is not there."""
    data = _data(text)
    path = _spelled(data, address)
    wanted = copy.deepcopy(data)
    table: Any = wanted
    for name in path[:-1]:
        table = table.get(name) if isinstance(table, dict) else None
    if not isinstance(table, dict) or path[-1] not in table:
        raise SettingsNotWritten(f"`{address.name}` is not set there")
    del table[path[-1]]

    def change(document: Container) -> None:
        inner: Any = document
        for name in path[:-1]:
            inner = inner[name]
        del inner[path[-1]]

    return _changed(text, change, wanted)


def check_text(text: str, scope: Scope, path: Path) -> tuple[str, ...]:
    """Warnings about the whole text of a file. Raises `SettingsError` for what no setting may say."""
    data, plain = parse(text, name=str(path), toml=True)
    source = Source(scope=scope, path=path, name=str(path), data=data, text=plain, toml=True)
    return tuple(read_leaves(source, schema_tree(SCHEMA))[1])


def _ways_below(address: KeyAddress) -> str:
    """Which settings a table has. The names of some are for a person to choose."""
    names = ", ".join(name for name in address.below if name != ANY_NAME)
    chosen = f"{address.name}.{ANY_NAME} with a name of its own in place of {ANY_NAME}"
    ways = (f"one of {names}" if names else "", chosen if ANY_NAME in address.below else "")
    return f"name {' or '.join(filter(None, ways))}"


def _readings(text: str) -> tuple[Any, ...]:
    import tomllib

    readings: list[Any] = []
    for is_toml in (True, False):
        try:
            table = tomllib.loads(f"v = {text.strip()}") if is_toml else {"v": json.loads(text)}
        except (ValueError, RecursionError):
            continue
        if set(table) == {"v"}:
            readings.append(_plain(table["v"]))
    return tuple(readings)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _data(text: str) -> dict[str, Any]:
    return parse(text, name="the file", toml=True)[0]


def _spelled(data: dict[str, Any], address: KeyAddress) -> LeafPath:
    """The path as this file spells it: its last name may be another one."""
    table: Any = data
    for name in address.path[:-1]:
        table = table.get(name) if isinstance(table, dict) else None
    if isinstance(table, dict):
        for name in address.spellings:
            if name in table:
                return (*address.path[:-1], name)
    return address.path


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and first == second


def _changed(text: str, change: Any, wanted: dict[str, Any]) -> str:
    """`text` after `change`, where it then says what is `wanted`."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark, body = (_BOM, text.removeprefix(_BOM)) if text.startswith(_BOM) else ("", text)
    try:
        document = tomlkit.parse(body)
        change(document)
        changed = mark + _with_line_ends(tomlkit.dumps(document), body)
        is_right = _written(_data(changed)) == _written(wanted)
    except SettingsError as error:
        raise SettingsNotWritten(f"it could not be read again: {error.message}", hint=error.hint) from error
    except (TOMLKitError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsNotWritten("the form of this file does not take the change", hint=_BY_HAND) from error
    if not is_right:
        raise SettingsNotWritten("the change would reach other settings of the file", hint=_BY_HAND)
    return changed


def _written(value: Any) -> str:
    """A form in which 1, 1.0 and true differ; an empty table is none."""
    return json.dumps(_filled(value), sort_keys=True)


def _filled(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: below for name, item in value.items() if (below := _filled(item)) != {}}


def _with_line_ends(text: str, before: str) -> str:
    """`text` with the line ends that all of `before` has."""
    if "\r\n" not in before or "\n" in before.replace("\r\n", ""):
        return text
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
