"""`caliban config set` and `unset`: one setting in the file of a scope, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from caliban.cli.invocation import Invocation
from caliban.cli.tables.config import WRITABLE
from caliban.compose.project import ALLOWED, open_project
from caliban.compose.settings import scope_file, unbuilt_words, with_flags
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, ConfigError, UsageError
from caliban.stdio import complain, write_out
from caliban_common.near import did_you_mean
from caliban_common.text import clean
from caliban_settings import SettingsError
from caliban_settings.edit.address import KeyAddress, find_key
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import check_text, read_value, with_value, without_value
from caliban_settings.errors import NoSuchSetting, SettingsNotWritten
from caliban_settings.key import Scope


def set_value(invocation: Invocation) -> int:
    """Write one setting."""
    values = invocation.values
    address, file = _asked(invocation)
    try:
        value = read_value(values["value"], address)
    except SettingsNotWritten as error:
        raise UsageError(error.message, hint=error.hint) from error
    _refuse(address, file.scope, value)
    _rewrite(file, lambda text: with_value(text, address, value))
    _tell_effect(invocation, address, file.scope)
    return write_out(clean(f"{file.path}: {address.name} is set\n").encode())


def unset_value(invocation: Invocation) -> int:
    """Take one setting out."""
    address, file = _asked(invocation)
    _rewrite(file, lambda text: without_value(text, address))
    return write_out(clean(f"{file.path}: {address.name} is no longer set\n").encode())


def chosen_scope(word: str, scopes: tuple[str, ...] = WRITABLE) -> Scope:
    """The scope that a flag names. Raises `UsageError`."""
    if word not in scopes:
        near = did_you_mean(word, scopes)
        why = "the administrator's settings are not written here;" if word == "managed" else near
        raise UsageError(
            f"unknown scope {word!r:.40}", hint=" ".join(filter(None, (why, f"one of {', '.join(scopes)}")))
        )
    return cast(Scope, word)


def _asked(invocation: Invocation) -> tuple[KeyAddress, SettingsFile]:
    scope = chosen_scope(invocation.values["scope"])
    try:
        address = find_key(invocation.values["key"])
    except NoSuchSetting as error:
        raise UsageError(
            error.message, hint=error.hint or "caliban config list prints all of them"
        ) from error
    workspace = build_workspace(invocation.options.workspace.workspace)
    return address, scope_file(scope, workspace)


def _refuse(address: KeyAddress, scope: Scope, value: Any) -> None:
    """Refuse what would be written in vain."""
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


def _rewrite(file: SettingsFile, change: Callable[[str], str]) -> None:
    """Change the file where the whole of it is then right. Raises `CommandRefused`, `ConfigError`."""
    other = file.path.with_suffix(".json")
    if other.exists() and not file.path.exists():
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
        raise ConfigError(error.message, hint=error.hint or "mend it: caliban config edit") from error


def _tell_effect(invocation: Invocation, address: KeyAddress, scope: Scope) -> None:
    """Say where what was written does not count, or not yet."""
    workspace = build_workspace(invocation.options.workspace.workspace)
    try:
        settings = open_project(invocation.options.settings, workspace).settings
    except SettingsError as error:
        complain(clean(f"caliban: {error.message}\n"))
        return
    for gone in settings.unbuilt:
        if address.name == gone.key or address.name.startswith(f"{gone.key}."):
            complain(clean(f"caliban: {unbuilt_words(gone)}\n"))
    held = [item for item in settings.withheld if item.key == address.name and item.scope == scope]
    for item in held[:1]:
        complain(clean(f"caliban: {address.name}: {with_flags(item.reason, ALLOWED)}\n"))
    origin = settings.origin(".".join(address.path))
    is_joined = address.key is not None and address.key.merge != "highest"
    if origin is not None and origin.scope != scope and not held and not is_joined:
        complain(clean(f"caliban: {address.name} of the scope {origin} counts before this one\n"))
    if address.key is not None and address.key.restart:
        complain(clean(f"caliban: {address.name} counts from the next start on: restart required\n"))
