"""A plugin as it lies in a folder: its manifest, its parts by kind, and what of it does nothing here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from caliban_common.errors import CalibanError
from caliban_common.listing import files_in_folders, markdown_files
from caliban_plugins.errors import PluginFailed
from caliban_plugins.manifest import PluginManifest, read_manifest
from caliban_plugins.servers import PluginServer, read_servers
from caliban_plugins.table import JsonTable, read_table
from caliban_plugins.tree import is_file, is_folder, read_file

SKILL: Final = "SKILL.md"
HOOKS: Final = "hooks/hooks.json"
FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "skills": ("skills",),
    "commands": ("commands",),
    "agents": ("agents",),
    "styles": ("output-styles", "outputStyles"),
    "themes": ("themes",),
}
"""Where the parts of each kind are, unless the manifest says so."""
UNUSED: Final = (".lsp.json", "settings.json", "bin", "monitors", ".app.json")
"""What another harness takes from a plugin, and this one leaves."""


class PluginFile(Struct, frozen=True, kw_only=True):
    """A part that is a file: where it is, and what it is called within its plugin."""

    path: Path
    name: str

    def read(self, max_bytes: int) -> bytes:
        """What is in it. Raises `CalibanError`."""
        return read_file(self.path.parent, self.path.name, max_bytes=max_bytes)


class Plugin(Struct, frozen=True, kw_only=True):
    """A plugin at `root`. `hooks` are the tables of its files with hooks, a place -> events.

    `scope` says whose it is, `source` where it came from, `digest` what all of it was when a person agreed;
    it is empty for one that nobody was asked about. `data` is the folder that it may write to. `problems`
    are parts that are left out, `notes` what does nothing here.
    """

    manifest: PluginManifest
    root: Path
    scope: str = "user"
    source: str = ""
    digest: str = ""
    data: Path | None = None
    skills: tuple[PluginFile, ...] = ()
    commands: tuple[PluginFile, ...] = ()
    agents: tuple[PluginFile, ...] = ()
    styles: tuple[PluginFile, ...] = ()
    themes: tuple[PluginFile, ...] = ()
    hooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    servers: tuple[PluginServer, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What stands before the colon in the names of its parts."""
        return self.manifest.name

    def full_name(self, part: str) -> str:
        """The name of a part among those of everybody."""
        return f"{self.name}:{part}"

    @property
    def variables(self) -> dict[str, str]:
        """What its programs are told of their places, under the names of three harnesses."""
        places = dict.fromkeys(("CALIBAN_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"), str(self.root))
        if self.data is not None:
            names = ("CALIBAN_PLUGIN_DATA", "CLAUDE_PLUGIN_DATA", "PLUGIN_DATA")
            places |= dict.fromkeys(names, str(self.data))
        return places


def read_plugin(
    root: Path,
    *,
    given: JsonTable | None = None,
    scope: str = "user",
    source: str = "",
    data: Path | None = None,
) -> Plugin:
    """The plugin at `root`: nothing of it is run, and no part that cannot be read costs another.

    `given` is what a marketplace says of it. Raises `PluginFailed` and `FileFailed` where there is none.
    """
    manifest = read_manifest(root, given)
    reading = _Reading(root, manifest)
    return Plugin(
        manifest=manifest,
        root=root,
        scope=scope,
        source=source,
        data=data,
        skills=tuple(reading.skills()),
        commands=tuple(reading.files("commands", max_depth=4)),
        agents=tuple(reading.files("agents", max_depth=4)),
        styles=tuple(reading.files("styles")),
        themes=tuple(reading.themes()),
        hooks=dict(reading.hooks()),
        servers=read_servers(root, manifest, (reading.problems, reading.notes), data),
        problems=tuple(reading.problems),
        notes=(*manifest.notes, *reading.notes, *reading.unused()),
    )


