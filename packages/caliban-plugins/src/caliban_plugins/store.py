"""The folder of a person's plugins: trees by digest, and one lock file that says which of them count.

A tree is written whole, to the disk, before the lock file names it, and the lock file is replaced in one
step: whoever is killed in between leaves what was there before, and a tree that nothing names, which the next
one who writes removes.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from caliban_common.errors import CalibanError
from caliban_common.filelock import is_at, try_lock
from caliban_common.files import BINARY, NOFOLLOW, ensure_private_dir, failed, read_regular, write_atomic
from caliban_common.typed import typed
from caliban_plugins.errors import NoSuchPlugin, StoreUnusable
from caliban_plugins.record import VERSION, InstalledPlugin, InstalledVersion, PluginRecords
from caliban_plugins.table import read_table
from caliban_plugins.tree import read_tree, tree_digest, tree_stamp, walk_tree

LOCK_FILE: Final = "installed.json"
MAX_BYTES: Final = 32 << 20
LOCK_TRIES: Final = 200
LOCK_PAUSE_S: Final = 0.05
MAX_SINGLE: Final = 64
"""So many files are waited for one by one."""
_STAGING: Final = ".staging-"


class PluginStore:
    """The plugins below `root`, whose owner is the only one who may write there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def path(self) -> Path:
        """The lock file."""
        return self.root / LOCK_FILE

    def tree(self, name: str, digest: str) -> Path:
        """Where the files of one version are."""
        return self.root / "trees" / name / digest[:32]

    def data(self, name: str) -> Path:
        """Where a plugin keeps what is its own."""
        return self.root / "data" / name

    def index(self, name: str) -> Path:
        """Where the index of a marketplace is kept."""
        return self.root / "marketplaces" / f"{name}.json"

    def records(self) -> PluginRecords:
        """What is written down; nothing where there is no file.

        Raises `StoreUnusable` where it is damaged, or others could have written it (security.md TM8).
        """
        if not self._is_ours():
            return PluginRecords()
        try:
            data = read_regular(self.path, max_bytes=MAX_BYTES)
            records = typed(read_table(data, str(self.path)).values, PluginRecords, what=str(self.path))
        except CalibanError as error:
            if getattr(error, "missing", False):
                return PluginRecords()
            raise StoreUnusable(
                f"{error.message}: no plugin counts", hint="move it away, and install again what you use"
            ) from error
        if records.version != VERSION:
            raise StoreUnusable(f"{self.path} has the version {records.version}, which is not known here")
        return records

    def root_of(self, plugin: InstalledPlugin) -> Path:
        """Where the version in use is."""
        return self.tree(plugin.name, plugin.current.digest)

    def is_whole(self, plugin: InstalledPlugin) -> bool:
        """Whether the files of a plugin are still those that a person agreed to."""
        root = self.root_of(plugin)
        try:
            if tree_stamp(root) == plugin.current.stamp:
                return True
            return tree_digest(read_tree(root)) == plugin.current.digest
        except CalibanError:
            return False

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A new folder in the store for what is not looked at yet; it is gone at the end."""
        place = self.root / f"{_STAGING}{os.getpid()}-{os.urandom(6).hex()}"
        with self._locked():  # nobody removes the folder around it meanwhile
            place.mkdir(mode=0o700)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            with suppress(CalibanError), self._locked():
                self._tidy(self.root)

    def put(self, name: str, staged: Path, digest: str) -> str:
        """Move a staged tree to where it is found by its digest; its stamp. Raises `FileFailed`.

        To be called by what `change` is given: a tree that nothing names yet is one that others remove.
        """
        place = self.tree(name, digest)
        ensure_private_dir(place.parent)
        try:
            if place.exists():
                if tree_digest(read_tree(place)) == digest:
                    return tree_stamp(place)
                shutil.rmtree(place)
            _flush(staged)
            staged.rename(place)
            _flush_one(place.parent)
        except OSError as error:
            raise failed("write", place, error) from error
        return tree_stamp(place)

    def put_index(self, name: str, data: bytes) -> None:
        """Keep the index of a marketplace. To be called as `put` is. Raises `FileFailed`."""
        path = self.index(name)
        ensure_private_dir(path.parent)
        write_atomic(path, data, mode=0o600)

    def change(self, change: Callable[[PluginRecords], PluginRecords]) -> PluginRecords:
        """Write down what `change` makes of the records, and remove trees that nothing names any more.

        `change` is given them as they are now, and no other process changes them until it is done. Raises
        `StoreUnusable` and `FileFailed`; nothing is changed then.
        """
        with self._locked():
            records = change(self.records())
            if records.is_empty:
                self.path.unlink(missing_ok=True)
            else:
                data = msgspec.json.format(msgspec.json.encode(records), indent=2) + b"\n"
                write_atomic(self.path, data, mode=0o600)
            self._prune(records)
            self._tidy(self.root)
        return records

    def _prune(self, records: PluginRecords) -> None:
        named = {
            self.tree(plugin.name, version.digest)
            for plugin in records.plugins
            for version in (plugin.current, plugin.previous)
            if version is not None
        }
        for tree in (self.root / "trees").glob("*/*"):
            if tree not in named:
                shutil.rmtree(tree, ignore_errors=True)
        indexes = {self.index(market.name) for market in records.marketplaces}
        for index in (self.root / "marketplaces").glob("*.json"):
            if index not in indexes:
                index.unlink(missing_ok=True)

    def _tidy(self, folder: Path) -> None:
        """Remove folders that are empty, and what is left of who was killed; nothing else."""
        for name in ("trees", "marketplaces", "data"):
            for place in (*(folder / name).glob("*"), folder / name):
                _remove_empty(place)
        for place in folder.glob(f"{_STAGING}*"):
            if not _is_running(place.name.removeprefix(_STAGING).partition("-")[0]):
                shutil.rmtree(place, ignore_errors=True)
        if not self.path.exists():
            names = {path.name for path in folder.glob("*")} | {path.name for path in folder.glob(".*")}
            if names <= {".lock"}:
                (folder / ".lock").unlink(missing_ok=True)
                _remove_empty(folder)

    def _is_ours(self) -> bool:
        """Whether there is a folder. Raises `StoreUnusable` for one that others could have written to."""
        try:
            status = self.root.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError) as error:
            raise failed("look at", self.root, error) from error
        check_owned(self.root, status)
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = self._lock()
        try:
            yield
        finally:
            os.close(descriptor)

    def _lock(self) -> int:
        """The open lock, held by this process. Whoever removes the last plugin removes the lock too."""
        path = self.root / ".lock"
        flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | BINARY
        for _ in range(LOCK_TRIES):
            ensure_private_dir(self.root)
            self._is_ours()
            try:
                descriptor = os.open(path, flags, 0o600)
            except FileNotFoundError:
                continue  # the folder was removed in between
            except OSError as error:
                raise failed("lock", path, error) from error
            try:
                if try_lock(descriptor) and is_at(descriptor, path):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            time.sleep(LOCK_PAUSE_S)
        raise StoreUnusable(f"another process has locked {path}", hint="try again once it has ended")


def check_owned(path: Path, status: os.stat_result, *, of_root: bool = False) -> None:
    """Refuse what others could have put there; with `of_root` it must be the administrator's.

    Raises `StoreUnusable`. Windows access lists are not looked at.
    """
    if stat.S_ISLNK(status.st_mode):
        raise StoreUnusable(f"{path} is a link: no plugin is loaded from it")
    if os.name != "posix":
        return
    if status.st_uid not in ((0,) if of_root else (os.geteuid(),)):
        raise StoreUnusable(f"{path} belongs to another user ({status.st_uid}): no plugin is loaded from it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        raise StoreUnusable(
            f"{path} can be written by others (mode {mode}): no plugin is loaded from it",
            hint="let only its owner write there: chmod go-w",
        )


def switched(plugin: InstalledPlugin) -> InstalledPlugin:
    """A plugin whose version in use and the one before it have changed places. Raises `NoSuchPlugin`."""
    if plugin.previous is None:
        raise NoSuchPlugin(f"{plugin.name} has no earlier version to go back to")
    return msgspec.structs.replace(plugin, current=plugin.previous, previous=plugin.current)


def updated(plugin: InstalledPlugin, version: InstalledVersion) -> InstalledPlugin:
    """A plugin with another version in use; the one before it is kept."""
    previous = plugin.previous if version.digest == plugin.current.digest else plugin.current
    return msgspec.structs.replace(plugin, current=version, previous=previous)


def _remove_empty(place: Path) -> None:
    try:
        place.rmdir()
    except OSError:
        pass  # it is not there, or not empty


def _flush(root: Path) -> None:
    """Wait until the files of a tree are on the disk: many at once are the system's to write together."""
    if os.name != "posix":
        return
    files = [path for path, _ in walk_tree(root)]
    if len(files) > MAX_SINGLE:
        os.sync()
        return
    for path in files:
        _flush_one(root / path)


def _flush_one(place: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_running(pid: str) -> bool:
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
