"""Where checkpoints are: `ROOT/WORKSPACE/checkpoints/SESSION/prompt-NNN/`, for their owner only.

Every file is written beside its place and renamed, so whoever is killed leaves the old one or the new one. A
blob is there before the manifest that names it. The disk is not waited for, as the tools that change files do
not wait either: a power cut may cost the last seconds.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from caliban_checkpoint.errors import CheckpointFailed
from caliban_checkpoint.manifest import Manifest
from caliban_common.errors import CalibanError
from caliban_common.files import FileFailed, ensure_private_dir, read_regular, write_atomic

MAX_MANIFEST_BYTES: Final = 64 << 20
UNKNOWN: Final = "its checkpoint is damaged: which files it changed is not known"
_PROMPT = r"prompt-([0-9]{3,6})"
_DIGEST = r"[0-9a-f]{64}"


class CheckpointLimits(Struct, frozen=True, kw_only=True):
    """What is kept at most: bytes of one file, of one prompt, and of all prompts of a workspace."""

    file_bytes: int = 16 << 20
    prompt_bytes: int = 512 << 20
    total_bytes: int = 5 << 30


def workspace_dir(root: Path, workspace: Path) -> Path:
    """The directory of a workspace below `root`: 16 hexadecimal digits of its canonical path."""
    canonical = os.path.realpath(workspace)
    return root / hashlib.sha256(os.fsencode(canonical)).hexdigest()[:16]


class CheckpointStore:
    """The checkpoints of one session. Making this value touches nothing; it is for one process at a time."""

    def __init__(self, place: Path, session: str, limits: CheckpointLimits | None = None) -> None:
        self.limits: CheckpointLimits = limits or CheckpointLimits()
        self._all = place / "checkpoints"
        self.directory: Path = self._all / session
        self._blobs: dict[str, int] = {}

    def load(self) -> tuple[list[Manifest], list[str]]:
        """The manifests in order, and what is said of those that cannot be read.

        Each of these stands among the others as `damaged`, without entries: what it kept is never
        overwritten, and the numbers of other prompts stay what they are.
        """
        manifests: list[Manifest] = []
        problems: list[str] = []
        for index, folder in _prompts(self.directory):
            path = folder / "manifest.json"
            try:
                manifest = msgspec.json.decode(
                    read_regular(path, max_bytes=MAX_MANIFEST_BYTES), type=Manifest
                )
            except FileFailed as error:
                if error.missing:  # a prompt that was killed before its manifest was there has none
                    continue
                problem = error.message
            except (CalibanError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                problem = f"{path} is damaged, and passed over: {error}"
            else:
                if manifest.prompt_index == index and manifest.kind != "damaged":
                    manifests.append(manifest)
                    continue
                problem = f"{path} is of another prompt, and passed over"
            problems.append(problem)
            manifests.append(Manifest(prompt_index=index, kind="damaged", partial=True, notes=(UNKNOWN,)))
        for manifest in manifests:
            if manifest.kind != "cleared":
                self._blobs |= {
                    e.blob_sha256: manifest.prompt_index for e in manifest.entries if e.blob_sha256
                }
        return manifests, problems

    def save(self, manifest: Manifest) -> None:
        """Write `manifest`. Raises `CheckpointFailed`."""
        folder = self._folder(manifest.prompt_index)
        try:
            self._ensure(folder)
            data = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            write_atomic(folder / "manifest.json", data, mode=0o600, durable=False)
        except FileFailed as error:
            raise CheckpointFailed(error.message, hint=error.hint) from error

    def keep(self, index: int, sha256: str, data: bytes) -> None:
        """Keep the bytes of a file for prompt `index`. Raises `CheckpointFailed`."""
        folder = self._folder(index) / "blobs"
        path = folder / f"{sha256}.bin"
        known = self._blobs.get(sha256)
        if known == index and path.is_file():
            return
        try:
            self._ensure(folder)
            if known is None or not _linked(self._folder(known) / "blobs" / path.name, path):
                write_atomic(path, data, mode=0o600, durable=False)
        except FileFailed as error:
            raise CheckpointFailed(error.message, hint=error.hint) from error
        self._blobs[sha256] = index

    def blob(self, index: int, sha256: str) -> bytes:
        """The bytes that prompt `index` kept, checked. Raises `CheckpointFailed`."""
        if re.fullmatch(_DIGEST, sha256) is None:
            raise CheckpointFailed("a manifest names bytes by no digest")
        path = self._folder(index) / "blobs" / f"{sha256}.bin"
        if path.is_symlink():
            raise CheckpointFailed(f"{path} is a link")
        try:
            data = read_regular(path, max_bytes=max(self.limits.file_bytes, 1 << 30))
        except CalibanError as error:
            raise CheckpointFailed(error.message) from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise CheckpointFailed(f"{path} is damaged: its bytes are not those of its name")
        return data

    def remove_leftovers(self) -> None:
        """Remove what a killed process left half-written in this session."""
        for _, folder in _prompts(self.directory):
            for path in (*folder.glob(".*.tmp"), *folder.glob("blobs/.*.tmp")):
                _unlink(path)

    def prune(self, active: int) -> int:
        """Give up the oldest bytes of the workspace until all fit the limit; how many prompts lost theirs.

        Their manifests stay, as `cleared`. The prompt `active` of this session keeps its own.
        """
        sizes = {folder: _size(folder) for session in _folders(self._all) for _, folder in _prompts(session)}
        total = sum(size for size, _ in sizes.values())
        keeps = self._folder(active)
        cleared = 0
        for folder in sorted(sizes, key=lambda folder: (sizes[folder][1], str(folder))):
            if total <= self.limits.total_bytes:
                break
            if folder != keeps and sizes[folder][0]:
                _clear(folder)
                total -= sizes[folder][0]
                cleared += 1
        return cleared

    def _folder(self, index: int) -> Path:
        return self.directory / f"prompt-{index:03d}"

    def _ensure(self, folder: Path) -> None:
        ensure_private_dir(folder)
        for path in (folder, *folder.parents):
            if path == self._all.parent:
                return
            if path.is_symlink():
                raise FileFailed(f"{path} is a link, and checkpoints are not kept behind one")


def _prompts(directory: Path) -> Iterator[tuple[int, Path]]:
    """The folders of prompts in a session's directory, by number."""
    prompts = []
    for folder in _folders(directory):
        match = re.fullmatch(_PROMPT, folder.name)
        if match is not None:
            prompts.append((int(match[1]), folder))
    yield from sorted(prompts)


