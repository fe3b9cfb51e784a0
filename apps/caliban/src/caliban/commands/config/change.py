"""`caliban config set` and `unset`: one setting in the file of a scope, and nothing else of it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.cli.tables.config import WRITABLE
from caliban.compose.project import ALLOWED, open_project
from caliban.compose.settings import scope_file, unbuilt_words, with_flags
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, ConfigError, UsageError
from caliban.stdio import complain, print_text
from caliban_common.near import did_you_mean
from caliban_settings import SettingsError
from caliban_settings.edit.address import KeyAddress, find_key
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import check_text, read_value, with_value, without_value
from caliban_settings.errors import NoSuchSetting, SettingsNotWritten
from caliban_settings.key import Scope


def set_value(invocation: Invocation) -> int:
    """Write one setting."""
    values = invocation.values
    scope = chosen_scope(values["scope"])
    address, file = _asked(scope, values["key"], invocation.options)
    write_setting(address, file, values["value"])
    _tell(invocation.options, address, file.scope)
    return print_text(f"{file.path}: {address.name} is set\n")


def write_setting(address: KeyAddress, file: SettingsFile, text: str) -> None:
    """Write one value, as it is typed. Raises `UsageError`, `ConfigError`, `CommandRefused`."""
    try:
        value = read_value(text, address)
    except SettingsNotWritten as error:
        raise UsageError(error.message, hint=error.hint) from error
    _refuse(address, file.scope, value)
    rewrite_settings(file, lambda whole: with_value(whole, address, value))


def unset_value(invocation: Invocation) -> int:
    """Take one setting out."""
    scope = chosen_scope(invocation.values["scope"])
    address, file = _asked(scope, invocation.values["key"], invocation.options)
    drop_setting(address, file)
    return print_text(f"{file.path}: {address.name} is no longer set\n")


def drop_setting(address: KeyAddress, file: SettingsFile) -> None:
    """Take one setting out of a file. Raises `CommandRefused`, `ConfigError`."""
    rewrite_settings(file, lambda text: without_value(text, address))


def chosen_scope(word: str, scopes: tuple[str, ...] = WRITABLE) -> Scope:
    """The scope that a flag names. Raises `UsageError`."""
    if word not in scopes:
        near = did_you_mean(word, scopes)
        why = "the administrator's settings are not written here;" if word == "managed" else near
        raise UsageError(
            f"unknown scope {word!r:.40}", hint=" ".join(filter(None, (why, f"one of {', '.join(scopes)}")))
        )
    return cast(Scope, word)


def _asked(scope: Scope, key: str, options: Options) -> tuple[KeyAddress, SettingsFile]:
    workspace = build_workspace(options.workspace.workspace)
    return setting_address(key), scope_file(scope, workspace)


def setting_address(key: str) -> KeyAddress:
    """The setting of this name. Raises `UsageError`."""
    try:
        return find_key(key)
    except NoSuchSetting as error:
        raise UsageError(
            error.message, hint=error.hint or "caliban config list prints all of them"
        ) from error


def _refuse(address: KeyAddress, scope: Scope, value: Any) -> None:
    """Refuse a setting that would have no effect in this scope."""
    key = address.key
    if key is None:
        return
    if scope not in key.scopes:
        whose = "only the administrator" if key.scopes == ("managed",) else "only your own settings"
        ways = "" if key.scopes == ("managed",) else "--scope user"
        raise UsageError(f"`{address.name}` may be set by {whose}, not by a project's", hint=ways or None)
    if key.later and key.safeguard and value not in (None, False, "", [], {}):
        raise ConfigError(
            f"`{address.name}` would have no effect: {key.later} not part of this version, and nothing runs "
            "without what guards it"
        )


def rewrite_settings(file: SettingsFile, change: Callable[[str], str]) -> None:
    """Change the file, unless the result would be invalid. Raises `CommandRefused`, `ConfigError`."""
    other = file.path.with_suffix(".json")
    if os.path.exists(other) and not os.path.lexists(file.path):  # noqa: PTH110 - a closed folder is told on the way
        raise CommandRefused(
            f"the settings of this scope stand in {other}, and JSON is read but not written",
            hint=f"caliban settings import --from {other} --scope {file.scope}",
        )

    def checked(text: str) -> str:
        changed = change(text)
        check_text(changed, file.scope, file.path)
        return changed

    try:
        file.rewrite(checked)
    except SettingsNotWritten as error:
        raise CommandRefused(error.message, hint=error.hint) from error
    except SettingsError as error:
        raise ConfigError(error.message, hint=error.hint or _way_out(file.path)) from error


def _way_out(path: Path) -> str:
    """What a person does about settings that cannot be read; an editor only opens what is a file."""
    if path.is_file():
        return "mend it: caliban config edit"
    return f"move it away: mv {shlex.quote(str(path))} {shlex.quote(f'{path}.old')}"


def _tell(options: Options, address: KeyAddress, scope: Scope) -> None:
    for words in effects_of(options, address, scope):
        complain(f"caliban: {words}\n")


def effects_of(options: Options, address: KeyAddress, scope: Scope) -> Iterator[str]:
    """Why a setting that was just written has no effect, or not yet."""
    workspace = build_workspace(options.workspace.workspace)
    try:
        settings = open_project(options.settings, workspace).settings
    except SettingsError as error:
        yield error.message
        return
    for gone in settings.unbuilt:
        if address.name == gone.key or address.name.startswith(f"{gone.key}."):
            yield unbuilt_words(gone)
    held = [item for item in settings.withheld if item.key == address.name and item.scope == scope]
    for item in held[:1]:
        yield f"{address.name}: {with_flags(item.reason, ALLOWED)}"
    origin = settings.origin(".".join(address.path))
    is_joined = address.key is not None and address.key.merge != "highest"
    if origin is not None and origin.scope != scope and not held and not is_joined:
        yield f"{address.name} of the scope {origin} counts before this one"
    if address.key is not None and address.key.restart:
        yield f"{address.name} counts from the next start on: restart required"
