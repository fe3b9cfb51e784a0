"""The files of a plugin: which there may be, one digest for all of them, and copies of just these."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK, failed, read_opened
from caliban_plugins.errors import PluginPathRefused, TreeRefused
from caliban_plugins.paths import folded, inner_path, shown_path

MAX_FILES: Final = 5_000
MAX_FILE_BYTES: Final = 16 << 20
MAX_TREE_BYTES: Final = 64 << 20

SKIPPED: Final = (".git", ".DS_Store", "__pycache__")
"""What lies in a folder that somebody works in, and is no part of a plugin."""


WORDS_FOR_AGENTS: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Told to agents that work on a plugin, and read by no part of it: in many repositories they are links to
each other. In a plugin's own folder one that is a link is left out; every other link is refused."""


class TreeFile(Struct, frozen=True, kw_only=True):
    """One file: its path with slashes, its size, whether it may be run, and the SHA-256 of its bytes."""

    path: str
    size_bytes: int
    executable: bool
    digest: str


class Bounds:
    """Counts what a plugin holds while it is read, and refuses what none may hold. `what` is for words."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._seen: dict[str, str] = {}
        self._bytes = 0

    def path(self, name: str) -> str:
        """`name` as a path of the plugin. Raises `TreeRefused`."""
        try:
            path = inner_path(name)
        except PluginPathRefused as error:
            raise TreeRefused(f"{self._what}: {error.message}") from error
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            whole = "/".join(parts[:count])
            other = self._seen.setdefault(folded(whole), whole)
            if other != whole:
                raise TreeRefused(
                    f"{self._what}: {shown_path(whole)} and {shown_path(other)} are one file on some systems"
                )
        if len(self._seen) > MAX_FILES:
            counts = Counter(path.partition("/")[0] for path in self._seen.values())
            most = shown_path(counts.most_common(1)[0][0])
            raise TreeRefused(
                f"{self._what}: it holds more than {MAX_FILES:,} files and folders, most of them in {most}"
            )
        return path

    def size(self, path: str, size_bytes: int) -> None:
        """Take note of bytes that are about to be read of the file at `path`. Raises `TreeRefused`."""
        if size_bytes > MAX_FILE_BYTES:
            raise TreeRefused(f"{self._what}: {shown_path(path)} has more than {MAX_FILE_BYTES:,} bytes")
        self._bytes += size_bytes
        if self._bytes > MAX_TREE_BYTES:
            raise TreeRefused(f"{self._what}: its files have more than {MAX_TREE_BYTES:,} bytes")


def walk_tree(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files below `root` in the order of their paths, with what is known of each; none is opened.

    Raises `TreeRefused` for links, devices and whatever else no plugin holds.
    """
    bounds = Bounds(str(root))
    status = _status(root)
    if not stat.S_ISDIR(status.st_mode):
        raise TreeRefused(f"{root} is {'a link' if stat.S_ISLNK(status.st_mode) else 'no folder'}")
    files = sorted(_below(root, "", bounds), key=lambda pair: pair[0].split("/"))
    yield from files


def read_tree(root: Path) -> tuple[TreeFile, ...]:
    """Every file below `root`, each read once. Raises `TreeRefused` and `FileFailed`."""
    return tuple(_file(path, status, read_file(root, path)) for path, status in walk_tree(root))


def tree_digest(files: Iterable[TreeFile]) -> str:
    """One SHA-256 for all files: their paths, whether they may be run, and every byte of them."""
    digest = sha256(b"caliban plugin tree 1\n")
    for file in sorted(files, key=lambda file: file.path.split("/")):
        digest.update(f"{file.digest} {'x' if file.executable else '-'} {file.path}\n".encode())
    return digest.hexdigest()


def tree_stamp(root: Path) -> str:
    """What changes whenever a file below `root` does, without reading any. Raises `TreeRefused`."""
    digest = sha256()
    for path, status in walk_tree(root):
        known = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
        digest.update(f"{path}\0{known}\n".encode())
    return digest.hexdigest()


def copy_tree(root: Path, target: Path) -> tuple[TreeFile, ...]:
    """Copy the files below `root` to `target`, a new folder: what was read is what is written.

    Raises `TreeRefused` and `FileFailed`.
    """
    files = []
    for path, status in walk_tree(root):
        data = read_file(root, path)
        file = _file(path, status, data)
        write_file(target, file.path, data, executable=file.executable)
        files.append(file)
    return tuple(files)


def read_file(root: Path, path: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The file at `path` of the plugin at `root`, no link on the way. Raises `TreeRefused`, `FileFailed`."""
    place = root
    for part in inner_path(path).split("/")[:-1]:
        place = place / part
        if not stat.S_ISDIR(_status(place).st_mode):
            raise TreeRefused(f"{place} is no folder")
    place = root / path
    try:
        descriptor = os.open(place, os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY)
    except (OSError, ValueError) as error:
        raise failed("read", place, error) from error
    return read_opened(descriptor, place, max_bytes=max_bytes)


def write_file(root: Path, path: str, data: bytes, *, executable: bool) -> None:
    """Write a new file at `path` below `root`. Raises `FileFailed`."""
    place = root / inner_path(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
        descriptor = os.open(place, flags, 0o755 if executable else 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise failed("write", place, error) from error


def _below(folder: Path, prefix: str, bounds: Bounds) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in SKIPPED:
                    continue
                path = bounds.path(prefix + entry.name)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode) and path in WORDS_FOR_AGENTS:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    yield from _below(folder / entry.name, f"{path}/", bounds)
                elif stat.S_ISREG(status.st_mode):
                    bounds.size(path, status.st_size)
                    yield path, status
                else:
                    kind = "a link" if stat.S_ISLNK(status.st_mode) else "a device, pipe or socket"
                    raise TreeRefused(
                        f"{folder / entry.name} is {kind}: a plugin has files and folders alone"
                    )
    except OSError as error:
        raise failed("read", folder, error) from error


def _status(path: Path) -> os.stat_result:
    try:
        return path.lstat()
    except (OSError, ValueError) as error:
        raise failed("look at", path, error) from error


def _file(path: str, status: os.stat_result, data: bytes) -> TreeFile:
    return TreeFile(
        path=path,
        size_bytes=len(data),
        executable=bool(status.st_mode & 0o100),
        digest=sha256(data).hexdigest(),
    )


def is_folder(root: Path, path: str) -> bool:
    """Whether there is a folder at `path` below `root`, and no link. Raises `PluginPathRefused`."""
    return _is(root, path, stat.S_ISDIR)


def is_file(root: Path, path: str) -> bool:
    """Whether there is a file at `path` below `root`, and no link. Raises `PluginPathRefused`."""
    return _is(root, path, stat.S_ISREG)


def _is(root: Path, path: str, test: object) -> bool:
    place = root
    for part in inner_path(path).split("/"):
        place = place / part
        try:
            status = _status(place)
        except CalibanError:
            return False
        if stat.S_ISLNK(status.st_mode):
            return False
    return bool(test(status.st_mode))  # type: ignore[operator]
