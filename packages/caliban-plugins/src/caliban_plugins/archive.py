"""Archives unpacked by our own hand: every member is looked at before a byte of it is written.

The filters of the standard library are not relied on: some repair what is to be refused, and some have been
passed. Members are files and folders with relative clean unique names; modes are 0644 and 0755.
"""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from gzip import GzipFile
from pathlib import Path
from typing import IO, Any, Final

from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir
from caliban_plugins.errors import ArchiveRefused, TreeRefused
from caliban_plugins.paths import shown_path
from caliban_plugins.table import PAGE_HINT
from caliban_plugins.tree import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TREE_BYTES,
    WORDS_FOR_AGENTS,
    Bounds,
    write_file,
)

MAX_ARCHIVE_BYTES: Final = 64 << 20
HEADERS_BYTES: Final = 16 << 20
"""What a tar may hold beside its files: headers, long names, padding."""
UNPACKED: Final = (
    (b"\xfd7zXZ\x00", "xz"),
    (b"(\xb5/\xfd", "zstandard"),
    (b"7z\xbc\xaf", "7z"),
    (b"Rar!", "rar"),
)
"""How archives begin that are not taken apart here."""
_DIRECTORY: Final = b"PK\x01\x02"


def unpack(data: bytes, target: Path, *, name: str = "the archive") -> None:
    """Write the members of an archive (tar, tar.gz, tar.bz2, zip) below `target`, a new folder.

    Nothing is written before all of it was looked at. Raises `ArchiveRefused` and `FileFailed`.
    """
    if len(data) > MAX_ARCHIVE_BYTES:
        raise ArchiveRefused(f"{name} has more than {MAX_ARCHIVE_BYTES:,} bytes")
    if data[:1024].lstrip()[:1] == b"<":
        raise ArchiveRefused(f"{name} is a web page, and no archive", hint=PAGE_HINT)
    members = _zip_members if data.startswith(b"PK") else _tar_members
    bounds = Bounds(name)
    kinds: dict[str, bool] = {}
    files: list[tuple[str, bytes, bool]] = []
    try:
        for raw, content, executable in members(data, name):
            path = _noted(raw, kinds, bounds, is_folder=content is None)
            if content is None:
                continue
            bounds.size(path, len(content))
            files.append((path, content, executable))
    except TreeRefused as error:
        raise ArchiveRefused(error.message) from error
    except CalibanError:
        raise
    except (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
        *(ValueError, RuntimeError, NotImplementedError, OverflowError, KeyError, IndexError, MemoryError),
    ) as error:
        raise ArchiveRefused(f"{name} is damaged, or no archive that is known here: {error}") from error
    if not kinds:
        raise ArchiveRefused(f"{name} is empty")
    ensure_private_dir(target)
    for path, content, executable in files:
        write_file(target, path, content, executable=executable)


def _noted(raw: str, kinds: dict[str, bool], bounds: Bounds, *, is_folder: bool) -> str:
    """The path of a member; each file once, and none where a folder is."""
    if raw.startswith("/"):
        raise TreeRefused(f"a member has an absolute name: {shown_path(raw)}")
    path = bounds.path(raw)
    parents = ["/".join(path.split("/")[:count]) for count in range(1, path.count("/") + 1)]
    if any(kinds.get(parent, True) is False for parent in parents) or (
        path in kinds and not (is_folder and kinds[path])
    ):
        raise TreeRefused(f"a member stands twice, as a file or below one: {shown_path(raw)}")
    kinds |= dict.fromkeys(parents, True) | {path: is_folder}
    return path


def _tar_members(data: bytes, name: str) -> Iterator[tuple[str, bytes | None, bool]]:
    for start, kind in UNPACKED:
        if data.startswith(start):
            raise ArchiveRefused(
                f"{name} is packed with {kind}, which is not unpacked here", hint="take .tar.gz or .zip"
            )
    stream: Any = _Bounded(_unpacked(data), name)
    count = 0
    with tarfile.open(fileobj=stream, mode="r|", errorlevel=2, encoding="utf-8", errors="strict") as tar:
        for member in tar:
            count += 1
            if count > MAX_FILES:
                raise TreeRefused(f"{name}: it has more than {MAX_FILES:,} members")
            if member.isdir():
                if member.name not in ("", "."):
                    yield member.name, None, False
                continue
            if member.issym() and _is_left_out(member.name):
                continue
            if not member.isreg() or member.issparse():
                raise TreeRefused(
                    f"{name}: {shown_path(member.name)} is {_kind(member)}: files and folders alone"
                )
            if member.mode & 0o7000:
                raise TreeRefused(f"{name}: {shown_path(member.name)} has a set-id or sticky bit")
            if member.size > MAX_FILE_BYTES:
                raise TreeRefused(f"{name}: {shown_path(member.name)} has more than {MAX_FILE_BYTES:,} bytes")
            file = tar.extractfile(member)
            content = file.read() if file is not None else b""
            yield member.name, content, bool(member.mode & 0o100)


def _is_left_out(name: str) -> bool:
    """Whether a link may stand there, for nobody reads it: in the plugin's folder, or the only one."""
    folder, _, own = name.removeprefix("./").rpartition("/")
    return own in WORDS_FOR_AGENTS and "/" not in folder


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        return "a link"
    return "a device or a pipe" if member.isdev() else "of a kind that no plugin has"


def _unpacked(data: bytes) -> IO[bytes]:
    raw = io.BytesIO(data)
    if data.startswith(b"\x1f\x8b"):
        return GzipFile(fileobj=raw)  # type: ignore[return-value]
    if data.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    return raw


class _Bounded:
    """Reads no more of a stream than a plugin may have: what is packed may be a thousand times as long."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream = stream
        self._left = MAX_TREE_BYTES + HEADERS_BYTES
        self._name = name

    def read(self, size: int = -1) -> bytes:
        wanted = self._left + 1 if size < 0 else min(size, self._left + 1)
        data = self._stream.read(wanted)
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveRefused(f"{self._name} unpacks to more than {MAX_TREE_BYTES:,} bytes")
        return data


def _zip_members(data: bytes, name: str) -> Iterator[tuple[str, bytes | None, bool]]:
    if data.count(_DIRECTORY) > MAX_FILES:
        raise TreeRefused(f"{name}: it has more than {MAX_FILES:,} members")
    left = MAX_TREE_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            raw = info.orig_filename
            kind = (info.external_attr >> 16) & 0o170000 if info.create_system == 3 else 0
            if info.flag_bits & 0x1:
                raise TreeRefused(f"{name}: {shown_path(raw)} is encrypted")
            if kind not in (0, 0o100000, 0o040000):
                raise TreeRefused(f"{name}: {shown_path(raw)} is a link or a device: files and folders alone")
            if raw.endswith("/") or kind == 0o040000:
                yield raw, None, False
                continue
            with archive.open(info) as file:
                content = file.read(min(MAX_FILE_BYTES, left) + 1)
            if len(content) > MAX_FILE_BYTES or len(content) > left:
                raise TreeRefused(f"{name}: {shown_path(raw)}, or the whole, unpacks to too many bytes")
            left -= len(content)
            yield raw, content, bool((info.external_attr >> 16) & 0o100)


def archive_root(folder: Path) -> Path:
    """Where the plugin of an unpacked archive begins: in its only folder, where there is but one."""
    names: list[Any] = sorted(folder.iterdir())
    manifest = any((folder / name).exists() for name in ("plugin.json", ".claude-plugin"))
    if not manifest and len(names) == 1 and names[0].is_dir():
        return Path(names[0])
    return folder
