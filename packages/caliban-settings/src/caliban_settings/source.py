"""The files of one scope, read and parsed: which one counts, and what the others still have to say."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.paths import expand_user
from caliban_settings.errors import SettingsError
from caliban_settings.key import Scope
from caliban_settings.parse import MAX_BYTES, parse
from caliban_settings.rules import from_legacy, with_denies_of

INLINE = "inline settings"
INLINE_SERVERS = "inline servers"
HOOK_KEYS = (
    "hooks",
    "disable_all_hooks",
    "allow_managed_hooks_only",
    "allowed_http_hook_urls",
    "http_hook_allowed_env_vars",
)


class Source(Struct, frozen=True, kw_only=True):
    """What one scope says. `path` is the file in use, `None` for an inline overlay; `name` is for errors.

    `features` are the files of one feature that a first name was taken from, where that is not `path`;
    `beside` are further files of the scope, in which only servers stand.
    """

    scope: Scope
    path: Path | None
    name: str
    data: dict[str, Any]
    text: str
    toml: bool
    warnings: tuple[str, ...] = ()
    features: Mapping[str, Source] = {}
    beside: tuple[Source, ...] = ()

    def file_of(self, name: str) -> Source:
        """The file in which the first name of a setting stands."""
        return self.features.get(name, self)


def read_scope(scope: Scope, directory: Path, stem: str) -> Source | None:
    """The settings of `scope` in `directory`, files of one feature included; `None` when there are none.

    Raises `SettingsError`.
    """
    if scope == "managed":
        refuse_foreign_policy(directory)
    toml = read_file(directory / f"{stem}.toml", scope)
    json = read_file(directory / f"{stem}.json", scope)
    source = toml or json
    if toml is not None and json is not None:
        source = _both(toml, json)
    elif json is not None:
        source = _warned(
            json,
            f"{json.name} is JSON, which is read but not written: say the same in {stem}.toml",
        )
    if scope == "local":  # it shares its directory with the project's files
        return source
    return _with_features(source, scope, directory)


def read_overlay(overlay: str) -> Source:
    """The command line's settings: a JSON object, or the path of a file. Raises `SettingsError`."""
    if overlay.lstrip().startswith("{"):
        data, text = parse(overlay, name=INLINE, toml=False)
        return Source(scope="cli", path=None, name=INLINE, data=data, text=text, toml=False)
    path = expand_user(overlay)
    if path.suffix not in (".toml", ".json"):
        raise SettingsError(
            f"{INLINE}: {overlay!r:.200} is neither a JSON object nor a .toml or .json file",
            hint="""for example '{"max_turns": 5}'""",
        ).with_remedy("settings_overlay")
    source = read_file(path, "cli")
    if source is None:
        raise SettingsError(f"{INLINE}: there is no file {path}")
    return source


def read_file(path: Path, scope: Scope, *, parsed: bool = True) -> Source | None:
    """The file at `path`; `None` where there is none. Unless it is `parsed` it has its text alone.

    Raises `SettingsError`.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(
            f"cannot look at {path}: {reason.lower()}", hint="look whose it is, and each folder above it"
        ) from error
    if scope == "managed":
        refuse_foreign_policy(path)
    try:
        raw = read_regular(path, max_bytes=MAX_BYTES)
    except CalibanError as error:
        raise SettingsError(error.message, hint=error.hint) from error
    toml = path.suffix == ".toml"
    if not parsed:
        text = raw.decode("utf-8", "surrogateescape")
        return Source(scope=scope, path=path, name=str(path), data={}, text=text, toml=toml)
    data, text = parse(raw, name=str(path), toml=toml)
    return Source(scope=scope, path=path, name=str(path), data=data, text=text, toml=toml)


def _both(toml: Source, json: Source) -> Source:
    """TOML wins; the denies of the JSON file hold all the same."""
    permissions, count = with_denies_of(_table(toml.data, "permissions"), _table(json.data, "permissions"))
    kept = f" but for its {count} deny rules, which hold" if count else ""
    warning = f"{json.name} is ignored beside {toml.name}{kept}: remove it, or move what it says"
    data = {**toml.data, "permissions": permissions} if permissions else toml.data
    return _warned(toml, warning, data)


def _with_features(source: Source | None, scope: Scope, directory: Path) -> Source | None:
    for name, keys in (("mcp.toml", ("mcp_servers",)), ("hooks.toml", HOOK_KEYS)):
        feature = read_file(directory / name, scope)
        if feature is None:
            continue
        given = source.data if source is not None else {}
        new = {key: feature.data[key] for key in keys if key in feature.data and key not in given}
        if new:
            warning = f"{feature.name} is deprecated: move what it says into settings.toml"
            source = _warned(source or feature, warning, {**given, **new}, dict.fromkeys(new, feature))
    permissions = read_file(directory / "permissions.toml", scope)
    return source if permissions is None else _with_permissions(source, permissions)


def _with_permissions(source: Source | None, legacy: Source) -> Source:
    """permissions.toml stands for the `permissions` of its scope; the denies that it replaces still hold."""
    table = from_legacy(legacy.data)
    if source is None:
        return _warned(legacy, None, {"permissions": table})
    own = {"permissions": legacy}
    if "permissions" not in source.data:
        return _warned(source, None, {**source.data, "permissions": table}, own)
    merged, count = with_denies_of(table, _table(source.data, "permissions"))
    kept = f" but for its {count} deny rules, which hold" if count else ""
    warning = f"{legacy.name} replaces the `permissions` of {source.name}{kept}"
    return _warned(source, warning, {**source.data, "permissions": merged}, own)


def _warned(
    source: Source,
    warning: str | None,
    data: dict[str, Any] | None = None,
    features: Mapping[str, Source] = {},
) -> Source:
    return Source(
        scope=source.scope,
        path=source.path,
        name=source.name,
        data=source.data if data is None else data,
        text=source.text,
        toml=source.toml,
        warnings=source.warnings if warning is None else (*source.warnings, warning),
        features={**source.features, **features},
        beside=source.beside,
    )


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def refuse_foreign_policy(path: Path, who_may_write: Callable[[Path], str | None] | None = None) -> None:
    """Refuse administrator's settings that anybody else could have written (security.md TM8).

    `who_may_write` gives the reason for a path that is there; without it the system's own way is taken.
    """
    try:
        status = path.lstat()
    except OSError:
        return
    if who_may_write is not None:
        reason = who_may_write(path)
    elif os.name == "posix":
        reason = _foreign_mode(status)
    else:
        from caliban_settings.acl import planted_reason

        reason = planted_reason(path)
    if reason is not None:
        raise SettingsError(
            f"{path} {reason}: managed settings are not used and nothing starts without them",
            hint="its owner must be root, or the system's administrators, and nobody else may write it",
        )


def _foreign_mode(status: os.stat_result) -> str | None:
    others = stat.S_IWGRP | stat.S_IWOTH if status.st_uid == 0 else stat.S_IWOTH
    if stat.S_ISLNK(status.st_mode):
        return "is a link"
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to another user ({status.st_uid})"
    return "can be written by others" if status.st_mode & others else None
