"""How plugins and indexes come here: folders, git, archives and addresses, none of them run.

Addresses are asked by the guard that WebFetch has: public hosts, and those that a person listed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from caliban.compose.host import Host
from caliban.compose.permissions import web_hosts_of
from caliban.compose.workspace import typed_path
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_common.paths import cache_dir
from caliban_plugins import SourceFailed, unpack
from caliban_plugins.archive import MAX_ARCHIVE_BYTES, archive_root
from caliban_plugins.market import FILES, market_file
from caliban_plugins.paths import inner_path
from caliban_plugins.repository import Repositories
from caliban_plugins.source import PluginSource
from caliban_plugins.table import MAX_JSON_BYTES
from caliban_process.environ import program_environment
from caliban_provider.connection import PORTS, Origin
from caliban_provider.egress import EgressGuard
from caliban_provider.errors import InvalidRequest, ProviderError
from caliban_provider.http import HttpClient
from caliban_settings import Settings

MAX_REDIRECTS: Final = 5
_MOVED: Final = (301, 302, 303, 307, 308)
_HEADERS: Final[Mapping[str, str]] = {"accept": "application/octet-stream, application/json, */*;q=0.5"}


class FetchedTree(Struct, frozen=True, kw_only=True):
    """Where the files of a source are now, and the commit that they are of."""

    root: Path
    commit: str = ""


class FetchedIndex(Struct, frozen=True, kw_only=True):
    """An index as it was read, and the commit that it is of."""

    data: bytes
    place: str
    commit: str = ""


class Fetcher:
    """Fetches sources, with the programs and the addresses that a person's settings allow."""

    def __init__(self, host: Host, settings: Settings) -> None:
        # git finds a person's keys by an agent: it is asked for nothing else.
        agent = {name: host.environ[name] for name in ("SSH_AUTH_SOCK",) if name in host.environ}
        self._git = Repositories(host.runner, {**program_environment(host.environ, {}), **agent})
        self._guard = EgressGuard(listed=web_hosts_of(settings))

    async def tree(self, source: PluginSource, staged: Path) -> FetchedTree:
        """The files of `source`, below `staged` but for a folder, which stays where it is.

        Raises `PluginFailed` and `FileFailed`.
        """
        match source.kind:
            case "folder":
                return FetchedTree(root=_within(Path(source.at), source.inside))
            case "git":
                await self._check_host(source.at)
                place = staged / "tree"
                return FetchedTree(commit=await self._git.fetch(source, place), root=place)
            case "archive":
                place = staged / "tree"
                unpack(await self._archive(source), place, name=source.at)
                return FetchedTree(root=_within(archive_root(place), source.inside))
            case "index":
                raise SourceFailed(f"{source.at} is an index, and no plugin")

    async def index(self, source: PluginSource) -> FetchedIndex:
        """The index of a marketplace. Raises `PluginFailed` and `FileFailed`."""
        match source.kind:
            case "folder":
                path = market_file(_within(Path(source.at), source.inside))
                return FetchedIndex(data=read_regular(path, max_bytes=MAX_JSON_BYTES), place=str(path))
            case "git":
                await self._check_host(source.at)
                data, name, commit = await self._git.read_file(source, FILES)
                return FetchedIndex(data=data, place=f"{source.at}: {name}", commit=commit)
            case "index":
                data = await self._download(source.at, MAX_JSON_BYTES)
                return FetchedIndex(data=data, place=source.at)
            case "archive":
                raise SourceFailed(f"{source.at} is an archive, and no marketplace")

    async def _archive(self, source: PluginSource) -> bytes:
        """The bytes of an archive; one that is pinned by its digest is kept, and not fetched again."""
        if Path(source.at).is_absolute():
            data = read_regular(Path(source.at), max_bytes=MAX_ARCHIVE_BYTES)
            return _pinned(data, source)
        kept = cache_dir() / "plugins" / source.sha256 if source.sha256 else None
        if kept is not None:
            try:
                return _pinned(read_regular(kept, max_bytes=MAX_ARCHIVE_BYTES), source)
            except CalibanError:
                pass  # it is not there, or not what it should be: it is fetched
        data = _pinned(await self._download(source.at, MAX_ARCHIVE_BYTES), source)
        if kept is not None:
            ensure_private_dir(kept.parent)
            write_atomic(kept, data, durable=False)
        return data

    async def _download(self, url: str, max_bytes: int) -> bytes:
        client = HttpClient(connect_s=10.0, read_s=60.0, guard=self._guard)
        try:
            for _ in range(MAX_REDIRECTS + 1):
                async with client.stream("GET", url, headers=_HEADERS) as answer:
                    target = answer.headers.get("location", "")
                    if answer.status in _MOVED and target:
                        url = _redirected(url, target)
                        continue
                    if answer.status != 200:
                        raise SourceFailed(f"{url} answered {answer.status}")
                    data = await answer.read(max_bytes + 1)
                if len(data) > max_bytes:
                    raise SourceFailed(f"{url} has more than {max_bytes:,} bytes")
                return data
        except ProviderError as error:
            raise SourceFailed(f"{url} cannot be fetched: {error.message}") from error
        finally:
            await client.aclose()
        raise SourceFailed(f"{url} redirects more than {MAX_REDIRECTS} times")

    async def _check_host(self, url: str) -> None:
        """Refuse a repository at an address that may not be asked. Raises `SourceFailed`."""
        parts = urlsplit(url)
        if parts.scheme != "https":
            return  # a path that a person typed, or ssh, whose server knows the person
        try:
            await self._guard.addresses(
                Origin(scheme="https", host=parts.hostname or "", port=parts.port or PORTS["https"])
            )
        except InvalidRequest as error:
            raise SourceFailed(f"{url} cannot be fetched: {error.message}") from error
        except (OSError, ValueError) as error:
            raise SourceFailed(f"{url} cannot be found: {error}") from error


def _within(root: Path, inside: str) -> Path:
    if not inside:
        return root
    place = root
    for part in inner_path(inside).split("/"):
        place = place / part
        if place.is_symlink() or not place.is_dir():
            raise SourceFailed(f"{root}: {inside} is no folder in it")
    return place


def _pinned(data: bytes, source: PluginSource) -> bytes:
    found = sha256(data).hexdigest()
    if source.sha256 and found != source.sha256:
        raise SourceFailed(
            f"{source.at} is not what it should be: its sha256 is {found}, not {source.sha256}",
            hint="whoever offers it has changed it, or somebody in between has",
        )
    return data


def _redirected(url: str, target: str) -> str:
    """Where a redirect leads: never from https to anything else."""
    found = urljoin(url, target)
    if urlsplit(found).scheme != urlsplit(url).scheme or urlsplit(found).username is not None:
        raise SourceFailed(f"{url} redirects to what is not asked")
    return found


def local_path(text: str) -> str:
    """A path that a person typed, as it is written down."""
    return os.path.realpath(typed_path(text))
