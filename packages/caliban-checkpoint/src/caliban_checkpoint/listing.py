"""The files of a workspace as git lists them, without asking the workspace's own repository anything.

Git is given a directory of ours in the place of the repository's: no configuration, hook, filter, index or
ref of the workspace is read, so nothing in it can run (security.md G1). It takes from the workspace the rules
in `.gitignore` files, and the text of `.git/info/exclude`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from caliban_checkpoint.errors import CheckpointFailed
from caliban_checkpoint.state import is_text
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_process import Command, OutputLimit, ProcessError, Runner

LISTING_S: Final = 10.0
MAX_LISTING_BYTES: Final = 32 << 20
MAX_REPOSITORIES: Final = 100
"""Inside of a workspace, submodules included: each is listed by a call of git. Others are left out."""
MAX_WITH_REPOSITORIES: Final = 20_000
"""Files; a repository inside that would bring more is left out, so that the rest can be watched."""
NEVER: Final = ("node_modules/", "__pycache__/", ".venv/", ".tox/", ".mypy_cache/", ".pytest_cache/")
"""Left out where no rule of the workspace says so: what is made again from other files."""

_PINS: Final = (
    "core.bare=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
)
_HEAD: Final = b"ref: refs/heads/none\n"
_CONFIG: Final = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


class GitListing:
    """Lists the files below `workspace`; `place` is where its own empty repository is."""

    def __init__(self, workspace: Path, place: Path, runner: Runner, search_path: str) -> None:
        self._workspace = workspace
        self._git_dir = place / "git"
        self._runner = runner
        self._search_path = search_path
        self._argv: tuple[str, ...] | None = None

    async def names(self) -> list[str]:
        """Relative names of all files and links that no rule leaves out, and that are text.

        Those of repositories inside the workspace are among them, within bounds: git names these alone.

        Raises `CheckpointFailed`.
        """
        if self._argv is None:
            self._argv = self._prepared()
        names = await self._listed(self._argv, "")
        waiting = [name for name in names if name.endswith("/")]
        names = [name for name in names if not name.endswith("/")]
        for _ in range(MAX_REPOSITORIES):
            if not waiting:
                break
            folder = waiting.pop(0)
            try:
                listed = [folder + name for name in await self._listed(self._argv, folder)]
            except CheckpointFailed:
                if (self._workspace / folder).is_dir():
                    raise
                continue  # it went meanwhile
            waiting += (name for name in listed if name.endswith("/"))
            files = [name for name in listed if not name.endswith("/")]
            if len(names) + len(files) <= MAX_WITH_REPOSITORIES:
                names += files
        return names

    async def _listed(self, argv: tuple[str, ...], folder: str) -> list[str]:
        """What git lists in `folder` of the workspace: a repository in it by its name and a `/`.

        Raises `CheckpointFailed`.
        """
        workspace = self._workspace / folder
        command = Command(
            argv=(*argv[:1], f"--work-tree={workspace}", *argv[1:]),
            cwd=str(workspace),
            env={
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_OPTIONAL_LOCKS": "0",
                "LC_ALL": "C",
                "PATH": os.defpath,
            },
            timeout_s=LISTING_S,
            session=False,
            output=OutputLimit(head_bytes=MAX_LISTING_BYTES, tail_bytes=0, refuse=True),
        )
        try:
            completed = await self._runner.run(command)
        except ProcessError as error:
            raise CheckpointFailed(f"git cannot list the workspace: {error.message}") from error
        if completed.exit_code != 0:
            raise CheckpointFailed("git cannot list the workspace")
        names = os.fsdecode(completed.stdout.kept).split("\0")
        return [name for name in names if name and is_text(name)]

    def _prepared(self) -> tuple[str, ...]:
        entries = [item for item in self._search_path.split(os.pathsep) if Path(item).is_absolute()]
        program = shutil.which("git", path=os.pathsep.join(entries))
        if program is None:
            raise CheckpointFailed("git is not installed")
        if os.path.realpath(program).startswith(os.path.realpath(self._workspace) + os.sep):
            raise CheckpointFailed("the git on the search path is a file of the workspace")
        try:
            for folder in ("objects", "refs", "info"):
                ensure_private_dir(self._git_dir / folder)
            for name, data in (("HEAD", _HEAD), ("config", _CONFIG), ("info/exclude", self._excluded())):
                write_atomic(self._git_dir / name, data, mode=0o600, durable=False)
        except CalibanError as error:
            raise CheckpointFailed(error.message) from error
        pins = tuple(word for pin in _PINS for word in ("-c", pin))
        return (
            program,
            f"--git-dir={self._git_dir}",
            *pins,
            "ls-files",
            "-z",
            "--others",
            "--exclude-standard",
        )

    def _excluded(self) -> bytes:
        own = "".join(f"{name}\n" for name in NEVER).encode()
        path = self._workspace / ".git" / "info" / "exclude"
        try:
            if path.is_symlink() or path.parent.is_symlink() or path.parent.parent.is_symlink():
                return own
            return own + read_regular(path, max_bytes=1 << 16)
        except CalibanError:
            return own
