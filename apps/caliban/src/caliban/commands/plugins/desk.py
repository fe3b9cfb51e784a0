"""What the plugin commands share: the store, the settings and the fetcher."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.compose.host import Host, this_host
from caliban.compose.plugins.fetch import Fetcher, local_path
from caliban.compose.plugins.places import plugin_store
from caliban.compose.plugins.policy import KEYS, settled_keys, source_problem
from caliban.compose.project import Project, open_project
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, ConfigError
from caliban.faces.cancellable import run_cancellable
from caliban_common.files import read_regular
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_plugins import (
    InstalledPlugin,
    Marketplace,
    PluginFailed,
    PluginStore,
    StoreUnusable,
    read_market,
)
from caliban_plugins.record import KnownMarketplace
from caliban_plugins.signature import read_public_key
from caliban_plugins.source import PluginSource, archive_source, git_source
from caliban_plugins.table import MAX_JSON_BYTES, read_table
from caliban_settings import Settings

MAX_KEY_CHARS: Final = 1_000


class PluginDesk(Struct, frozen=True, kw_only=True):
    """What one command works with."""

    invocation: Invocation
    workspace: Path
    project: Project
    host: Host
    store: PluginStore
    fetcher: Fetcher

    @property
    def settings(self) -> Settings:
        """The settings that count."""
        return self.project.settings

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment."""
        return self.host.environ

    def check_source(self, source: PluginSource, name: str = "") -> None:
        """Raise `CommandRefused` where nothing may come from there."""
        problem = source_problem(source, name, self.settings, self.environ, self.store.records())
        if problem:
            raise CommandRefused(f"{problem}: nothing was fetched")

    def installed(self, name: str) -> InstalledPlugin:
        """The plugin that a person named. Raises `CommandRefused`."""
        return installed_plugin(self.store, name)

    def known(self, name: str) -> KnownMarketplace:
        """The marketplace that a person named. Raises `CommandRefused`."""
        records = self.store.records()
        market = records.marketplace(name)
        if market is None:
            near = did_you_mean(name, [one.name for one in records.marketplaces])
            raise CommandRefused(
                f"there is no marketplace {one_line(name, max_chars=80)}",
                hint=near or "caliban plugin marketplace add adds one",
            )
        return market

    def keys(self, name: str) -> tuple[str, ...]:
        """The public keys that count for the marketplace `name`: of the settings, else the pinned ones."""
        return settled_keys(self.settings, name) or self.pinned(name)

    def pinned(self, name: str) -> tuple[str, ...]:
        """The public keys that a person pinned with the marketplace `name`; none where it was not added."""
        known = self.store.records().marketplace(name)
        return known.keys if known is not None else ()

    def typed_key(self, text: str, name: str) -> str:
        """The public key that a person wrote, or that is in the file of that name, for a marketplace.

        Raises `PluginFailed`, and `CommandRefused` where the settings name others.
        """
        path = Path(local_path(text)) if len(text) < MAX_KEY_CHARS else None
        if path is not None and path.is_file():
            text = read_regular(path, max_bytes=MAX_KEY_CHARS).decode("utf-8", "replace")
        key, settled = read_public_key(text).text, settled_keys(self.settings, name)
        if settled and key not in settled:
            raise CommandRefused(f"{KEYS}.{name} of the settings has other keys: {key} does not count")
        return key

    def market(self, place: str) -> tuple[Marketplace, str]:
        """The marketplace called `place`, as it was read last, or the one at that address; and its name.

        Raises `CommandRefused` and `PluginFailed`.
        """
        known = self.store.records().marketplace(place)
        if known is None and not any(mark in place for mark in ("/", ":", "\\")):
            self.known(place)
        if known is None:
            source = place_source(place)
            self.check_source(source)
            market, _ = self.read(source)
            return market, market.name
        self.check_source(known.source, known.name)
        if known.source.kind == "folder":
            return self.read(known.source)[0], known.name
        path = self.store.index(known.name)
        data = read_regular(path, max_bytes=MAX_JSON_BYTES)
        if sha256(data).hexdigest() != known.sha256:
            raise CommandRefused(
                f"{path} is not the index that was read",
                hint=f"caliban plugin marketplace update {known.name} reads it again",
            )
        return read_market(read_table(data, str(path)), based(known)), known.name

    def read(self, source: PluginSource) -> tuple[Marketplace, KnownMarketplace]:
        """The marketplace at `source`, asked now, and what is to be written down of it."""
        return self.fetch(source)[:2]

    def fetch(self, source: PluginSource) -> tuple[Marketplace, KnownMarketplace, bytes]:
        """The same, and the bytes of its index. Raises `CommandRefused` and `PluginFailed`."""
        index = run_cancellable(partial(self.fetcher.index, source), self.invocation.signals)
        if len(index.data) > MAX_JSON_BYTES:
            raise CommandRefused(f"{index.place} has more than {MAX_JSON_BYTES:,} bytes")
        known = KnownMarketplace(
            name="",
            source=source,
            sha256=sha256(index.data).hexdigest(),
            updated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            commit=index.commit,
        )
        market = read_market(read_table(index.data, index.place), based(known))
        return market, replace(known, name=market.name, keys=self.pinned(market.name)), index.data


