"""`caliban plugin`: list, show, roll back, remove, validate. Nothing is fetched here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from caliban.cli.help import command_parser
from caliban.cli.invocation import Invocation
from caliban.cli.tables.plugins import PLUGIN
from caliban.commands.plugins.desk import PluginDesk, installed_plugin, no_plugin, open_desk, told
from caliban.commands.report import report
from caliban.compose.plugins.fetch import forget_archives
from caliban.compose.plugins.parts import part_problems
from caliban.compose.plugins.places import part_lines, plugin_store
from caliban.compose.plugins.policy import is_enabled
from caliban.compose.plugins.run import with_plugins
from caliban.compose.workspace import current_dir, typed_path
from caliban.errors import CommandRefused
from caliban.faces.themes import theme_problems
from caliban.stdio import complain, print_lines, print_text, write_out
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_plugins import (
    Plugin,
    PluginRecords,
    PluginStore,
    capabilities,
    read_market,
    read_plugin,
    read_tree,
    tree_digest,
)
from caliban_plugins.market import FILES
from caliban_plugins.record import InstalledPlugin
from caliban_plugins.scaffold import make_plugin
from caliban_plugins.source import PluginSource
from caliban_plugins.store import switched
from caliban_plugins.table import MAX_JSON_BYTES, read_table

REFUSED = 1


def list_plugins(invocation: Invocation) -> int:
    """Print every plugin; what is wrong with some is told on standard error."""
    desk = open_desk(invocation)
    loaded = _loaded(desk)
    rows = list(plugin_rows(desk, loaded))
    if invocation.values["json"]:
        lines = [dumps(row).decode() for row in rows]
    else:
        lines = [
            f"{row['state']:9} {row['scope']:8} {row['name']:24} {row['version']:10} {row['source']}".rstrip()
            for row in rows
        ] or ["(no plugins)"]
    return print_lines(map(visible, lines))


def show_plugin(invocation: Invocation) -> int:
    """Print one plugin as JSON."""
    desk = open_desk(invocation)
    name = invocation.values["name"]
    loaded = _loaded(desk)
    plugin = loaded.get(name)
    installed = desk.store.records().plugin(name)
    if plugin is None and installed is not None:
        with told():
            plugin = read_plugin(desk.store.root_of(installed), source=installed.id)
    if plugin is None:
        raise no_plugin(name, [*loaded, *(one.name for one in desk.store.records().plugins)])
    return write_out(dumps(_about(plugin, installed)) + b"\n")


def help_plugin(invocation: Invocation) -> int:
    """Print the help of the command."""
    return print_text(command_parser(PLUGIN).format_help())


def rollback(invocation: Invocation) -> int:
    """Go back to the previous version."""
    name = invocation.values["name"]
    store = plugin_store()
    installed_plugin(store, name)
    with told():
        back = store.change(lambda records: _rolled_back(store, records, name)).plugin(name)
    assert back is not None
    words = f"{back.name} is version {back.current.version} again ({back.current.digest[:12]})\n"
    return print_text(words)


def _rolled_back(store: PluginStore, records: PluginRecords, name: str) -> PluginRecords:
    record = records.plugin(name)
    if record is None:
        raise no_plugin(name, ())
    back = switched(record)
    if not store.is_whole(back):
        raise CommandRefused(f"the files of that version of {back.name} are not what they were")
    plugins = tuple(back if one.name == back.name else one for one in records.plugins)
    return replace(records, plugins=plugins)


def remove(invocation: Invocation) -> int:
    """Remove a plugin and all that is its own."""
    name = invocation.values["name"]
    store = plugin_store()
    gone = installed_plugin(store, name).name
    with told():
        if not invocation.values["keep_data"]:
            shutil.rmtree(store.data(gone), ignore_errors=True)

        def change(records: PluginRecords) -> PluginRecords:
            return replace(records, plugins=tuple(one for one in records.plugins if one.name != gone))

        forget_archives(store.change(change))
    return print_text(f"removed: {gone}\n")


def validate(invocation: Invocation) -> int:
    """Read a plugin or a marketplace, and say what is wrong with it."""
    root = typed_path(invocation.values["directory"] or ".")
    if not root.is_dir():
        raise CommandRefused(f"{one_line(str(root), max_chars=200)} is not a directory")
    index = next((root / name for name in FILES if (root / name).is_file()), None)
    has_manifest = any((root / name).is_file() for name in (".claude-plugin/plugin.json", "plugin.json"))
    with told():
        if index is not None and not has_manifest:
            return _validate_market(root, index, invocation)
        files = read_tree(root)
        plugin = read_plugin(root)
    problems = [*part_problems(plugin), *theme_problems(plugin)]
    if invocation.values["json"]:
        text = dumps({**_about(plugin, None), "digest": tree_digest(files), "problems": problems}).decode()
    else:
        lines = [
            f"plugin  {plugin.name} {plugin.manifest.version} ({plugin.manifest.layout})",
            f"digest  {tree_digest(files)}",
            *part_lines(capabilities(plugin, files)),
            *(f"note: {note}" for note in plugin.notes),
        ]
        text = visible("\n".join(lines))
    for problem in problems:
        complain(f"caliban: {problem}\n")
    return print_text(f"{text}\n") or (REFUSED if problems else 0)


def init(invocation: Invocation) -> int:
    """Make a new plugin."""
    name = invocation.values["name"]
    folder = current_dir() / name
    if folder.exists():
        raise CommandRefused(f"there is a {one_line(name, max_chars=80)} here already; nothing was written")
    with told():
        try:
            paths = make_plugin(folder, name)
        except CalibanError as error:
            raise CommandRefused(error.message, hint=error.hint) from error
    return print_text("".join(f"{name}/{path}\n" for path in paths))


def _loaded(desk: PluginDesk) -> dict[str, Plugin]:
    """The plugins that count here, by name."""
    project = with_plugins(desk.project, desk.invocation.options, desk.workspace, desk.environ, report)
    return {plugin.name: plugin for plugin in project.plugins}


def plugin_rows(desk: PluginDesk, loaded: dict[str, Plugin]) -> Iterator[dict[str, Any]]:
    """What a list of plugins shows of each; those that count are `loaded`."""
    records = desk.store.records()
    for plugin in records.plugins:
        counts = plugin.name in loaded and loaded[plugin.name].digest == plugin.current.digest
        off = not is_enabled(plugin, desk.settings, desk.environ)
        yield {
            "name": plugin.name,
            "version": plugin.current.version,
            "scope": "user",
            "state": "enabled" if counts else "disabled" if off else "left out",
            "source": plugin.source.words,
            "marketplace": plugin.marketplace or None,
            "digest": plugin.current.digest,
            "path": str(desk.store.root_of(plugin)),
        }
    own = {plugin.name for plugin in records.plugins}
    for file in desk.project.files.plugins:
        counts = file.name in loaded and loaded[file.name].scope == "project"
        yield _row(file.name, "", "project", "enabled" if counts else "waits", file.path)
    for name, other in loaded.items():
        if other.scope in ("managed", "flag") and name not in own:
            yield _row(name, other.manifest.version, other.scope, "enabled", other.root)


def _row(name: str, version: str, scope: str, state: str, path: Path) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "scope": scope,
        "state": state,
        "source": str(path),
        "marketplace": None,
        "digest": None,
        "path": str(path),
    }


def _about(plugin: Plugin, installed: InstalledPlugin | None) -> dict[str, Any]:
    manifest = plugin.manifest
    return {
        "name": manifest.name,
        "version": manifest.version,
        "layout": manifest.layout,
        "description": manifest.description,
        "author": manifest.author,
        "license": manifest.license,
        "homepage": manifest.homepage,
        "scope": plugin.scope,
        "source": installed.source.words if installed is not None else plugin.source,
        "marketplace": (installed.marketplace or None) if installed is not None else None,
        "digest": installed.current.digest if installed is not None else plugin.digest or None,
        "installed_at": installed.current.installed_at if installed is not None else None,
        "commit": (installed.current.commit or None) if installed is not None else None,
        "package": (installed.current.package or None) if installed is not None else None,
        "integrity": (installed.current.integrity or None) if installed is not None else None,
        "signed_by": _signer(installed),
        "previous": installed.previous.version if installed is not None and installed.previous else None,
        "path": str(plugin.root),
        "skills": [plugin.full_name(file.name) for file in plugin.skills],
        "commands": [f"/{plugin.full_name(file.name)}" for file in plugin.commands],
        "agents": [plugin.full_name(file.name) for file in plugin.agents],
        "output_styles": [plugin.full_name(file.name) for file in plugin.styles],
        "hooks": sorted({event for events in plugin.hooks.values() for event in events}),
        "mcp_servers": [server.full_name for server in plugin.servers],
        "themes": [plugin.full_name(file.name) for file in plugin.themes],
        "notes": [*plugin.notes, *plugin.problems],
    }


def _signer(installed: InstalledPlugin | None) -> str | None:
    signed = installed.current.signed if installed is not None else None
    return signed.words if signed is not None else None


def _validate_market(root: Path, index: Path, invocation: Invocation) -> int:
    table = read_table(read_regular(index, max_bytes=MAX_JSON_BYTES), str(index))
    market = read_market(table, PluginSource(kind="folder", at=str(root)))
    problems = []
    for entry in market.entries:
        if entry.problem:
            problems.append(f"{entry.name}: {entry.problem}")
            continue
        source = entry.source
        if source is not None and source.kind == "folder" and not (root / source.inside).is_dir():
            problems.append(f"{entry.name}: {source.inside} is no folder of the marketplace")
    if invocation.values["json"]:
        value = {
            "name": market.name,
            "plugins": [entry.name for entry in market.entries],
            "problems": problems,
        }
        text = dumps(value).decode()
    else:
        text = f"marketplace {market.name}: {plural(len(market.entries), 'plugin')}"
    for problem in problems:
        complain(f"caliban: {problem}\n")
    return print_text(f"{visible(text)}\n") or (REFUSED if problems else 0)
