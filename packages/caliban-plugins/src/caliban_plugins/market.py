"""Lists of plugins: Claude's `marketplace.json`, and the index of the guide. Both become one value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_plugins.errors import ManifestRefused, MarketplaceRefused
from caliban_plugins.manifest import check_name
from caliban_plugins.paths import shown_path
from caliban_plugins.source import (
    SIGNATURE,
    PluginSource,
    archive_source,
    refuse_unverified,
    signature_of,
    signed,
    source_of,
)
from caliban_plugins.table import JsonTable

FILES: Final = (".claude-plugin/marketplace.json", "marketplace.json", ".plugin/marketplace.json")
MAX_ENTRIES: Final = 5_000


class MarketEntry(Struct, frozen=True, kw_only=True):
    """A plugin on offer. `given` describes one without a manifest; `problem` says why it cannot be had."""

    name: str
    version: str = ""
    description: str = ""
    source: PluginSource | None = None
    min_version: str = ""
    given: Mapping[str, Any] | None = None
    problem: str = ""


class Marketplace(Struct, frozen=True, kw_only=True):
    """A list of plugins, by its own name. `public_key` is the one that it names: its own word alone."""

    name: str
    entries: tuple[MarketEntry, ...] = ()
    place: str = ""
    public_key: str = ""

    def find(self, name: str) -> MarketEntry:
        """The entry `name`. Raises `MarketplaceRefused`."""
        entry = next((entry for entry in self.entries if entry.name == name), None)
        if entry is None:
            near = did_you_mean(name, [entry.name for entry in self.entries])
            raise MarketplaceRefused(f"{self.name} has no plugin {shown_path(name)}", hint=near or None)
        if entry.problem or entry.source is None:
            raise MarketplaceRefused(f"{name} of {self.name} cannot be had: {entry.problem}")
        return entry


def read_market(table: JsonTable, base: PluginSource | None) -> Marketplace:
    """The marketplace in `table`, which lies at `base`. An entry that says nonsense costs no other.

    Raises `ManifestRefused`, and `SignatureRefused` where the list itself is signed.
    """
    name = check_name(table.text("name", required=True), table)
    refuse_unverified(table, SIGNATURE)
    metadata = table.table("metadata")
    root = metadata.paths("pluginRoot") if metadata is not None else ()
    rows = table.values.get("plugins", [])
    if not isinstance(rows, list):
        raise table.error("plugins", "must be a list of objects")
    if len(rows) > MAX_ENTRIES:
        raise table.error("plugins", f"has more than {MAX_ENTRIES:,} entries")
    entries: dict[str, MarketEntry] = {}
    below = "" if not root or root[0] == "." else root[0]
    for at, row in enumerate(rows):
        entry = _entry(row, f"{table.place}: `plugins[{at}]`", base, below)
        if entry.name in entries:
            number = f"plugins[{at}]"
            entry = MarketEntry(name=number, problem=f"{table.place}: {entry.name} stands there before")
        entries[entry.name] = entry
    return Marketplace(
        name=name,
        entries=tuple(entries.values()),
        place=table.place,
        public_key=table.text("public_key"),
    )


def market_file(root: Path) -> Path:
    """The index in a folder. Raises `ManifestRefused`."""
    for name in FILES:
        if (root / name).is_file():
            return root / name
    raise ManifestRefused(f"{root} is no marketplace: there is none of {', '.join(FILES)}")


def _entry(value: object, place: str, base: PluginSource | None, root: str) -> MarketEntry:
    """An entry, whatever is wrong with it: one that cannot be had has a problem, and a name to be told by."""
    if not isinstance(value, dict):
        return MarketEntry(name=place.rpartition(" ")[2].strip("`"), problem=f"{place} is no object")
    row, given = JsonTable(value, place), value.get("name")
    name = one_line(given, max_chars=64) if isinstance(given, str) and given.strip() else ""
    name = name or place.rpartition(" ")[2].strip("`")
    try:
        check_name(row.text("name", required=True), row)
        if "source" in row.values:
            return MarketEntry(
                name=name,
                version=row.text("version"),
                description=row.text("description"),
                source=source_of(row, base, root),
                given=row.values,
            )
        return _released(name, row)
    except CalibanError as error:
        return MarketEntry(name=name, problem=error.message)


def _released(name: str, row: JsonTable) -> MarketEntry:
    """An entry of the guide's index: archives by version, the last of them the newest."""
    versions = row.tables("versions")
    newest = versions[-1] if versions else row
    url = newest.text("tarball") or newest.text("download_url") or row.text("download_url", required=True)
    digest = newest.text("sha256") or (row.text("sha256") if newest is row else "")
    if not digest:
        raise newest.error("sha256", "is missing: an archive without a digest is not taken")
    source = archive_source(url, sha256=digest.lower())
    return MarketEntry(
        name=name,
        version=newest.text("version"),
        description=row.text("description"),
        source=signed(source, signature_of(newest) or signature_of(row), newest),
        min_version=newest.text("min_caliban"),
    )