def no_plugin(name: str, names: Iterable[str]) -> CommandRefused:
    """The error of a plugin that is none of `names`."""
    near = did_you_mean(name, names)
    return CommandRefused(
        f"there is no plugin {one_line(name, max_chars=80)}", hint=near or "caliban plugin list"
    )


def installed_plugin(store: PluginStore, name: str) -> InstalledPlugin:
    """The plugin of this name in `store`. Raises `CommandRefused`, `ConfigError`."""
    with told():
        records = store.records()
    plugin = records.plugin(name)
    if plugin is None:
        raise no_plugin(name, [one.name for one in records.plugins])
    return plugin


def based(known: KnownMarketplace) -> PluginSource:
    """Where the paths of a marketplace begin: for a repository, the commit that its index is of."""
    return replace(known.source, commit=known.commit) if known.commit else known.source


def place_source(place: str) -> PluginSource:
    """The marketplace that a person wrote as `place`. Raises `CommandRefused` and `PluginFailed`."""
    is_path = place.startswith(("/", "./", "../", "~")) or place in (".", "..")
    if is_path:
        path = local_path(place)
        if not Path(path).is_dir():
            raise CommandRefused(f"{one_line(place, max_chars=200)} is not a directory")
        is_repository = not (Path(path) / ".git").exists() and (Path(path) / "HEAD").is_file()
        return git_source(path, local=True) if is_repository else PluginSource(kind="folder", at=path)
    if place.startswith(("https://", "http://")) and not place.endswith(".git"):
        if place.startswith(("https://github.com/", "https://gitlab.com/")) and not place.endswith(".json"):
            return git_source(place)
        checked = archive_source(place)
        return PluginSource(kind="index", at=checked.at)
    return git_source(place)


@contextmanager
def told() -> Iterator[None]:
    """Turn the package's errors into those of a command: exit 1, or 78 for an unusable store."""
    try:
        yield
    except StoreUnusable as error:
        raise ConfigError(error.message, hint=error.hint) from error
    except PluginFailed as error:
        raise CommandRefused(error.message, hint=error.hint) from error


def open_desk(invocation: Invocation) -> PluginDesk:
    """The desk of one command. Raises `ConfigError`."""
    options = invocation.options
    workspace = build_workspace(options.workspace.workspace)
    project = open_project(options.settings, workspace)
    host = this_host()
    return PluginDesk(
        invocation=invocation,
        workspace=workspace,
        project=project,
        host=host,
        store=plugin_store(),
        fetcher=Fetcher(host, project.settings),
    )
