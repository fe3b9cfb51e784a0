"""The session of a run: which one, and where it is kept."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from caliban.cli.options import SessionOptions
from caliban.compose.choice import SessionModel
from caliban.errors import MissingError
from caliban_common.message import Message
from caliban_common.paths import data_dir, expand_user
from caliban_drive.store import Store
from caliban_sessions import SessionExists, SessionState, SessionStore, check_name

EPHEMERAL = "ephemeral"


class SavedSession(Struct, frozen=True, kw_only=True):
    """What is known of the conversation before this run. Without a `store` nothing will be remembered."""

    id: str
    messages: tuple[Message, ...] = ()
    store: Store | None = None
    provider: str | None = None
    model: str | None = None
    prefix: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def resumed(self) -> bool:
        """Whether there is anything to continue."""
        return bool(self.messages)

    @property
    def model_before(self) -> SessionModel | None:
        """Whom a resumed session goes on with, unless the flags say otherwise."""
        if not self.resumed:
            return None
        return SessionModel(session_id=self.id, provider=self.provider, model=self.model)


class Sessions(Struct, frozen=True, kw_only=True):
    """Where conversations are kept, and the one that goes on."""

    options: SessionOptions
    saved: SavedSession

    def open(self, *, provider: str, model: str) -> SavedSession:
        """The one that goes on, or a new one, with its store open for writing.

        `--no-save` leaves it in memory. A fork leaves the saved one as it is and goes on from it.
        """
        options, saved = self.options, self.saved
        if options.no_save:
            return saved if saved.resumed and not options.fork_session else replace(saved, id=EPHEMERAL)
        store = _store(options)
        if options.fork_session:
            name = options.session or store.fresh_name()
            session = store.fork(saved.id, name)
        else:
            old = saved.id if saved.provider is not None else None
            name = options.session or old or store.fresh_name()
            session = store.open(name, create=True, provider=provider, model=model)
        session.note(provider=provider, model=model)  # the next run goes on with what was used last
        return SavedSession(
            id=name,
            messages=session.state.messages,
            store=session,
            provider=provider,
            model=model,
            prefix=session.state.prefix,
        )


def find_sessions(options: SessionOptions) -> Sessions:
    """The session to continue or to fork, read without a lock: who it was with decides the provider.

    Raises `MissingError` when it is not there, and the store's errors.
    """
    store = _store(options)
    if options.session is not None:
        check_name(options.session)
    name = _existing(options, store)
    if name is None:
        return Sessions(options=options, saved=SavedSession(id=options.session or EPHEMERAL))
    if options.fork_session:
        _check_free(options, store)
    return Sessions(options=options, saved=_remembered(name, store.load(name)))


def _store(options: SessionOptions) -> SessionStore:
    if options.sessions_dir is not None:
        return SessionStore(expand_user(options.sessions_dir).absolute())
    return SessionStore(data_dir() / "sessions")


def _check_free(options: SessionOptions, store: SessionStore) -> None:
    """Refuse a taken name before anything is asked or read; forking looks again under the lock."""
    if options.session is not None and store.exists(options.session):
        raise SessionExists(
            f"there is a session {options.session!r} already in {store.directory}",
            hint="give the fork another --session name, or none",
        )


def _existing(options: SessionOptions, store: SessionStore) -> str | None:
    if options.continue_session:
        latest = store.latest()
        if latest is None:
            raise MissingError("no sessions to continue", hint="leave --continue out to begin one")
        return latest
    if options.resume is not None:
        if not store.exists(options.resume):
            raise MissingError(
                f"there is no session {options.resume!r} in {store.directory}",
                hint=f"caliban --session {options.resume} begins one",
            )
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
        warnings=state.warnings,
    )