def _folders(directory: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _linked(old: Path, new: Path) -> bool:
    """Give bytes that are there a second name; false where the system has no such thing."""
    try:
        if old.is_symlink():
            return False
        os.link(old, new)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _size(folder: Path) -> tuple[int, float]:
    """The bytes of a prompt's blobs, each shared one in its parts, and when it was written last."""
    total, newest = 0, 0.0
    try:
        newest = folder.lstat().st_mtime
        for entry in os.scandir(folder / "blobs"):
            status = entry.stat(follow_symlinks=False)
            total += status.st_size // max(status.st_nlink, 1)
    except OSError:
        pass
    return total, newest


def _clear(folder: Path) -> None:
    """Give up the bytes of a prompt: first its manifest says so, then they go."""
    path = folder / "manifest.json"
    try:
        manifest = msgspec.json.decode(read_regular(path, max_bytes=MAX_MANIFEST_BYTES), type=Manifest)
        cleared = msgspec.json.encode(replace(manifest, kind="cleared", partial=True))
        write_atomic(path, msgspec.json.format(cleared, indent=1), mode=0o600, durable=False)
    except (CalibanError, msgspec.MsgspecError):
        pass  # without a manifest nobody can ask for the bytes
    for blob in (folder / "blobs").glob("*"):
        _unlink(blob)


def _unlink(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass
