"""`caliban plugin enable` and `disable`: for a person, or in the settings of a project."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.asked import has_person, lets_count
from caliban.commands.config.change import chosen_scope, rewrite_settings
from caliban.commands.plugins.desk import PluginDesk, open_desk, told
from caliban.compose.plugins.places import folder_words
from caliban.compose.plugins.policy import is_enabled
from caliban.compose.settings import scope_file
from caliban.compose.supplied import ProjectFile
from caliban.errors import CommandRefused
from caliban.stdio import complain, print_lines, print_text
from caliban_common.terminal import visible
from caliban_plugins.record import PluginRecords, ProjectConsent
from caliban_settings import Scope
from caliban_settings.edit.address import address_of
from caliban_settings.edit.values import with_value

NOT_ENABLED: Final = 1


def enable(invocation: Invocation) -> int:
    """Enable a plugin."""
    desk = open_desk(invocation)
    name = invocation.values["name"]
    theirs = next((file for file in desk.project.files.plugins if file.name == name), None)
    if theirs is not None and desk.store.records().plugin(name) is None:
        return _agree(desk, theirs)
    return _switch(desk, name, is_on=True)


def disable(invocation: Invocation) -> int:
    """Disable a plugin."""
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
        switch_in_settings(desk, plugin.id, chosen_scope(scope), is_on=is_on)
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
    """Show a plugin of the project, and record that a person agreed to it as it is."""
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
        if not lets_count(desk.invocation.signals):
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


def switch_in_settings(desk: PluginDesk, name: str, scope: Scope, *, is_on: bool) -> None:
    """Write into the settings of a project whether a plugin counts. Raises as they do."""
    address = address_of(("enabled_plugins", name))
    rewrite_settings(scope_file(scope, desk.workspace), lambda text: with_value(text, address, is_on))
