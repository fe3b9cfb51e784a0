"""Checkpoints that go with their session, and the cache of a workspace that has no more of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from caliban_checkpoint.errors import CheckpointFailed
from caliban_common.filelock import try_lock

GONE: Final = ".gone-"


def remove_checkpoints(place: Path, session: str) -> bool:
    """Remove what is kept of `session` in `place`, the directory of a workspace; whether there was anything.

    With the last session the cache of the workspace goes, unless a process works with it. No link is
    followed. Raises `CheckpointFailed`.
    """
    store = place / "checkpoints"
    folder = store / session
    if place.is_symlink() or store.is_symlink() or folder.is_symlink() or not folder.is_dir():
        return False
    try:
        # What is half removed has a name that no session has: whoever comes next removes the rest.
        folder.rename(store / f"{GONE}{os.urandom(4).hex()}")
        for left in store.glob(f"{GONE}*"):
            if not left.is_symlink():
                shutil.rmtree(left)
        if not any(store.iterdir()):
            store.rmdir()
            _remove_cache(place / "shadow")
            place.rmdir()
    except OSError as error:
        if not folder.exists():
            return True  # what else is there is not ours to remove
        raise CheckpointFailed(f"{folder} cannot be removed: {error.strerror or error}") from error
    return True


def _remove_cache(shadow: Path) -> None:
    try:
        lock = os.open(shadow / "lock", os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return
    try:
        if not shadow.is_symlink() and try_lock(lock):
            shutil.rmtree(shadow)
    finally:
        os.close(lock)
