"""The settings as the terminal shows and changes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import anyio.to_thread

from caliban.commands.config.change import drop_setting, effects_of, setting_address, write_setting
from caliban.commands.config.list import describe
from caliban.compose.app import App
from caliban.compose.settings import scope_file
from caliban.compose.shown import HIDDEN, shown_value
from caliban_common.text import one_line
from caliban_settings import SCHEMA, Key
from caliban_settings.edit.address import quoted_path
from caliban_settings.leaves import LeafPath, SettingValue
from caliban_tui.overlay.views import SettingRow, SettingScope

SCOPES: Final[tuple[SettingScope, ...]] = ("user", "project", "local")
"""Those that are written here, one's own first."""
VALUE_CHARS: Final = 200


class SettingsKeeper:
    """See `ViewHost`: the settings of `app`."""

    def __init__(self, app: App) -> None:
        self._app = app

    def rows(self) -> tuple[SettingRow, ...]:
        """What is set, then what could be."""
        return (*self._set(), *self._unset())

    def files(self) -> tuple[tuple[SettingScope, str], ...]:
        """The files that can be written."""
        return tuple((scope, str(scope_file(scope, self._app.workspace).path)) for scope in SCOPES)

    async def write(self, name: str, text: str, scope: SettingScope) -> str:
        """Write a setting, and take it over. Raises `UsageError`, `ConfigError`, `CommandRefused`."""
        return await self._change(name, scope, text)

    async def unset(self, name: str, scope: SettingScope) -> str:
        """Take a setting out of a file. Raises the same."""
        return await self._change(name, scope, None)

    async def _change(self, name: str, scope: SettingScope, text: str | None) -> str:
        app = self._app
        address, file = setting_address(name), scope_file(scope, app.workspace)
        await app.live.refresh(app)  # what others have written is theirs
        if text is None:
            await anyio.to_thread.run_sync(drop_setting, address, file)
        else:
            await anyio.to_thread.run_sync(write_setting, address, file, text)
        await app.live.refresh(app)
        done = f"{address.name} is {'no longer set' if text is None else 'set'} in {file.path}"
        return "; ".join((done, *(() if text is None else effects_of(app.options, address, file.scope))))

    def _set(self) -> Iterator[SettingRow]:
        for path, leaf in self._app.live.read.settings.leaves.items():
            yield _row(path, leaf)

    def _unset(self) -> Iterator[SettingRow]:
        paths = self._app.live.read.settings.leaves
        below = {quoted_path(path[:end]) for path in paths for end in range(1, len(path) + 1)}
        for key in SCHEMA:
            if "*" not in key.path and key.path not in below:
                yield SettingRow(
                    name=key.path, about=describe(key), choices=_choices(key), now=_text(key.default)
                )


def _row(path: LeafPath, leaf: SettingValue) -> SettingRow:
    shown: Any = shown_value(path, leaf.value)
    origin = leaf.origins[-1]
    more = f" and {len(leaf.origins) - 1} more" if len(leaf.origins) > 1 else ""
    place = origin.path if origin.path is not None else "--settings"
    about = "unknown: no effect" if leaf.key is None else describe(leaf.key)
    text = json.dumps(shown, ensure_ascii=False)
    return SettingRow(
        name=quoted_path(path),
        value=one_line(text, max_chars=VALUE_CHARS),
        origin=f"{origin.scope} {place}{more}",
        about=about,
        choices=() if leaf.key is None else _choices(leaf.key),
        now=_text(leaf.value),
        text="" if HIDDEN in text else _text(leaf.value),
    )


def _choices(key: Key) -> tuple[str, ...]:
    form: Mapping[str, Any] = key.form
    if form.get("type") == "boolean":
        return ("true", "false")
    return tuple(form.get("enum", ()))


def _text(value: Any) -> str:
    """The value as a person would type it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
