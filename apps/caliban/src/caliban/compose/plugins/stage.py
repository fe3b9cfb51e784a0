"""A plugin fetched, copied and looked at, before anybody is asked about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.plugins.chosen import plugin_problem
from caliban.compose.plugins.fetch import FetchedTree, Fetcher
from caliban.compose.plugins.parts import part_problems
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_plugins import (
    Capability,
    ManifestRefused,
    Plugin,
    PluginStore,
    SignatureRefused,
    capabilities,
    read_plugin,
    tree_digest,
)
from caliban_plugins.market import MarketEntry
from caliban_plugins.record import InstalledPlugin, InstalledVersion
from caliban_plugins.signature import SignedBy
from caliban_plugins.source import PluginSource
from caliban_plugins.table import JsonTable
from caliban_plugins.tree import TreeFile, copy_tree, read_file

POINTER: Final = b"version https://git-lfs.github.com/spec/"
MAX_POINTER_BYTES: Final = 1024


class StagedPlugin(Struct, frozen=True, kw_only=True):
    """A plugin as it was fetched; `place` is a copy of just its files, `entry` what its list says of it."""

    plugin: Plugin
    place: Path
    source: PluginSource
    digest: str
    manifest_sha256: str
    parts: tuple[Capability, ...]
    fetched: FetchedTree
    marketplace: str = ""
    entry: MarketEntry | None = None
    notes: tuple[str, ...] = ()

    @property
    def commit(self) -> str:
        """What git found; empty for what did not come by git."""
        return self.fetched.commit

    @property
    def signed(self) -> SignedBy | None:
        """Who signed it."""
        return self.fetched.signed

    @property
    def acts(self) -> bool:
        """Whether any of it runs, steers or locks something."""
        return any(part.acts for part in self.parts)

    def version(self, stamp: str) -> InstalledVersion:
        """What is written down of it."""
        return InstalledVersion(
            version=self.plugin.manifest.version or (self.entry.version if self.entry is not None else ""),
            digest=self.digest,
            manifest_sha256=self.manifest_sha256,
            stamp=stamp,
            installed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            commit=self.commit,
            package=self.fetched.package,
            integrity=self.fetched.integrity,
            signed=self.signed,
            given=None if self.entry is None else self.entry.given,
            parts=tuple(replace(part, shown="") for part in self.parts),
        )

    def install(self, store: PluginStore) -> InstalledPlugin:
        """Move it to its place; what is to be written down of it."""
        stamp = store.put(self.plugin.name, self.place, self.digest)
        return InstalledPlugin(
            name=self.plugin.name,
            source=self.source,
            current=self.version(stamp),
            marketplace=self.marketplace,
        )


async def stage(
    fetcher: Fetcher,
    source: PluginSource,
    staged: Path,
    *,
    entry: MarketEntry | None = None,
    marketplace: str = "",
    keys: tuple[str, ...] = (),
) -> StagedPlugin:
    """Fetch the plugin at `source` into the folder `staged`, and read it; one of `keys` must have signed it.

    Raises `PluginFailed`.
    """
    fetched = await fetcher.tree(source, staged, keys)
    place = staged / "plugin"
    files = copy_tree(fetched.root, place)
    given = JsonTable(entry.given, entry.name) if entry is not None and entry.given is not None else None
    try:
        plugin = read_plugin(place, given=given)
    except CalibanError as error:  # nobody knows the folder that it was copied to
        error.message = error.message.replace(f"{place}/", "").replace(str(place), source.words)
        raise
    if entry is not None:
        _check_entry(plugin, entry)
    if fetched.signed is not None and plugin.manifest.layout == "given":
        raise SignatureRefused(
            f"{plugin.name}: its archive is signed and has no manifest, and what its list says of it is not "
            "signed: nothing is installed"
        )
    problem = plugin_problem(plugin)
    if problem:
        raise ManifestRefused(f"{plugin.name} is not for here: {problem}")
    notes = [*part_problems(plugin), *plugin.notes, *_pointers(place, files)]
    path = plugin.manifest.path
    manifest = read_file(place, path) if path else b""
    return StagedPlugin(
        plugin=plugin,
        place=place,
        source=source,
        digest=tree_digest(files),
        manifest_sha256=sha256(manifest).hexdigest(),
        parts=capabilities(plugin, files),
        fetched=fetched,
        marketplace=marketplace,
        entry=entry,
        notes=tuple(note.replace(str(place), plugin.name) for note in notes),
    )


def _pointers(place: Path, files: Sequence[TreeFile]) -> Iterator[str]:
    """Files of git LFS, of which a repository has the addresses alone."""
    for file in files:
        if file.size_bytes <= MAX_POINTER_BYTES and read_file(place, file.path).startswith(POINTER):
            yield f"{file.path} is a pointer of git LFS: what it stands for is not fetched"


def _check_entry(plugin: Plugin, entry: MarketEntry) -> None:
    """What a list says of a plugin must be so. Raises `ManifestRefused`."""
    if plugin.name != entry.name:
        raise ManifestRefused(
            f"the plugin that is offered as {entry.name} calls itself {plugin.name}: nothing is installed"
        )
    own, listed = plugin.manifest.version, entry.version
    if own and listed and own != listed and entry.given is None:
        raise ManifestRefused(
            f"{entry.name} is offered as version {one_line(listed, max_chars=40)}, and says that it is "
            f"{one_line(own, max_chars=40)}"
        )
