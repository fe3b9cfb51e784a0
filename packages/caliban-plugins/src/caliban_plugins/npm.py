"""Plugins from npm, without anything of a package being run: the person's own npm fetches one tarball.

`npm pack` of a name and a version gives the bytes that the registry has; their scripts, dependencies and git
repositories are left alone. What comes is taken apart as every other archive is.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from hashlib import sha512
from pathlib import Path
from typing import Final

from caliban_common.files import ensure_private_dir
from caliban_common.text import one_line
from caliban_plugins.archive import MAX_ARCHIVE_BYTES
from caliban_plugins.errors import SourceFailed
from caliban_plugins.programs import program_on
from caliban_plugins.source import LATEST, PluginSource
from caliban_plugins.table import read_table
from caliban_plugins.tree import read_file
from caliban_process import Command, NotStarted, Runner
from caliban_process.errors import ProcessError
from caliban_process.output import OutputLimit

PACK_S: Final = 300.0
MANIFEST: Final = "package.json"
_FLAGS: Final = (
    "--ignore-scripts",
    "--json",
    "--loglevel=error",
    "--logs-max=0",
    "--update-notifier=false",
    "--audit=false",
    "--fund=false",
    "--dry-run=false",
    "--workspaces=false",
    # By itself npm tries again for minutes, also what has the wrong digest.
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=500",
    "--fetch-retry-maxtimeout=2000",
    # The tarball comes from the registry itself, whatever host the registry says that it is at.
    "--replace-registry-host=always",
)


class Packages:
    """Fetches packages by npm. `env` is what it is started with: the person's own settings count."""

    def __init__(self, runner: Runner, env: Mapping[str, str]) -> None:
        self._runner = runner
        self._env = {name: value for name, value in env.items() if name != "NODE_OPTIONS"}

    async def fetch(self, source: PluginSource, folder: Path) -> bytes:
        """The tarball of `source`; `folder`, a new one, is where npm works. Raises `SourceFailed`."""
        packed = folder / "packed"
        ensure_private_dir(packed)
        await self._pack(source, folder, packed)
        names = sorted(os.listdir(packed))  # noqa: PTH208 - names are enough
        if len(names) != 1:
            raise SourceFailed(f"{source.words}: npm has left {len(names)} files, where one was expected")
        return read_file(packed, names[0], max_bytes=MAX_ARCHIVE_BYTES)

    async def _pack(self, source: PluginSource, folder: Path, packed: Path) -> None:
        scope, slash, _ = source.at.partition("/")
        registry: tuple[str, ...] = ()
        if source.registry:
            registry = (f"--registry={source.registry}",)
            registry += (f"--{scope}:registry={source.registry}",) if slash else ()
        command = Command(
            argv=(
                program_on(self._env, "npm"),
                "pack",
                *_FLAGS,
                f"--pack-destination={packed}",
                f"--cache={folder / 'cache'}",
                f"--prefix={folder}",
                *registry,
                "--",
                f"{source.at}@{source.ref or LATEST}",
            ),
            cwd=str(folder),
            env=self._env,
            timeout_s=PACK_S,
            output=OutputLimit(head_bytes=1 << 20, tail_bytes=0),
            sandboxed=False,
        )
        try:
            done = await self._runner.run(command)
        except (NotStarted, ProcessError) as error:
            raise SourceFailed(f"npm pack: {error.message}") from error
        if done.exit_code != 0:
            output = _said(done.stdout.text()) or done.stderr.text()
            words = (
                one_line(output, max_chars=300) if done.exit_code is not None else "it did not end in time"
            )
            raise SourceFailed(f"{source.words}: npm pack failed: {words}")


def integrity_of(data: bytes) -> str:
    """The digest of a tarball as npm writes it."""
    return f"sha512-{base64.b64encode(sha512(data).digest()).decode()}"


def check_package(root: Path, source: PluginSource) -> str:
    """The version that the unpacked package at `root` says it is. Raises `SourceFailed` for another package.

    Raises `ManifestRefused` and `FileFailed` where it says nothing.
    """
    table = read_table(read_file(root, MANIFEST, max_bytes=1 << 20), f"{source.words}: {MANIFEST}")
    name, version = table.text("name", required=True), table.text("version", required=True, max_chars=200)
    if name != source.at:
        raise SourceFailed(f"{source.words}: what came calls itself {one_line(name, max_chars=100)}")
    if source.ref[:1].isdigit() and source.ref.count(".") == 2 and version != source.ref:
        raise SourceFailed(f"{source.words}: what came is version {one_line(version, max_chars=40)}")
    return version


def _said(text: str) -> str:
    """What npm says is wrong, as it says it in JSON."""
    try:
        error = json.loads(text)["error"]
        return f"{error.get('code', '')} {error.get('summary', '')}".strip()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
