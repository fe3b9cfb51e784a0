"""`caliban sandbox`: whether commands would run in a sandbox here, and the profile that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterable

import anyio
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.boxed import sandbox_row
from caliban.commands.report import report
from caliban.compose.box import Box
from caliban.compose.boxing import build_box
from caliban.compose.host import this_host
from caliban.compose.project import open_project
from caliban.compose.workspace import build_workspace
from caliban.errors import ConfigError
from caliban.stdio import complain, print_lines, print_text
from caliban_sandbox import Sandbox, SandboxError
from caliban_sandbox.seatbelt import seatbelt_profile

NOT_RUN = "not run: no macOS was at hand when this was written; its form is checked by a parser"


def sandbox(invocation: Invocation) -> int:
    """Print how the sandbox stands, or one profile; exit 1 where one is wanted and does not hold."""
    options, host = invocation.options, this_host()
    workspace = build_workspace(options.workspace.workspace)
    settings = open_project(options.settings, workspace).settings
    for warning in settings.warnings:
        complain(f"caliban: {warning}\n")
    kind = invocation.values["profile"]
    if kind is None:
        state, words = anyio.run(sandbox_row, options.workspace, settings, workspace, host)
        mark = {"pass": "✓", "warn": "!", "fail": "✗"}[state]
        return print_text(f"{mark} {words}\n") or int(state == "fail")
    wanted = replace(options.workspace, sandbox=True)
    box = build_box(wanted, settings, workspace, host, report)
    try:
        lines = list(_profile(kind, box))
    except SandboxError as error:
        raise ConfigError(f"the sandbox cannot hold: {error.message}", hint=error.hint) from error
    return print_lines(lines)


def _profile(kind: str, box: Box) -> Iterable[str]:
    assert box.sandbox is not None, "it was asked for"
    return _seatbelt(box.sandbox) if kind == "seatbelt" else _bubblewrap(box.sandbox)


def _seatbelt(sandbox: Sandbox) -> Iterable[str]:
    profile = seatbelt_profile(sandbox.policy)
    yield f"; {NOT_RUN}"
    yield from (f"; -D {name}={json.dumps(value)}" for name, value in profile.parameters)
    yield profile.text.rstrip("\n")


def _bubblewrap(sandbox: Sandbox) -> Iterable[str]:
    """The arguments, one option with its values a line; names of this call stand for descriptors."""
    line: list[str] = []
    for word in sandbox.preview():
        if word.startswith("--") and line:
            yield " ".join(line)
            line = []
        line.append(word)
    yield " ".join(line)
