"""Completions for the arguments of commands; none is asked for over the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from caliban.compose.app import App
from caliban_drive.session import Session

Words: TypeAlias = Callable[[App, Session], Iterable[str]]


def words_of(name: str, app: App, session: Session) -> tuple[str, ...]:
    """The words that command `name` takes."""
    return tuple(COMPLETED[name](app, session))


def _models(app: App, session: Session) -> Iterable[str]:
    from caliban.compose.switch import known_models

    return known_models(app, session)


def _efforts(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.models import efforts_of

    return (*efforts_of(session), "auto")


def _sessions(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.sessions import heads_here

    return (head.name for head in heads_here(app)[:50])


def _themes(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.screen import theme_names

    return theme_names(app)


def _painters(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.screen import PAINTERS

    return PAINTERS


def _details(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.screen import DETAILS

    return DETAILS


def _styles(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.extensions import styles_of

    return (style.name for style in styles_of(app).styles)


def _modes(app: App, session: Session) -> Iterable[str]:
    from caliban.slash.permissions import MODES

    return (mode for mode in MODES if app.permissions.bars_mode(mode) is None)


def _servers(app: App, session: Session) -> Iterable[str]:
    return () if app.servers is None else (status.name for status in app.servers.fleet.statuses)


def _skills(app: App, session: Session) -> Iterable[str]:
    return () if app.extensions.skills is None else (skill.name for skill in app.extensions.skills.skills)


def _keys(app: App, session: Session) -> Iterable[str]:
    from caliban_settings import SCHEMA

    return (key.path for key in SCHEMA)


COMPLETED: Final[Mapping[str, Words]] = MappingProxyType(
    {
        "model": _models,
        "effort": _efforts,
        "resume": _sessions,
        "theme": _themes,
        "output-style": _styles,
        "permissions": _modes,
        "mcp": _servers,
        "skills": _skills,
        "config": _keys,
        "think": lambda app, session: ("on", "off"),
        "tui": _painters,
        "view": _details,
        "memory": lambda app, session: ("list", "show ", "edit ", "delete "),
        "export": lambda app, session: ("--format=md", "--format=json", "--format=html"),
    }
)
"""The commands whose arguments can be completed."""
