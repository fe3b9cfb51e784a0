"""Which branch a folder is on, read from its files: no program is started for that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular

MAX_BYTES: Final = 4096
SHORT: Final = 8
"""Digits of a commit that is on no branch."""


class BranchReader:
    """The branch of `folder`; it is read again when its file has changed."""

    def __init__(self, folder: Path) -> None:
        self._head = _head(folder)
        self._seen: tuple[int, int, int] | None = None
        self._branch = ""

    def read(self) -> str:
        """The current branch, the first digits of a commit, or nothing outside a repository."""
        if self._head is None:
            return ""
        try:
            status = os.stat(self._head)  # noqa: PTH116 - asked for at every frame
        except OSError:
            return ""
        stamp = status.st_mtime_ns, status.st_size, status.st_ino
        if stamp != self._seen:
            self._seen, self._branch = stamp, _branch(_text(self._head))
        return self._branch


def _head(folder: Path) -> Path | None:
    """The file that names the branch: that of the repository, or of one of its worktrees."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return git / "HEAD"
        if git.is_file():
            named = _text(git).partition("gitdir:")[2].strip()
            return place / named / "HEAD" if named else None
    return None


def _branch(text: str) -> str:
    if text.startswith("ref:"):
        return text[4:].strip().removeprefix("refs/heads/")
    return text[:SHORT] if text.strip().isalnum() else ""


def _text(path: Path) -> str:
    """The first line of a file of git; nothing where it cannot be read, or is a pipe with that name."""
    try:
        return read_regular(path, max_bytes=MAX_BYTES).decode("utf-8", "replace").splitlines()[0].strip()
    except (CalibanError, IndexError):
        return ""