class _Reading:
    """Reads the parts of one plugin, and notes what is wrong with some."""

    def __init__(self, root: Path, manifest: PluginManifest) -> None:
        self._root = root
        self._manifest = manifest
        self.problems: list[str] = []
        self.notes: list[str] = []

    def places(self, kind: str) -> tuple[str, ...]:
        """The paths of one kind: the usual folder, and what the manifest names."""
        named = self._manifest.where.get(kind, ())
        usual = tuple(path for path in FOLDERS[kind] if is_folder(self._root, path))
        if self._manifest.layout in ("own", "given") and named:
            usual = ()  # what is named there is all of it
        for path in named:
            if path != "." and not is_folder(self._root, path) and not is_file(self._root, path):
                self.problems.append(f"{self._manifest.name}: `{kind}` names {path}, which is not there")
        return tuple(dict.fromkeys((*usual, *named)))

    def skills(self) -> Iterator[PluginFile]:
        """Folders with a `SKILL.md`; a path may name one such folder, or a folder of them."""
        seen: set[Path] = set()
        for place in self.places("skills"):
            folder = self._root if place == "." else self._root / place
            if folder.name == SKILL:
                folder = folder.parent
            paths = (
                (folder / SKILL,)
                if (folder / SKILL).is_file()
                else self._listed(files_in_folders(folder, SKILL))
            )
            for path in paths:
                if path not in seen:
                    seen.add(path)
                    yield PluginFile(
                        path=path, name=path.parent.name if path.parent != self._root else self._manifest.name
                    )

    def files(self, kind: str, *, max_depth: int = 1) -> Iterator[PluginFile]:
        """Markdown files in the folders of one kind; folders are part of the name."""
        seen: set[Path] = set()
        for place in self.places(kind):
            path = self._root if place == "." else self._root / place
            if path.suffix == ".md" and path.is_file():
                files, top = [path], path.parent
            else:
                files, top = [*self._listed(markdown_files(path, max_depth=max_depth))], path
            for file in files:
                if file not in seen:
                    seen.add(file)
                    yield PluginFile(path=file, name=":".join(file.relative_to(top).with_suffix("").parts))

    def themes(self) -> Iterator[PluginFile]:
        """Files of themes, each name once."""
        seen: set[str] = set()
        for place in self.places("themes"):
            path = self._root if place == "." else self._root / place
            for file in sorted(path.iterdir()) if path.is_dir() else (path,):
                if file.suffix in (".toml", ".json") and file.is_file() and file.stem not in seen:
                    seen.add(file.stem)
                    yield PluginFile(path=file, name=file.stem)

    def hooks(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The tables of hooks by the file they stand in."""
        name = self._manifest.name
        if self._manifest.layout == "portable":
            return
        if self._manifest.hooks is not None:
            place = str(self._root / self._manifest.path)
            yield from self._events(JsonTable({"hooks": self._events_of(self._manifest.hooks)}, place))
        named = self._manifest.where.get("hooks", ())
        usual = (HOOKS,) if is_file(self._root, HOOKS) else ()
        for path in dict.fromkeys((*usual, *named)):
            place = str(self._root / path)
            try:
                data = read_file(self._root, path)
                yield from self._events(read_table(data, place))
            except CalibanError as error:
                self.problems.append(f"the hooks of {name} are left out: {error.message}")

    @staticmethod
    def _events_of(table: Mapping[str, Any]) -> Mapping[str, Any]:
        inner = table.get("hooks")
        return inner if isinstance(inner, dict) else table

    def _events(self, table: JsonTable) -> Iterator[tuple[str, Mapping[str, Any]]]:
        try:
            events = table.table("hooks")
        except PluginFailed as error:
            self.problems.append(f"the hooks of {self._manifest.name} are left out: {error.message}")
            return
        if events is None and table.values:
            events = JsonTable(
                {key: value for key, value in table.values.items() if key != "description"}, table.place
            )
        if events is not None and events.values:
            yield table.place, events.values

    def _listed(self, listing: Any) -> tuple[Path, ...]:
        self.problems += (f"{self._manifest.name}: {problem}" for problem in listing.problems)
        return tuple(listing.paths)

    def unused(self) -> Iterator[str]:
        """What lies in the plugin for another harness."""
        names = [name for name in UNUSED if is_file(self._root, name) or is_folder(self._root, name)]
        if names:
            yield f"{', '.join(names)} does nothing in this version"
