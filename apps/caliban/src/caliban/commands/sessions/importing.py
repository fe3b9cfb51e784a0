"""`caliban sessions import`: a conversation from elsewhere as a session of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.cli.options import SystemOptions
from caliban.compose.sessionstore import session_store
from caliban.compose.system import instructions
from caliban.errors import CommandRefused, MissingError
from caliban.stdio import complain, print_text
from caliban_common.errors import DataError, FileFailed, NotRegularFile, TooLarge
from caliban_common.files import read_regular
from caliban_common.message import system
from caliban_common.paths import expand_user
from caliban_common.text import plural
from caliban_sessions import SessionState, check_name
from caliban_sessions.intake import Taken, read_claude, read_exported

MAX_BYTES: Final = 1 << 29


def import_session(invocation: Invocation) -> int:
    """Write the session that is in a file, and print its name; name what is not in it."""
    values = invocation.values
    path = expand_user(values["file"])
    if values["name"] is not None:
        check_name(values["name"])
    taken = _taken(path)
    for sentence in taken.left_out:
        complain(f"caliban: {sentence}\n")
    store = session_store(invocation.options.session)
    name = values["name"] or taken.state.name or store.fresh_name()
    state = _with_system(replace(taken.state, name=name))
    if values["dry_run"]:
        return print_text(f"{name}: {plural(len(taken.state.messages), 'message')}\n")
    store.create(state, taken.facts)
    return print_text(f"{name}\n")


def _taken(path: Path) -> Taken:
    """What is in the file. Raises `MissingError`, and `CommandRefused` where it holds no conversation."""
    try:
        data = read_regular(path, max_bytes=MAX_BYTES)
    except FileFailed as error:
        if error.missing:
            raise MissingError(error.message) from error
        raise CommandRefused(error.message, hint=error.hint) from error
    except (NotRegularFile, TooLarge) as error:
        raise CommandRefused(error.message, hint=error.hint) from error
    try:
        return read_exported(data) if path.suffix.lower() == ".json" else read_claude(data)
    except DataError as error:
        raise CommandRefused(
            f"{path} cannot be imported: {error.message}",
            hint="it takes a .jsonl transcript of Claude Code, or the .json of caliban sessions export",
        ) from error


def _with_system(state: SessionState) -> SessionState:
    """`state` with a system prompt of ours in front, which a run that goes on with it writes anew."""
    if state.messages and state.messages[0].role == "system":
        return state
    own = instructions(SystemOptions(), Path(state.workspace or "."), has_tools=True)
    return state if own is None else replace(state, messages=(system(own[1]), *state.messages))
