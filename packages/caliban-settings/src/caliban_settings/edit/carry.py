"""Many settings put into one file at once: what is there already stays, lists are joined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from caliban_settings.check import problem
from caliban_settings.edit.address import KeyAddress, address_of
from caliban_settings.edit.values import value_in, with_value
from caliban_settings.errors import NoSuchSetting, SettingsNotWritten
from caliban_settings.foreign.translated import Carried, NotCarried
from caliban_settings.key import Scope
from caliban_settings.leaves import dotted


def with_carried(
    text: str, items: Iterable[Carried], scope: Scope
) -> tuple[str, int, tuple[NotCarried, ...]]:
    """`text` with `items`, how many of them it did not say before, and those that it does not take."""
    count = 0
    left_out: list[NotCarried] = []
    for item in items:
        changed, why = _with_item(text, item, scope)
        if why:
            left_out.append(NotCarried(path=item.source, why=why))
        count += changed != text
        text = changed
    return text, count, tuple(left_out)


def _with_item(text: str, item: Carried, scope: Scope) -> tuple[str, str]:
    """`text` with one setting, or as it was and why."""
    try:
        address = address_of(item.path)
    except NoSuchSetting:
        return text, f"there is no setting {dotted(item.path)}"
    why = _objection(address, item.value, scope)
    if why:
        return text, why
    present = value_in(text, address)
    value = item.value
    if present is not None and present != value:
        is_joined = address.key is not None and address.key.merge in ("join", "append")
        if not (is_joined and isinstance(present, list)):
            return text, f"{address.name} is set there already, and stays as it is"
        value = [*present, *(one for one in value if one not in present)]
    try:
        return with_value(text, address, value), ""
    except SettingsNotWritten as error:
        return text, error.message


def _objection(address: KeyAddress, value: Any, scope: Scope) -> str:
    key = address.key
    if key is None:
        return f"{address.name} is a table of settings"
    wrong = None if address.inner else problem(key.form, value)
    if wrong is not None:
        return f"{dotted((*address.path, *wrong[0]))} {wrong[1]}"
    if _holds_null(value):
        return f"{address.name} cannot be null: TOML has no such value"
    if scope not in key.scopes:
        return f"{address.name} may not be said in the scope {scope}, only in those of a person"
    if key.later and key.safeguard:
        return f"{address.name} would have no effect: {key.later} not part of this version"
    return ""


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_null, value.values()))
    return any(map(_holds_null, value)) if isinstance(value, list) else value is None
