"""How plugins and indexes come here: folders, git, archives and addresses, none of them run.

Addresses are asked by the guard that WebFetch has: public hosts, and those that a person listed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from caliban.compose.access import web_hosts_of
from caliban.compose.host import Host
from caliban.compose.workspace import typed_path
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_common.paths import cache_dir
from caliban_plugins import PluginRecords, SignatureRefused, SourceFailed, unpack
from caliban_plugins.archive import MAX_ARCHIVE_BYTES, archive_root
from caliban_plugins.market import FILES, market_file
from caliban_plugins.npm import Packages, check_package, integrity_of
from caliban_plugins.paths import inner_path
from caliban_plugins.repository import Repositories
from caliban_plugins.signature import MAX_CHARS as MAX_SIGNATURE_CHARS
from caliban_plugins.signature import UNTRUSTED, SignedBy, read_public_key, verify_signature
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
DIGEST_CHARS: Final = 64
_HEADERS: Final[Mapping[str, str]] = {"accept": "application/octet-stream, application/json, */*;q=0.5"}


class FetchedTree(Struct, frozen=True, kw_only=True):
    """Where the files of a source are now, the commit or package that they are of, and who signed them."""

    root: Path
    commit: str = ""
    package: str = ""
    integrity: str = ""
    signed: SignedBy | None = None


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
        env = program_environment(host.environ, {})
        self._git = Repositories(host.runner, {**env, **agent})
        self._npm = Packages(host.runner, env)
        self._guard = EgressGuard(listed=web_hosts_of(settings))

    async def tree(self, source: PluginSource, staged: Path, keys: tuple[str, ...] = ()) -> FetchedTree:
        """The files of `source`, below `staged` but for a folder, which stays where it is.

        Where there are `keys`, one of them must have signed it. Raises `PluginFailed` and `FileFailed`.
        """
        place = staged / "tree"
        match source.kind:
            case "folder":
                refuse_unsigned(source, keys)
                return FetchedTree(root=_within(Path(source.at), source.inside))
            case "git":
                refuse_unsigned(source, keys)
                await self._check_host(source.at)
                return FetchedTree(commit=await self._git.fetch(source, place), root=place)
            case "archive":
                data = await self._archive(source)
                signed = await self._verified(data, source, keys)
                unpack(data, place, name=source.at)
                return FetchedTree(root=_within(archive_root(place), source.inside), signed=signed)
            case "npm":
                return await self._package(source, staged, keys)
            case "index":
                raise SourceFailed(f"{source.at} is an index, and no plugin")

    async def _package(self, source: PluginSource, staged: Path, keys: tuple[str, ...]) -> FetchedTree:
        await self._check_host(source.registry)
        data = await self._npm.fetch(source, staged / "npm")
        signed = await self._verified(data, source, keys)
        unpack(data, staged / "tree", name=source.words)
        root = archive_root(staged / "tree")
        version = check_package(root, source)
        return FetchedTree(
            root=root, package=f"{source.at}@{version}", integrity=integrity_of(data), signed=signed
        )

    async def _verified(self, data: bytes, source: PluginSource, keys: tuple[str, ...]) -> SignedBy | None:
        """Who signed an archive; `None` where nobody should have. Raises `SignatureRefused`."""
        if not source.signature:
            refuse_unsigned(source, keys)
            return None
        if not keys:
            raise SignatureRefused(
                f"{source.words}: it is signed, and no key is pinned that it could be verified by",
                hint="ask its owner for the public key: caliban plugin marketplace add PLACE --key KEY",
            )
        text = source.signature
        if not text.startswith(UNTRUSTED):
            try:
                text = (await self._signature(source.signature)).decode("ascii")
            except UnicodeDecodeError:
                raise SignatureRefused(f"{source.signature} is no signature of minisign") from None
        return verify_signature(data, text, keys, source.words)

    async def _signature(self, place: str) -> bytes:
        """The file with a signature. Raises `SignatureRefused` where it cannot be had."""
        try:
            if Path(place).is_absolute():
                return read_regular(Path(place), max_bytes=MAX_SIGNATURE_CHARS)
            return await self._download(place, MAX_SIGNATURE_CHARS)
        except CalibanError as error:
            raise SignatureRefused(
                f"the signature cannot be had: {error.message}", hint="without it nothing is installed"
            ) from error

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
            case "archive" | "npm":
                raise SourceFailed(f"{source.at} is an archive, and no marketplace")

    async def _archive(self, source: PluginSource) -> bytes:
        """The bytes of an archive; one that is pinned by its digest is kept, and not fetched again."""
        if Path(source.at).is_absolute():
            data = read_regular(Path(source.at), max_bytes=MAX_ARCHIVE_BYTES)
            return _pinned(data, source)
        kept = archive_cache() / source.sha256 if source.sha256 else None
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
        """Refuse a repository or registry at an address that may not be asked. Raises `SourceFailed`."""
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http"):
            return  # a path that a person typed, ssh, whose server knows the person, or a person's own
        scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
        try:
            port = parts.port or PORTS[scheme]
            await self._guard.addresses(Origin(scheme=scheme, host=parts.hostname or "", port=port))
        except InvalidRequest as error:
            raise SourceFailed(f"{url} cannot be fetched: {error.message}") from error
        except (OSError, ValueError) as error:
            raise SourceFailed(f"{url} cannot be found: {error}") from error


def archive_cache() -> Path:
    """Where archives that are pinned by their digest are kept, each under it."""
    return cache_dir() / "plugins"


def forget_archives(records: PluginRecords) -> None:
    """Remove the archives that are kept, but for those of the plugins that are installed.

    What is not called as one stays, for another process may be writing it; so does what cannot be removed.
    """
    named = {plugin.source.sha256 for plugin in records.plugins}
    folder = archive_cache()
    for path in folder.glob("?" * DIGEST_CHARS):
        if path.name not in named:
            with suppress(OSError):
                path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def refuse_unsigned(source: PluginSource, keys: tuple[str, ...]) -> None:
    """Refuse what is not signed although a key is pinned. Raises `SignatureRefused`."""
    if not keys:
        return
    ids = ", ".join(read_public_key(key).key_id for key in keys)
    raise SignatureRefused(
        f"{source.words}: it is not signed, and the key {ids} is pinned for what comes from there",
        hint="nothing was installed: ask its owner for an archive with a signature",
    )


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
    digest = sha256(data).hexdigest()
    if source.sha256 and digest != source.sha256:
        raise SourceFailed(
            f"{source.at} is not what it should be: its sha256 is {digest}, not {source.sha256}",
            hint="whoever offers it has changed it, or somebody in between has",
        )
    return data


def _redirected(url: str, target: str) -> str:
    """Where a redirect leads: never from https to anything else."""
    address = urljoin(url, target)
    if urlsplit(address).scheme != urlsplit(url).scheme or urlsplit(address).username is not None:
        raise SourceFailed(f"{url} redirects to what is not asked")
    return address


def local_path(text: str) -> str:
    """A path that a person typed, as it is written down."""
    return os.path.realpath(typed_path(text))
