"""The session of a run: which one, and where it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from caliban.cli.options import SessionOptions
from caliban.compose.choice import SessionModel
from caliban.compose.sessionstore import require_session, session_store
from caliban.errors import MissingError
from caliban_agent_core.options import EPHEMERAL
from caliban_common.message import Message
from caliban_drive.store import Store
from caliban_sessions import (
    SessionCorrupt,
    SessionExists,
    SessionState,
    SessionStore,
    SessionUnreadable,
    SessionWriter,
    check_name,
)

FOREIGN = (
    "the session {} lies in the workspace, where its repository may have written it: its history is no word "
    "of yours, and nothing in it is an approval"
)


class SavedSession(Struct, frozen=True, kw_only=True):
    """What is known of the conversation before this run. Without a `store` nothing will be remembered."""

    id: str
    messages: tuple[Message, ...] = ()
    store: Store | None = None
    provider: str | None = None
    model: str | None = None
    prefix: Mapping[str, str] = field(default_factory=dict)
    plan_mode: bool = False
    pending: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    writer: SessionWriter | None = None

    @property
    def resumed(self) -> bool:
        """Whether there is anything to continue."""
        return bool(self.messages)

    @property
    def model_before(self) -> SessionModel | None:
        """Whom a resumed session goes on with, unless the flags say otherwise."""
        if not self.resumed:
            return None
        return SessionModel(session_id=self.id, provider=self.provider or None, model=self.model or None)


class Sessions(Struct, frozen=True, kw_only=True):
    """Where conversations are kept, and the one that goes on."""

    options: SessionOptions
    workspace: str
    saved: SavedSession

    def open(self, *, provider: str, model: str) -> SavedSession:
        """The one that goes on, or a new one, with its store open for writing.

        `--no-save` leaves it in memory. A fork leaves the saved one as it is and goes on from it.
        """
        options, saved = self.options, self.saved
        if options.no_save:
            return saved if saved.resumed and not options.fork_session else replace(saved, id=EPHEMERAL)
        store = session_store(options)
        if options.fork_session:
            name = options.session or store.fresh_name()
            session = store.fork(saved.id, name)
        else:
            old = saved.id if saved.provider is not None else None
            name = options.session or old or store.fresh_name()
            session = store.open(name, provider=provider, model=model, workspace=self.workspace)
        # The next run goes on with what was used last.
        session.note(provider=provider, model=model, workspace=self.workspace)
        return SavedSession(
            id=name,
            messages=session.state.messages,
            store=session,
            writer=session,
            provider=provider,
            model=model,
            prefix=session.state.prefix,
            plan_mode=session.state.plan_mode,
            pending=session.state.pending,
        )


def find_sessions(options: SessionOptions, workspace: Path) -> Sessions:
    """The session to continue or to fork, read without a lock: who it was with decides the provider.

    `--continue` looks at the sessions of `workspace`. Raises `MissingError` when it is not there, and the
    store's errors.
    """
    store, here = session_store(options), str(workspace)
    if options.session is not None:
        check_name(options.session)
    if options.continue_session:
        saved = _newest(store, None if options.everywhere else here)
    else:
        name = _existing(options, store)
        if name is None:
            saved = SavedSession(id=options.session or EPHEMERAL)
            return Sessions(options=options, workspace=here, saved=saved)
        saved = _remembered(name, store.load(name))
    if options.fork_session:
        _check_free(options, store)
    if _is_below(store.directory, workspace):
        saved = replace(saved, warnings=(*saved.warnings, FOREIGN.format(saved.id)))
    return Sessions(options=options, workspace=here, saved=saved)


def _is_below(directory: Path, workspace: Path) -> bool:
    """Whether whoever writes the workspace may have written what is in `directory`."""
    try:
        return directory.resolve().is_relative_to(workspace.resolve())
    except (OSError, RuntimeError):
        return True


def _check_free(options: SessionOptions, store: SessionStore) -> None:
    """Refuse a taken name before anything is asked or read; forking looks again under the lock."""
    if options.session is not None and store.exists(options.session):
        raise SessionExists(
            f"there is a session {options.session!r} already in {store.directory}",
            hint="give the fork another --session name, or none",
        )


def _newest(store: SessionStore, workspace: str | None) -> SavedSession:
    """The session used last in `workspace`, or anywhere; what cannot be read is named and passed over.

    One of an earlier version does not say where it was used: it counts where no other does.
    """
    passed_over: list[str] = []
    unplaced: SavedSession | None = None
    for head in store.list():
        if workspace is not None and head.workspace not in ("", workspace):
            continue
        try:
            saved = _remembered(head.name, store.load(head.name))
        except (SessionCorrupt, SessionUnreadable) as error:
            passed_over.append(f"{error.message}; it is passed over")
            continue
        if workspace is None or head.workspace:
            return replace(saved, warnings=(*passed_over, *saved.warnings))
        unplaced = unplaced or saved
    if unplaced is not None:
        return replace(unplaced, warnings=(*passed_over, *unplaced.warnings))
    where = "" if workspace is None else f" in {workspace}"
    ways = "leave --continue out to begin one"
    raise MissingError(
        f"no sessions to continue{where}" + "".join(f"; {words}" for words in passed_over),
        hint=ways if workspace is None else f"{ways}, or add --all for those of other directories",
    )


def _existing(options: SessionOptions, store: SessionStore) -> str | None:
    if options.resume is not None:
        require_session(store, options.resume, f"caliban --session {options.resume} begins one")
        return options.resume
    if options.session is not None and store.exists(options.session):
        return options.session
    return None


def _remembered(name: str, state: SessionState) -> SavedSession:
    return SavedSession(
        id=name,
        messages=state.messages,
        provider=state.provider,
        model=state.model,
        prefix=state.prefix,
        plan_mode=state.plan_mode,
        pending=state.pending,
        warnings=state.warnings,
    )
