"""Plugins from git, without git doing more than fetching objects and packing a tree.

Nothing is checked out: no filter, hook, link or submodule of a repository comes to anything. What git gives
is a tar, which is taken apart as every other archive is. Its configuration is ours alone, and of its
transports https and ssh are left, or the file system for a path that a person typed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from caliban_common.text import one_line
from caliban_plugins.archive import MAX_ARCHIVE_BYTES, unpack
from caliban_plugins.errors import SourceFailed
from caliban_plugins.paths import shown_path
from caliban_plugins.programs import program_on
from caliban_plugins.source import PluginSource
from caliban_plugins.table import MAX_JSON_BYTES
from caliban_plugins.tree import WORDS_FOR_AGENTS, write_file
from caliban_process import Command, Completed, NotStarted, Runner
from caliban_process.errors import ProcessError
from caliban_process.output import OutputLimit

FETCH_S: Final = 300.0
_PINS: Final = (
    "core.hooksPath=/dev/null",
    "core.symlinks=false",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.askPass=",
    "credential.helper=",
    "init.templateDir=",
    "init.defaultBranch=main",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "transfer.fsckObjects=true",
    "http.followRedirects=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "uploadpack.packObjectsHook=",
    "protocol.allow=never",
    "protocol.ext.allow=never",
)
_WAYS: Final = (
    (
        r"(?i)could not read Username|terminal prompts disabled|Authentication failed",
        "is it written rightly? one that is private is reached by ssh: git@HOST:OWNER/NAME.git",
    ),
    (r"(?i)Permission denied \(publickey", "ssh asks nobody here: ssh-add lets its agent have the key"),
    (
        r"(?i)Host key verification failed",
        "ssh asks nobody here: connect once by hand, and look at its key",
    ),
    (r"(?i)couldn't find remote ref", "it has no branch and no tag of this name"),
    (r"(?i)Could not resolve host", "check the name of the host, and the network"),
)
"""What git says -> what to do about it."""
_ATTRIBUTES: Final = b"* -export-ignore -export-subst -filter -ident -working-tree-encoding\n"
"""Above those of the repository: what is packed is every file of the tree, as it was committed."""
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


class Repositories:
    """Fetches trees by git. `env` is what it is started with, without any variable that steers git."""

    def __init__(self, runner: Runner, env: Mapping[str, str]) -> None:
        self._runner = runner
        self._env = {name: value for name, value in env.items() if not name.startswith("GIT_")} | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oPermitLocalCommand=no -oClearAllForwardings=yes",
            "LC_ALL": "C",
        }

    async def fetch(self, source: PluginSource, place: Path) -> str:
        """Write the tree of `source` below `place`, a new folder; the commit that it is.

        Raises `SourceFailed`, `ArchiveRefused` and `FileFailed`.
        """
        store = place.with_name(f"{place.name}.git")
        try:
            commit = await self._fetched(source, store)
            await self._refuse_special(source, store, commit)
            tree = f"{commit}:{source.inside}" if source.inside else commit
            done = await self._git(store, "archive", "--format=tar", tree, limit=MAX_ARCHIVE_BYTES)
            unpack(done.stdout.kept, place, name=source.words)
            return commit
        finally:
            shutil.rmtree(store, ignore_errors=True)

    async def read_file(self, source: PluginSource, names: Sequence[str]) -> tuple[bytes, str, str]:
        """The first of the files `names` in `source`, which of them it is, and the commit.

        Raises `SourceFailed`.
        """
        with tempfile.TemporaryDirectory(prefix="caliban-") as folder:
            store = Path(folder) / "index.git"
            commit = await self._fetched(source, store)
            for name in names:
                path = f"{source.inside}/{name}" if source.inside else name
                listed = await self._git(store, "ls-tree", "-z", "--full-tree", commit, "--", path)
                if listed.stdout.kept.startswith(b"100"):
                    shown = await self._git(
                        store, "cat-file", "blob", f"{commit}:{path}", limit=MAX_JSON_BYTES
                    )
                    return shown.stdout.kept, name, commit
        raise SourceFailed(f"{source.words}: there is none of {', '.join(names)}")

    async def _fetched(self, source: PluginSource, store: Path) -> str:
        is_local = not source.at.startswith(("https://", "ssh://")) and ":" not in source.at
        allowed = ("file",) if is_local else ("https", "ssh")
        pins = tuple(word for name in allowed for word in ("-c", f"protocol.{name}.allow=always"))
        await self._git(None, "init", "--quiet", "--bare", "--template=", str(store))
        write_file(store, "info/attributes", _ATTRIBUTES, executable=False)
        wanted = source.commit or source.ref or "HEAD"
        words = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph")
        await self._git(store, "fetch", *words, "--", source.at, wanted, before=pins)
        stdout = (await self._git(store, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")).stdout
        commit = stdout.text().strip()
        if source.commit and commit != source.commit:
            raise SourceFailed(f"{source.words}: the commit there is {commit[:12]}, not {source.commit[:12]}")
        return commit

    async def _refuse_special(self, source: PluginSource, store: Path, commit: str) -> None:
        """Refuse links and submodules by what the tree says, before anything is packed."""
        words = ("--", source.inside) if source.inside else ()
        done = await self._git(store, "ls-tree", "-r", "-z", "--full-tree", commit, *words)
        rows = [row for row in done.stdout.kept.split(b"\0") if row]
        if not rows:
            raise SourceFailed(f"{source.words}: there is no such folder")
        for row in rows:
            mode, _, rest = row.partition(b" ")
            kind = {_LINK: "a link", _SUBMODULE: "a submodule"}.get(mode.decode("ascii", "replace"))
            name = rest.partition(b"\t")[2].decode("utf-8", "replace")
            own = name.removeprefix(f"{source.inside}/") if source.inside else name
            if kind is not None and not (mode == _LINK.encode() and own in WORDS_FOR_AGENTS):
                raise SourceFailed(f"{source.words}: {shown_path(name)} is {kind}: files and folders alone")

    async def _git(
        self, store: Path | None, *words: str, before: tuple[str, ...] = (), limit: int = 8 << 20
    ) -> Completed:
        program = program_on(self._env, "git")
        place = () if store is None else (f"--git-dir={store}",)
        pins = tuple(word for pin in _PINS for word in ("-c", pin))
        command = Command(
            argv=(program, *place, *pins, *before, *words),
            cwd="/" if os.name == "posix" else None,
            env=self._env,
            timeout_s=FETCH_S,
            output=OutputLimit(head_bytes=limit, tail_bytes=0, refuse=True),
            sandboxed=False,
        )
        try:
            done = await self._runner.run(command)
        except (NotStarted, ProcessError) as error:
            raise SourceFailed(f"git {words[0]}: {error.message}") from error
        if done.exit_code != 0:
            problem = one_line(done.stderr.text(), max_chars=300) or "it did not end in time"
            hint = next((way for pattern, way in _WAYS if re.search(pattern, problem)), None)
            raise SourceFailed(f"git {words[0]} failed: {problem}", hint=hint)
        return done
