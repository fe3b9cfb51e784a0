"""`caliban config print`, `get`, `path`, `list` and `schema`: settings are looked at, nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from caliban.cli.invocation import Invocation
from caliban.cli.tables.config import FILES
from caliban.compose.project import Project, open_project
from caliban.compose.settings import scope_file, unbuilt_words, with_flags
from caliban.compose.shown import shown_value
from caliban.compose.workspace import build_workspace
from caliban.errors import MissingError
from caliban.stdio import complain, print_text, write_out
from caliban_common.codec import dumps
from caliban_common.terminal import visible
from caliban_settings import SCHEMA, Key, json_schema
from caliban_settings.edit.address import find_key, quoted_path
from caliban_settings.errors import NoSuchSetting
from caliban_settings.leaves import LeafPath, SettingValue, ValueOrigin

UNSET: Final = 1
RESTART: Final = "restart required"


def print_settings(invocation: Invocation) -> int:
    """Print what counts: as the JSON of the guide, or in lines."""
    project = _project(invocation)
    _complain(project)
    leaves = project.settings.leaves
    if invocation.values["plain"]:
        text = (
            "".join(setting_line(project, path, leaf) for path, leaf in leaves.items())
            or "(nothing is set)\n"
        )
        return print_text(visible(text))
    document = {
        "settings": shown_value((), project.settings.merged),
        "_sources": project.settings.scopes(),
        "_origins": {quoted_path(path): _origins(project, path, leaf) for path, leaf in leaves.items()},
        "_restart_required": [quoted_path(path) for path, leaf in leaves.items() if _restarts(leaf)],
        "_no_effect": list(_no_effect(project)),
    }
    return print_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def get_setting(invocation: Invocation) -> int:
    """Print one value, or a table of them."""
    address = _address(invocation.values["key"])
    project = _project(invocation)
    leaves = project.settings.leaves
    own = {path: leaf for path, leaf in leaves.items() if address.path[: len(path)] == path}
    own |= {path: leaf for path, leaf in leaves.items() if path[: len(address.path)] == address.path}
    value: Any = project.settings.merged
    for name in address.path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None and not own:
        default = f"; its default is {json.dumps(address.key.default)}" if _has_default(address.key) else ""
        complain(f"caliban: {address.name} is not set{default}\n")
        for item in _no_effect(project):
            if item["key"] == address.name:
                complain(f"caliban: {item['scope']} sets it: {item['why']}\n")
        return UNSET
    shown = shown_value(address.path, value)
    if invocation.values["json"]:
        rows = [row for path, leaf in own.items() for row in _origins(project, path, leaf)]
        restarts = any(_restarts(leaf) for leaf in own.values())
        return write_out(
            dumps({"key": address.name, "value": shown, "origins": rows, "restart_required": restarts})
            + b"\n"
        )
    return print_text(json.dumps(shown, ensure_ascii=False) + "\n")


def list_paths(invocation: Invocation) -> int:
    """Print the files of the scopes."""
    workspace = build_workspace(invocation.options.workspace.workspace)
    wanted = invocation.values["scope"]
    lines = []
    for scope in FILES:
        if wanted in (None, scope):
            path = scope_file(scope, workspace).path
            json_too = path.with_suffix(".json")
            state = (
                "" if path.exists() else f" (JSON: {json_too.name})" if json_too.exists() else " (none yet)"
            )
            lines.append(str(path) if wanted else f"{scope:8} {path}{state}")
    return print_text(visible("\n".join(lines) + "\n"))


def list_keys(invocation: Invocation) -> int:
    """Print the table of settings."""
    word = (invocation.values["word"] or "").lower()
    lines = [
        f"{key.path:42} {describe(key)}\n"
        for key in SCHEMA
        if word in key.path.lower() or word in key.doc.lower()
    ]
    if not lines:
        raise MissingError(f"no setting has {word!r} in its name or meaning")
    return print_text("".join(lines))


def print_schema(invocation: Invocation) -> int:
    """Print the JSON Schema."""
    del invocation
    return print_text(json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n")


def describe(key: Key) -> str:
    """The documentation of a setting, in one line."""
    default = f" Default: {json.dumps(key.default)}." if _has_default(key) else ""
    restart = " Restart required." if key.restart else ""
    later = f" No effect: {key.later} not part of this version." if key.later else ""
    return f"{key.doc}{default}{restart}{later}"


def _has_default(key: Key | None) -> bool:
    return key is not None and key.default is not None


def _project(invocation: Invocation) -> Project:
    options = invocation.options
    return open_project(options.settings, build_workspace(options.workspace.workspace))


def _address(text: str) -> Any:
    try:
        return find_key(text)
    except NoSuchSetting as error:
        raise MissingError(error.message, hint=error.hint) from error


def _complain(project: Project) -> None:
    for words in project.settings.warnings:
        complain(f"caliban: {words}\n")
    for item in project.settings.unbuilt:
        complain(f"caliban: {unbuilt_words(item)}\n")


def _restarts(leaf: SettingValue) -> bool:
    return leaf.key is not None and leaf.key.restart


def _origins(project: Project, path: LeafPath, leaf: SettingValue) -> list[dict[str, Any]]:
    return [
        {
            "scope": origin.scope,
            "file": None if origin.path is None else str(origin.path),
            "line": project.layers.line_of(path, origin),
        }
        for origin in leaf.origins
    ]


def setting_line(project: Project, path: LeafPath, leaf: SettingValue) -> str:
    """One setting that counts, with where it is written."""
    value = json.dumps(shown_value(path, leaf.value), ensure_ascii=False)
    where = ", ".join(_place(project, path, origin) for origin in leaf.origins)
    notes = [RESTART] if _restarts(leaf) else []
    notes += ["unknown: no effect"] if leaf.key is None else []
    return f"{quoted_path(path)} = {value}  # {'; '.join((where, *notes))}\n"


def _place(project: Project, path: LeafPath, origin: ValueOrigin) -> str:
    line = project.layers.line_of(path, origin)
    file = "--settings" if origin.path is None else str(origin.path)
    return f"{origin.scope} {file}" + ("" if line is None else f":{line}")


def _no_effect(project: Project) -> Iterator[dict[str, Any]]:
    for item in project.settings.withheld:
        file = None if item.path is None else str(item.path)
        yield {"key": item.key, "scope": item.scope, "file": file, "why": with_flags(item.reason)}
    for gone in project.settings.unbuilt:
        file = None if gone.origin.path is None else str(gone.origin.path)
        yield {
            "key": gone.key,
            "scope": gone.origin.scope,
            "file": file,
            "why": f"{gone.feature} not part of this version",
        }
