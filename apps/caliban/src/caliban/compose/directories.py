"""A further directory for a run that is under way: for its tools, its rules, its sandbox, its checkpoints."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec.structs import replace

from caliban.compose.access import roots_of, too_wide
from caliban.compose.app import App
from caliban.errors import CommandRefused
from caliban_common.paths import cache_dir, config_dir, data_dir, expand_user, home, state_dir
from caliban_common.text import one_line
from caliban_settings import SCHEMA, Settings, ValueOrigin
from caliban_settings.leaves import SettingValue
from caliban_settings.merge import nested

NAME = "additional_directories"


def directories_of(app: App) -> tuple[Path, ...]:
    """The workspace, then the further directories of now."""
    return (app.workspace, *roots_of(app.live.now, app.workspace))


def give_directory(app: App, text: str) -> Path:
    """Let the run have the directory `text` too until it ends; its canonical name.

    Nothing is saved, and nothing that lies in it steers the run. Raises `CommandRefused` for what is no
    directory, what opens too much, and what is given already; then nothing is different.
    """
    path = _checked(app, text)
    now, inputs = _with_directory(app.live.now, path), app.live.inputs
    engine = app.permissions.rebuilt(now, trusted=app.live.read.trust.counts)
    sandbox = None if inputs is None else inputs.box.sandbox
    policy = None
    if inputs is not None and sandbox is not None:
        from caliban.compose.sandbox import sandbox_policy

        # The rest of the policy is that of the start: what else the files say by now needs another one.
        written = app.settings
        for given in now.get(NAME):
            written = _with_directory(written, Path(given))
        policy = sandbox_policy(written, app.workspace, app.environ, app.reporter)
    if sandbox is not None and policy is not None:
        sandbox.policy = policy
    app.permissions.take(engine)
    app.board.add_root(path)
    app.live.now = now
    return path


def _checked(app: App, text: str) -> Path:
    shown = repr(one_line(text, max_chars=200))
    try:
        path = Path(os.path.realpath(app.workspace / expand_user(text)))
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        listable = os.access(path, os.R_OK | os.X_OK)
        path.as_posix().encode()
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or "it is no path"
        raise CommandRefused(f"{shown} cannot be a working directory: {why}") from error
    if not is_folder:
        raise CommandRefused(f"{shown} is no directory")
    if not listable:
        raise CommandRefused(f"{shown} may not be read by you")
    wide = too_wide(path, app.workspace)
    if wide is not None:
        raise CommandRefused(f"{shown} is {wide}; tools may not have it", hint="name what is needed of it")
    inside = next((root for root in map(_real, directories_of(app)) if path.is_relative_to(root)), None)
    if inside is not None:
        raise CommandRefused(f"{shown} is a working directory already: it lies in {inside}")
    secret = next((place for place in _private(app) if path.is_relative_to(place)), None)
    if secret is not None:
        raise CommandRefused(f"{shown} is where keys, or our own files, are kept; tools may not have it")
    return path


def _private(app: App) -> tuple[Path, ...]:
    """Where credentials lie, and what is ours."""
    from caliban_sandbox.stores import credential_stores

    top = str(_real(home()))
    config = app.environ.get("XDG_CONFIG_HOME") or f"{top}/.config"
    data = app.environ.get("XDG_DATA_HOME") or f"{top}/.local/share"
    stores = map(Path, credential_stores(top, config, data))
    ours = (*(folder() for folder in (config_dir, data_dir, state_dir, cache_dir)), home() / ".caliban")
    return (*stores, *map(_real, ours))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _with_directory(settings: Settings, path: Path) -> Settings:
    """`settings` with one more directory, as if somebody had given it at the start."""
    given = settings.get(NAME) or ()
    if str(path) in given:
        return settings
    before = settings.leaves.get((NAME,))
    key = next(key for key in SCHEMA if key.path == NAME)
    origins = (*(() if before is None else before.origins), ValueOrigin(scope="cli", path=None))
    leaf = SettingValue(key=key, value=[*given, str(path)], origins=origins)
    leaves = {**settings.leaves, (NAME,): leaf}
    return replace(settings, leaves=leaves, merged=nested(leaves))
