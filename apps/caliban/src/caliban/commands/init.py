"""`caliban init`: a draft of a first file of instructions."""

from __future__ import annotations

import os
from pathlib import Path

from caliban.cli.invocation import Invocation
from caliban.compose.workspace import build_workspace
from caliban.errors import UsageError
from caliban.stdio import complain, print_text
from caliban_common.files import write_atomic
from caliban_common.text import clean
from caliban_memory import make_draft

TARGET = "CLAUDE.md"
DRAFT = "CLAUDE.draft.md"


def init(invocation: Invocation) -> int:
    """Write the draft, or print it. Raises `UsageError` where something is there that it would replace."""
    root = build_workspace(invocation.options.workspace.workspace)
    if invocation.values["show"]:
        return print_text(make_draft(root).text)
    complain(f"caliban: {write_draft(root, force=invocation.values['force'])}\n")
    return 0


def write_draft(root: Path, *, force: bool) -> str:
    """Write the draft for the project at `root`; what to tell of it. Raises `UsageError`."""
    for name in () if force else (TARGET, DRAFT):
        if os.path.lexists(root / name):
            ways = f"--force writes {DRAFT}, caliban init --show only prints it"
            raise UsageError(f"there is a {name} in {root} already", hint=ways)
    draft = make_draft(root)
    write_atomic(root / DRAFT, clean(draft.text).encode(), mode=0o644)
    sources = ", ".join(draft.sources) or "no file that says anything"
    return f"{DRAFT} is written, from {sources}; read it, then rename it to {TARGET} or AGENTS.md"
