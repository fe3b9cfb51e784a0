"""The files of one feature each as one settings.toml, which says exactly what they say together now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from caliban_common.files import read_regular
from caliban_settings.edit.address import KeyAddress
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import with_value, without_value
from caliban_settings.errors import SettingsNotWritten
from caliban_settings.parse import MAX_BYTES, parse
from caliban_settings.rules import BUCKETS
from caliban_settings.source import HOOK_KEYS, Source, read_scope

LEGACY: Final[Mapping[str, tuple[str, ...]]] = {
    "permissions.toml": ("permissions",),
    "mcp.toml": ("mcp_servers",),
    "hooks.toml": HOOK_KEYS,
}
"""A file of one feature, and the names that are read of it."""


class Migration(Struct, frozen=True, kw_only=True):
    """What is to be done: `data` is what the one file will say, `change` makes its text of the present one.

    `files` are those that are no longer needed, `remarks` name what of them never counted.
    """

    data: dict[str, Any]
    change: Callable[[str], str]
    files: tuple[Path, ...]
    remarks: tuple[str, ...] = ()


def migration_of(file: SettingsFile) -> Migration:
    """What a migration of the scope of `file` would do. Raises `SettingsError`, `SettingsNotWritten`."""
    folder = file.path.parent
    files = () if file.scope == "local" else tuple(p for name in LEGACY if (p := folder / name).exists())
    source = read_scope(file.scope, folder, file.path.stem)
    data = {} if source is None else dict(source.data)
    if files and file.path.with_suffix(".json").exists():
        raise SettingsNotWritten(
            f"{file.path.with_suffix('.json')} is JSON, which is read but not written",
            hint="move what it says into settings.toml first",
        )
    data = _in_buckets(data)
    remarks = (*(words for path in files for words in _unread(path, source)), *_replaced(file, data))

    def change(text: str) -> str:
        before = parse(text, name=str(file.path), toml=True)[0]
        for name in before.keys() & {"permissions"} if "permissions" in data else ():
            if before[name] != data[name]:
                text = without_value(text, _address(name))
        for name in data:
            if before.get(name) != data[name]:
                text = with_value(text, _address(name), data[name])
        if parse(text, name=str(file.path), toml=True)[0] != data:
            raise SettingsNotWritten(
                "what would be written is not what the files say", hint="move it by hand"
            )
        return text

    return Migration(data=data, change=change, files=files, remarks=remarks)


def _address(name: str) -> KeyAddress:
    return KeyAddress(path=(name,), key=None, spellings=(name,))


def _in_buckets(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with ordered rules as buckets, where these say the same in the same order."""
    table = data.get("permissions")
    rules = table.get("rules") if isinstance(table, dict) else None
    if not isinstance(table, dict) or not rules or any(table.get(name) for name in BUCKETS):
        return data
    plain = [rule for rule in rules if isinstance(rule, dict) and set(rule) == {"pattern", "action"}]
    actions = [rule["action"] for rule in plain]
    if len(plain) != len(rules) or not set(actions) <= set(BUCKETS):
        return data
    if actions != sorted(actions, key=BUCKETS.index):
        return data
    kept = {name: value for name, value in table.items() if name not in ("rules", *BUCKETS)}
    lists = {
        name: [rule["pattern"] for rule in plain if rule["action"] == name]
        for name in BUCKETS
        if name in actions
    }
    return {**data, "permissions": {**kept, **lists}}


def _unread(path: Path, source: Source | None) -> tuple[str, ...]:
    """Words about what a file says and nobody reads: it stays in the file that is set aside."""
    names = LEGACY[path.name]
    given = parse(read_regular(path, max_bytes=MAX_BYTES), name=str(path), toml=True)[0]
    if path.name == "permissions.toml":
        return ()
    features = {} if source is None else source.features
    remarks = [
        f"{path}: `{name}` is not read from there, and is not moved" for name in given if name not in names
    ]
    for name in names:
        is_used = name in given and (
            (name in features and features[name].path == path) or _is_home(source, path)
        )
        if name in given and not is_used:
            remarks.append(f"{path}: `{name}` does not count beside that of settings.toml, and is not moved")
    return tuple(remarks)


def _replaced(file: SettingsFile, data: dict[str, Any]) -> tuple[str, ...]:
    """Words about rules of the present file that the file of rules stands for: they did not count before."""
    if not file.path.exists() or not isinstance(data.get("permissions"), dict):
        return ()
    table = parse(file.read(), name=str(file.path), toml=True)[0].get("permissions")
    gone = [name for name in table if name not in data["permissions"]] if isinstance(table, dict) else []
    return tuple(f"{file.path}: `permissions.{name}` did not count, and is taken out" for name in gone)


def _is_home(source: Source | None, path: Path) -> bool:
    return source is not None and source.path == path
