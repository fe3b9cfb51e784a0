"""`caliban sessions mirror`: sessions where the session helpers of the Claude Agent SDK look for them."""

from __future__ import annotations

import os
from pathlib import Path

from caliban.cli.invocation import Invocation
from caliban.commands.sessionexport import export_masker
from caliban.compose.project import build_settings
from caliban.compose.sessionstore import require_session, session_store
from caliban.compose.spending import SavedPrices
from caliban.compose.workspace import build_workspace
from caliban.stdio import complain, write_out
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, write_atomic
from caliban_common.paths import expand_user
from caliban_common.text import clean
from caliban_sessions import SessionStore
from caliban_sessions.export import (
    MARK,
    as_transcript,
    masked_script,
    project_key,
    script_of,
    transcript_id,
)


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
    prices = SavedPrices(build_settings(options.settings, workspace))
    root = expand_user(values["to"] or os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude") / "projects"
    code = 0
    for name in names:
        try:
            path = _mirror(store, name, root, str(workspace), prices)
        except CalibanError as error:
            complain(f"caliban: {name} is not mirrored: {error.message}\n")
            code = 1
        else:
            code = write_out(clean(f"{path}\n").encode()) or code
    return code


def _mirror(store: SessionStore, name: str, root: Path, here: str, prices: SavedPrices) -> Path:
    state, entries = store.entries(name)
    for warning in state.warnings:
        complain(f"caliban: {warning}\n")
    script = masked_script(script_of(state, entries, prices.call, prices.total), export_masker(state.spent))
    path = root / project_key(state.workspace or here) / f"{transcript_id(state)}.jsonl"
    if os.path.lexists(path) and not _is_ours(path):
        raise CalibanError(f"{path} is there, and others wrote it")
    ensure_private_dir(path.parent)
    write_atomic(path, as_transcript(script).encode(), mode=0o600)
    return path


def _is_ours(path: Path) -> bool:
    """Whether a file begins as those of a mirror do."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False
