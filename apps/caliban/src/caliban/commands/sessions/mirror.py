"""`caliban sessions mirror`: sessions where the session helpers of the Claude Agent SDK look for them."""

from __future__ import annotations

import os

from caliban.cli.invocation import Invocation
from caliban.commands.sessions.export import export_masker
from caliban.compose.mirror import mirror_root, write_transcript
from caliban.compose.sessionstore import require_session, session_store
from caliban.compose.workspace import build_workspace
from caliban.stdio import complain, print_text
from caliban_common.errors import CalibanError


def mirror_sessions(invocation: Invocation) -> int:
    """Write a transcript of each session that is asked for, and print where; what could not be is named."""
    values, options = invocation.values, invocation.options
    store, workspace = session_store(options.session), build_workspace(options.workspace.workspace)
    for name in values["names"]:
        require_session(store, name)
    names = list(dict.fromkeys(values["names"])) or [
        head.name
        for head in store.list()
        if values["everywhere"] or head.problem or head.workspace in ("", str(workspace))
    ]
    root, code = mirror_root(values["to"] or os.environ.get("CLAUDE_CONFIG_DIR", "")), 0
    for name in names:
        try:
            state = store.load(name)
            for warning in state.warnings:
                complain(f"caliban: {warning}\n")
            path = write_transcript(store, name, root, str(workspace), export_masker(state.spent))
        except CalibanError as error:
            complain(f"caliban: {name} is not mirrored: {error.message}\n")
            code = 1
        else:
            code = print_text(f"{path}\n") or code
    return code
