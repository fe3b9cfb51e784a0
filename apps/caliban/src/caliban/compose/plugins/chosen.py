"""The plugins that count in a run, in the order in which they take a name, and why others do not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.plugins.places import OWN, OWN_NAMES, folders_in, plugin_store
from caliban.compose.plugins.policy import is_enabled, named_in_vain, source_problem
from caliban.compose.project import ALLOWED, Project
from caliban.compose.workspace import typed_path
from caliban.errors import ConfigError, MissingError
from caliban.version import VERSION
from caliban_common.errors import CalibanError
from caliban_common.paths import managed_settings_dir
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_plugins import Plugin, PluginRecords, PluginStore, StoreUnusable, read_plugin, read_tree
from caliban_plugins.record import InstalledPlugin
from caliban_plugins.source import PluginSource
from caliban_plugins.store import check_owned
from caliban_plugins.table import JsonTable

PLATFORMS: Final[Mapping[str, str]] = {"darwin": "macos", "win32": "windows"}


class PluginInputs(Struct, frozen=True, kw_only=True):
    """What the choice of plugins goes by."""

    project: Project
    options: Options
    workspace: Path
    environ: Mapping[str, str]
    report: Report


def find_plugins(inputs: PluginInputs) -> Project:
    """The project with its plugins. Raises `ConfigError` and `MissingError`."""
    finder = _Finder(inputs)
    plugins = finder.chosen()
    for words in finder.problems:
        inputs.report(Notice(subtype="plugin", message=words))
    return replace(inputs.project, plugins=plugins)


def plugin_problem(plugin: Plugin) -> str:
    """Why a plugin is not for this program or this system; empty where it is."""
    manifest = plugin.manifest
    here = PLATFORMS.get(sys.platform, "linux")
    if manifest.platforms and here not in manifest.platforms:
        return f"it is for {', '.join(manifest.platforms)}"
    if manifest.min_version and _numbers(manifest.min_version) > _numbers(VERSION):
        return f"it needs version {one_line(manifest.min_version, max_chars=40)} of this program"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.partition("-")[0].partition("+")[0].split(".")
    return tuple(int(part) if part.isascii() and part.isdecimal() and len(part) < 9 else 0 for part in parts)


class _Finder:
    def __init__(self, inputs: PluginInputs) -> None:
        self._inputs = inputs
        self._settings = inputs.project.settings
        self._store = plugin_store()
        self._known: set[str] = set()
        self.problems: list[str] = []

    def chosen(self) -> tuple[Plugin, ...]:
        """Each name once: what a flag names, the project's, a person's, the administrator's."""
        plugins: dict[str, Plugin] = {}
        for plugin in self._every():
            why = plugin_problem(plugin)
            if why:
                self.problems.append(f"the plugin {plugin.name} is left out: {why}")
            elif plugin.name in plugins:
                first = plugins[plugin.name]
                self.problems.append(
                    f"the {plugin.scope} plugin {plugin.name} is left out: that of the {first.scope} has "
                    "its name"
                )
            else:
                plugins[plugin.name] = plugin
                self.problems += (f"the plugin {plugin.name}: {words}" for words in plugin.problems)
        for name in named_in_vain(self._settings, self._inputs.environ, self._known | set(plugins)):
            words = f"the plugin {name} is to be enabled, and is not installed: caliban plugin list"
            self.problems.append(words)
        return tuple(plugins.values())

    def _every(self) -> Iterator[Plugin]:
        options = self._inputs.options
        yield from self._of_flags()
        if options.settings.bare:
            return
        try:
            records = self._store.records()
        except StoreUnusable as error:
            raise ConfigError(
                error.message, hint=error.hint or "run without plugins: --no-plugins"
            ) from error
        yield from self._of_project(records)
        yield from self._of_person(records)
        yield from self._of_administrator()
        self._known |= {name for plugin in records.plugins for name in (plugin.name, plugin.id)}
        self._known |= {file.name for file in self._inputs.project.files.plugins}

    def _of_flags(self) -> Iterator[Plugin]:
        for text in self._inputs.options.extensions.plugin_dir:
            path = typed_path(text)
            if not path.is_dir():
                raise MissingError(f"--plugin-dir: {one_line(text, max_chars=200)} is not a directory")
            problem = self._not_from(path)
            if problem:
                raise ConfigError(f"--plugin-dir: {problem}", hint="run without it")
            try:
                read_tree(path)
                plugin = read_plugin(path.resolve(), scope="flag", source=str(path))
            except CalibanError as error:
                raise ConfigError(f"--plugin-dir: {error.message}", hint=error.hint) from error
            yield replace(plugin, data=self._store.data(plugin.name))

    def _not_from(self, path: Path) -> str:
        """Why no plugin may lie in a folder; empty where one may."""
        source = PluginSource(kind="folder", at=str(path.resolve()))
        return source_problem(source, "", self._settings, self._inputs.environ, PluginRecords())

    def _of_project(self, records: PluginRecords) -> Iterator[Plugin]:
        """Those of a trusted project that a person has agreed to one by one, as they are."""
        project, root = self._inputs.project, str(self._inputs.workspace)
        agreed = {(one.name, one.digest) for one in records.projects if one.root == root}
        for file in project.files.plugins:
            if not project.trust.counts:
                self.problems.append(f"the plugin in {file.path} is not used {ALLOWED}")
                continue
            if (file.name, file.data.decode()) not in agreed:
                self.problems.append(
                    f"the plugin in {file.path} is not used until you agree to it as it is: "
                    f"caliban plugin enable {file.name}"
                )
                continue
            problem = self._not_from(file.path)
            if problem:
                self.problems.append(f"the plugin {file.name} is left out: {problem}")
                continue
            yield from self._read(file.path, "project", digest=file.data.decode(), name=file.name)

    def _of_person(self, records: PluginRecords) -> Iterator[Plugin]:
        for plugin in records.plugins:
            if not is_enabled(plugin, self._settings, self._inputs.environ):
                continue
            problem = source_problem(
                plugin.source, plugin.marketplace, self._settings, self._inputs.environ, records
            )
            if problem:
                self.problems.append(f"the plugin {plugin.name} is left out: {problem}")
            elif not self._store.is_whole(plugin):
                self.problems.append(
                    f"the plugin {plugin.name} is left out: its files are not those that you agreed to; "
                    "install it again"
                )
            else:
                yield from self._installed(plugin)
        yield from self._put_there()

    def _installed(self, plugin: InstalledPlugin) -> Iterator[Plugin]:
        version = plugin.current
        given = JsonTable(version.given, plugin.id) if version.given is not None else None
        try:
            read = read_plugin(
                self._store.root_of(plugin),
                given=given,
                source=plugin.id,
                data=self._store.data(plugin.name),
            )
        except CalibanError as error:
            self.problems.append(f"the plugin {plugin.name} is left out: {error.message}")
            return
        yield replace(read, digest=version.digest)

    def _put_there(self) -> Iterator[Plugin]:
        """Folders that nobody installed: named, and left."""
        root = self._store.root
        if root.is_dir():
            for path in folders_in(root, root, self.problems):
                if path.name not in OWN_NAMES:
                    self.problems.append(
                        f"the plugin in {path} is not used: nobody was asked; caliban plugin install --dir "
                        f"{path} asks"
                    )
        yield from ()

    def _of_administrator(self) -> Iterator[Plugin]:
        folder = managed_settings_dir() / OWN
        if not folder.is_dir():
            return
        for path in folders_in(folder, folder, self.problems):
            try:
                check_owned(folder, folder.lstat(), of_root=True)
                check_owned(path, path.lstat(), of_root=True)
            except StoreUnusable as error:
                self.problems.append(error.message)
                continue
            yield from self._read(path, "managed", name=path.name)

    def _read(self, path: Path, scope: str, *, name: str, digest: str = "") -> Iterator[Plugin]:
        try:
            plugin = read_plugin(path, scope=scope, source=str(path))
        except CalibanError as error:
            self.problems.append(f"the plugin in {path} is left out: {error.message}")
            return
        if plugin.name != name:
            self.problems.append(
                f"the plugin in {path} is left out: its folder must have its name, {plugin.name}"
            )
            return
        yield replace(plugin, digest=digest, data=self._data(scope, name))

    def _data(self, scope: str, name: str) -> Path:
        return PluginStore(self._store.root).data(name if scope == "managed" else f"{scope}-{name}")
