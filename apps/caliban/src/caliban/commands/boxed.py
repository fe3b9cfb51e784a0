"""How commands report on the sandbox: they try it as a run does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import anyio

from caliban.cli.options import WorkspaceOptions
from caliban.commands.report import report
from caliban.compose.box import Box
from caliban.compose.boxing import build_box
from caliban.compose.host import Host, this_host
from caliban.errors import ConfigError
from caliban_common.text import one_line
from caliban_settings import Settings


def tried_box(options: WorkspaceOptions, settings: Settings, workspace: Path) -> Box:
    """The sandbox of a run, tried where a verdict depends on that. Raises `ConfigError`."""
    box = build_box(options, settings, workspace, this_host(), report)
    if box.sandbox is not None and box.auto_allow:
        anyio.run(box.sandbox.ready)
    return box


async def sandbox_row(
    options: WorkspaceOptions, settings: Settings, workspace: Path, host: Host
) -> tuple[Literal["pass", "warn", "fail"], str]:
    """Whether the sandbox of a run works: pass, warn or fail, and why."""
    try:
        box = build_box(options, settings, workspace, host, lambda notice: None)
    except ConfigError as error:
        return "fail", "; ".join(filter(None, (error.message, error.hint)))
    if box.sandbox is None:
        return "pass", "off: commands run with the rights of this user (sandbox.enabled turns it on)"
    try:
        state = await box.sandbox.ready()
    finally:
        box.sandbox.close()
    if state.problem:
        return ("fail" if box.required else "warn"), f"on, and not available: {state.problem}"
    words = f"{state.version} at {state.program}, tried and holds"
    if state.weaker:
        return "warn", f"{words}, but weaker: {state.weaker}"
    more = []
    if box.sandbox.policy.network.unix_sockets:
        more.append("sockets with a path are open: whoever reaches a Docker daemon is as good as root")
    if any(pattern.split()[0] in ("docker", "podman", "nerdctl") for pattern in box.unsandboxed):
        more.append("a container engine runs outside of it, which is as good as root")
    linked = one_line(", ".join(hard_links(box.sandbox.policy.files.writable)), max_chars=120)
    if linked:
        more.append(f"hard links in it may reach files outside: {linked}")
    return ("warn" if more else "pass"), "; ".join((words, *more))


def hard_links(roots: tuple[str, ...], *, at_most: int = 3, look_at: int = 20_000) -> list[str]:
    """Files below `roots` with more than one hard link: the others may lie outside (SB12)."""
    paths: list[str] = []
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in (".git", "node_modules", ".venv", "venv")]
            for name in files:
                look_at -= 1
                if look_at < 0 or len(paths) >= at_most:
                    return paths
                try:
                    if os.lstat(f"{folder}/{name}").st_nlink > 1:
                        paths.append(f"{folder}/{name}")
                except OSError:
                    continue
    return paths
