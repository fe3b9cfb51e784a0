"""`caliban sessions rename`, `label`, `fork`, `rm` and `prune`: what changes sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from caliban.cli.invocation import Invocation
from caliban.commands.asked import can_answer, says_yes
from caliban.compose.project import build_settings
from caliban.compose.retention import forget_checkpoints, move_checkpoints
from caliban.compose.sessionstore import cleanup_days, require_session, session_store
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, UsageError
from caliban.stdio import complain, print_lines
from caliban_common.text import one_line, plural
from caliban_sessions import SessionError, SessionStore, is_name

MAX_DAYS = 100_000
TITLE_CHARS, LABEL_CHARS, LABELS = 200, 40, 20
NAMED = 20


def rename_session(invocation: Invocation) -> int:
    """Rename a session, give it a title, or both."""
    values = invocation.values
    name, new, title = values["name"], values["new"], values["title"]
    if new is None and title is None:
        raise UsageError("say what to call it: a new name, or --title TEXT")
    store = _store_with(invocation, name)
    if title is not None and len(title) > TITLE_CHARS:
        raise UsageError(f"--title: at most {TITLE_CHARS} characters, not {len(title)}")
    lines: list[str] = []
    if new is not None:
        store.rename(name, new)
        for problem in move_checkpoints(name, new, store.load(new).workspace, os.environ):
            complain(f"caliban: {problem}\n")
        lines.append(f"{name} is {new} now")
    if title is not None:
        with store.open(new or name, create=False) as session:
            session.describe(title=one_line(title, max_chars=TITLE_CHARS))
        lines.append(f"{new or name} is shown as {one_line(title)!r}" if title.strip() else "it has no title")
    return print_lines(lines)


def label_session(invocation: Invocation) -> int:
    """Add labels, take some away, or show those there are."""
    values = invocation.values
    name, removed = values["name"], tuple(values["remove"] or ())
    added = tuple(one_line(label, max_chars=LABEL_CHARS + 1) for label in values["labels"])
    store = _store_with(invocation, name)
    if not added and not removed:
        return print_lines(store.load(name).labels or ["(no labels)"])
    for label in added:
        if not label or len(label) > LABEL_CHARS:
            raise UsageError(f"a label has 1 to {LABEL_CHARS} characters; {label!r} does not")
    with store.open(name, create=False) as session:
        before = session.state.labels
        for label in removed:
            if label not in before:
                complain(f"caliban: {name} has no label {one_line(label, max_chars=LABEL_CHARS)!r}\n")
        after = tuple(dict.fromkeys(label for label in (*before, *added) if label not in removed))
        if len(after) > LABELS:
            raise UsageError(f"a session has at most {LABELS} labels", hint="--remove LABEL takes one away")
        session.describe(labels=after)
    return print_lines(after or ["(no labels)"])


def fork_session(invocation: Invocation) -> int:
    """Fork a session, and print the name of the fork."""
    values = invocation.values
    store = _store_with(invocation, values["name"])
    new = values["new"] or store.fresh_name()
    with store.fork(values["name"], new) as session:
        for warning in session.state.warnings:
            complain(f"caliban: {warning}\n")
    return print_lines([new])


def remove_sessions(invocation: Invocation) -> int:
    """Remove the named sessions; report each one that stays, and why."""
    values = invocation.values
    store = session_store(invocation.options.session)
    names = list(dict.fromkeys(values["names"]))
    for name in names:
        if not store.exists(name) and not (is_name(name) and store.has_leftovers(name)):
            require_session(store, name)
    if not _may_remove(invocation, ", ".join(names), "remove"):
        return print_lines(["nothing was removed"]) or 1
    workspaces = {head.name: head.workspace for head in store.list() if head.name in names}
    code = 0
    for name in names:
        try:
            store.remove(name)
        except SessionError as error:
            complain(f"caliban: {name} is not removed: {error.message}\n")
            code = 1
        else:
            _forget_checkpoints({name: workspaces.get(name, "")})
            code = print_lines([f"removed {name}"]) or code
    return code


def prune_sessions(invocation: Invocation) -> int:
    """Remove the sessions that were not used for some time."""
    values, options = invocation.values, invocation.options
    days = values["days"]
    if days is None:
        days = cleanup_days(
            build_settings(options.settings, build_workspace(options.workspace.workspace)), os.environ
        )
    if days is None:
        raise UsageError(
            "say for how long: --days N", hint="the setting `cleanup_period_days` is not set: sessions stay"
        )
    store = session_store(options.session)
    before = datetime.now(UTC) - timedelta(days=min(days, MAX_DAYS))
    old = [head.name for head in store.list() if head.updated_at < before and not head.problem]
    if not old:
        return print_lines([f"every session was used in the last {plural(days, 'day')}"])
    if values["dry_run"]:
        return print_lines([*old, f"{plural(len(old), 'session')} would be removed"])
    if not _may_remove(invocation, f"{_some(old)}, not used for {plural(days, 'day')}", "prune"):
        return print_lines(["nothing was removed"]) or 1
    workspaces = {head.name: head.workspace for head in store.list()}
    gone = store.remove_unused(before)
    _forget_checkpoints({name: workspaces.get(name, "") for name in gone})
    for name in old:
        if name not in gone:
            complain(f"caliban: {name} stays: it is in use, or was used meanwhile, or cannot be removed\n")
    return print_lines(
        [f"removed {plural(len(gone), 'session')}: {_some(gone)}" if gone else "nothing was removed"]
    )


def _forget_checkpoints(workspaces: Mapping[str, str]) -> None:
    for problem in forget_checkpoints(workspaces, os.environ):
        complain(f"caliban: {problem}\n")


def _store_with(invocation: Invocation, name: str) -> SessionStore:
    """The store, which has a session `name`. Raises `MissingError`."""
    store = session_store(invocation.options.session)
    require_session(store, name)
    return store


def _may_remove(invocation: Invocation, what: str, verb: str) -> bool:
    """Whether a person agrees to remove `what`. Raises `CommandRefused` where nobody can be asked."""
    if invocation.values["yes"]:
        return True
    if not can_answer():
        raise CommandRefused(f"{verb}: nobody can be asked here", hint="--yes removes without asking")
    return says_yes(f"remove {what}? It cannot be undone.", invocation.signals)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
