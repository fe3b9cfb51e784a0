"""`caliban plugin enable` and `disable`: for a person, or in the settings of a project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.asked import has_person, says_yes
from caliban.commands.plugins.desk import PluginDesk, open_desk, told
from caliban.compose.plugins.places import folder_words
from caliban.compose.plugins.policy import is_enabled
from caliban.compose.supplied import ProjectFile
from caliban.errors import CommandRefused, ConfigError
from caliban.stdio import complain, print_lines, print_text
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_common.terminal import visible
from caliban_plugins.record import PluginRecords, ProjectConsent

FILES: Final[Mapping[str, str]] = {"project": "settings.toml", "local": "settings.local.toml"}
MAX_SETTINGS_BYTES: Final = 4 << 20
_HEADER: Final = r"\s*\[\s*enabled_plugins\s*\]\s*(?:#.*)?"
NOT_ENABLED: Final = 1


def enable(invocation: Invocation) -> int:
    """Let a plugin count."""
    desk = open_desk(invocation)
    name = invocation.values["name"]
    theirs = next((file for file in desk.project.files.plugins if file.name == name), None)
    if theirs is not None and desk.store.records().plugin(name) is None:
        return _agree(desk, theirs)
    return _switch(desk, name, is_on=True)


def disable(invocation: Invocation) -> int:
    """Do without a plugin."""
    desk = open_desk(invocation)
    name = invocation.values["name"]
    theirs = any(file.name == name for file in desk.project.files.plugins)
    if theirs and desk.store.records().plugin(name) is None:
        with told():
            desk.store.change(lambda records: _without(records, str(desk.workspace), name))
        return print_lines([f"disabled: {name} of this project"])
    return _switch(desk, name, is_on=False)


def _switch(desk: PluginDesk, name: str, *, is_on: bool) -> int:
    plugin = desk.installed(name)
    scope = desk.invocation.values["scope"] or "user"
    word = "enabled" if is_on else "disabled"
    if scope != "user":
        switch_in_settings(desk, plugin.id, scope, is_on=is_on)
        return print_lines([f"{word}: {plugin.name}, in the {scope} settings"])

    def change(records: PluginRecords) -> PluginRecords:
        changed = tuple(
            replace(one, enabled=is_on) if one.name == plugin.name else one for one in records.plugins
        )
        return replace(records, plugins=changed)

    with told():
        desk.store.change(change)
    if is_enabled(replace(plugin, enabled=is_on), desk.settings, desk.environ) != is_on:
        complain("caliban: settings or a variable say otherwise, and count first: enabled_plugins\n")
    return print_lines([f"{word}: {plugin.name}"])


def _agree(desk: PluginDesk, file: ProjectFile) -> int:
    """Show a plugin of the project, and write down that a person agrees to it as it is."""
    if not desk.project.trust.counts:
        complain("caliban: this project is not trusted yet, and nothing of it counts: caliban trust add\n")
    text = f"plugin  {file.name}, in {file.path}\ndigest  {file.data.decode()}\n{folder_words(file.path)}\n"
    print_text(visible(text))
    if not desk.invocation.values["yes"]:
        if not has_person():
            raise CommandRefused(
                "there is no terminal to ask at: nobody has agreed to this plugin",
                hint="look at what is shown; --yes says that you have",
            )
        if not says_yes("May all of this count in runs here?", desk.invocation.signals):
            complain("caliban: not enabled; nothing was written\n")
            return NOT_ENABLED
    root = str(desk.workspace)
    consent = ProjectConsent(root=root, name=file.name, digest=file.data.decode())

    def change(records: PluginRecords) -> PluginRecords:
        others = _without(records, root, file.name)
        return replace(others, projects=(*others.projects, consent))

    with told():
        desk.store.change(change)
    return print_lines([f"enabled: {file.name} of this project ({consent.digest[:12]})"])


def _without(records: PluginRecords, root: str, name: str) -> PluginRecords:
    kept = tuple(one for one in records.projects if (one.root, one.name) != (root, name))
    return replace(records, projects=kept)


def switch_in_settings(desk: PluginDesk, name: str, scope: str, *, is_on: bool) -> None:
    """Write into the settings of a project whether a plugin counts. Raises `ConfigError`."""
    path = desk.workspace / ".caliban" / FILES[scope]
    if path.with_suffix(".json").exists() and not path.exists():
        raise ConfigError(f"{path.with_suffix('.json')} is JSON: write `enabled_plugins` into it yourself")
    try:
        if not path.parent.resolve().is_relative_to(desk.workspace.resolve()):
            raise ConfigError(f"{path.parent} is a link to outside of the workspace")
        text = read_regular(path, max_bytes=MAX_SETTINGS_BYTES).decode() if path.exists() else ""
        ensure_private_dir(path.parent)
        write_atomic(path, with_switch(text, name, is_on=is_on).encode(), mode=None if text else 0o644)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no UTF-8") from error
    except CalibanError as error:
        raise ConfigError(f"{path}: {error.message}", hint=error.hint) from error


def with_switch(text: str, name: str, *, is_on: bool) -> str:
    """Settings with one line of the table `enabled_plugins` put in; all else stays as it is.

    Raises `ConfigError` where it does not find its way.
    """
    line = f'"{name}" = {"true" if is_on else "false"}'
    try:
        before = tomllib.loads(text)
        changed = _changed(text, name, line)
        expected = {**before, "enabled_plugins": {**before.get("enabled_plugins", {}), name: is_on}}
        if tomllib.loads(changed) == expected:
            return changed
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise ConfigError(f"it cannot be changed: {error}") from error
    raise ConfigError("it cannot be changed without changing more", hint=f"write {line} into it yourself")


def _changed(text: str, name: str, line: str) -> str:
    lines = text.splitlines()
    at = next((number for number, one in enumerate(lines) if re.fullmatch(_HEADER, one)), None)
    if at is None:
        start = f"{text.rstrip()}\n\n" if text.strip() else ""
        return f"{start}[enabled_plugins]\n{line}\n"
    end = next(
        (number for number in range(at + 1, len(lines)) if lines[number].lstrip()[:1] == "["), len(lines)
    )
    key = rf"\s*(?:\"{re.escape(name)}\"|{re.escape(name)})\s*=.*"
    own = next((number for number in range(at + 1, end) if re.fullmatch(key, lines[number])), None)
    if own is not None:
        lines[own] = line
    else:
        lines.insert(at + 1, line)
    return "\n".join(lines) + "\n"
