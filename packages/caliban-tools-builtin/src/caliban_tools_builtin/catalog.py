"""The built-in tools and what they are built from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caliban_common.tool import Tool
from caliban_tools_builtin.fence import Fence
from caliban_tools_builtin.fs.edit import Edit
from caliban_tools_builtin.fs.ledger import Ledger
from caliban_tools_builtin.fs.read import Read
from caliban_tools_builtin.fs.write import Write
from caliban_tools_builtin.search.engine import Engine
from caliban_tools_builtin.search.glob import Glob
from caliban_tools_builtin.search.grep import Grep
from caliban_tools_builtin.shell.bash import Bash


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """How the built-in tools behave.

    `restrict_paths` fences every path, the directory of Bash included, to `workspace` and `extra_roots`.
    `env` is added to the environment of commands as it stands. `host_environment` is what that environment is
    chosen from. `readable` says of a canonical path whether Glob may show its name and Grep its lines: the
    place for rules that deny reading.
    """

    workspace: Path
    restrict_paths: bool = True
    extra_roots: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    host_environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    readable: Callable[[str], bool] | None = None


def builtin_tools(options: ToolOptions) -> tuple[Tool, ...]:
    """Read, Write, Edit, Glob, Grep and Bash for one session.

    They share one fence, and one ledger of what the session's model has read: make a set per session.
    """
    fence = Fence(options.workspace, restrict=options.restrict_paths, extra_roots=options.extra_roots)
    ledger = Ledger()
    engine = Engine(fence.workspace)
    return (
        Read(fence, ledger),
        Write(fence, ledger),
        Edit(fence, ledger),
        Glob(fence, engine, options.readable),
        Grep(fence, engine, options.readable),
        Bash(fence, options.host_environment, options.env),
    )
