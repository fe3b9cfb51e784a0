"""`caliban config edit`: edit a copy of a scope's file, which replaces the file once it is valid."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from caliban.cli.invocation import Invocation
from caliban.commands.asked import can_answer, says_yes
from caliban.commands.config.change import chosen_scope
from caliban.compose.settings import scope_file
from caliban.compose.workspace import build_workspace
from caliban.early_signals import EarlySignals
from caliban.errors import CommandCancelled, CommandRefused, ConfigError
from caliban.stdio import complain, print_text
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_process.foreground import run_in_foreground
from caliban_settings import SettingsError
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.values import check_text
from caliban_settings.errors import SettingsNotWritten
from caliban_settings.parse import MAX_BYTES

EDITORS = ("VISUAL", "EDITOR")
DEFAULT_EDITOR = "vi"
REJECTED = ".rejected"


def edit_settings(invocation: Invocation) -> int:
    """Let a person edit a file; an invalid result is kept beside it and never replaces it."""
    scope = chosen_scope(invocation.values["scope"])
    file = scope_file(scope, build_workspace(invocation.options.workspace.workspace))
    before = file.read().decode("utf-8", "replace") if file.path.exists() else ""
    with tempfile.TemporaryDirectory(prefix="caliban-") as folder:
        copy = Path(folder) / file.path.name
        write_atomic(copy, before.encode(), mode=0o600)
        while True:
            _run_editor(copy)
            after = _edited(copy)
            if after == before:
                return print_text(f"{file.path}: nothing was changed\n")
            problem = _problem(after, file)
            if problem is None:
                break
            complain(f"caliban: {problem.message}\n")
            if not _again(invocation.signals):
                raise _kept(file, after) from problem
    return _put(file, before, after)


def _edited(copy: Path) -> str:
    """What the editor has left behind. Raises `CommandRefused` where that is no file."""
    try:
        return read_regular(copy, max_bytes=MAX_BYTES).decode("utf-8", "replace")
    except CalibanError as error:
        raise CommandRefused(f"nothing is changed: the editor left no text: {error.message}") from error


def _put(file: SettingsFile, before: str, after: str) -> int:
    def change(present: str) -> str:
        if present != before:
            raise SettingsNotWritten(f"{file.path} was changed by somebody else meanwhile")
        return after

    try:
        file.rewrite(change, mends=True)
    except SettingsNotWritten as error:
        side = _aside(file, after)
        raise CommandRefused(error.message, hint=f"your text is kept in {side}") from error
    for words in check_text(after, file.scope, file.path):
        complain(f"caliban: {words}\n")
    return print_text(f"{file.path}: is written\n")


def _problem(text: str, file: SettingsFile) -> SettingsError | None:
    try:
        check_text(text, file.scope, file.path)
    except SettingsError as error:
        return error
    return None


def _again(signals: EarlySignals) -> bool:
    """Whether the person wants to edit it again; a signal counts as no, so that the text is kept."""
    try:
        return can_answer() and says_yes("caliban: edit it again?", signals, default=True)
    except CommandCancelled:
        return False


def _kept(file: SettingsFile, text: str) -> ConfigError:
    side = _aside(file, text)
    return ConfigError(
        f"{file.path} is as it was: what you wrote cannot be used",
        hint=f"it is kept in {side}",
    )


def _aside(file: SettingsFile, text: str) -> Path:
    side = file.path.with_name(file.path.name + REJECTED)
    try:
        ensure_private_dir(side.parent)
        write_atomic(side, text.encode(), mode=0o600)
    except CalibanError:
        side = Path(tempfile.mkdtemp(prefix="caliban-")) / side.name
        write_atomic(side, text.encode(), mode=0o600)
    return side


def _run_editor(path: Path) -> None:
    """Run the editor of the environment at this terminal. Raises `CommandRefused` where it fails."""
    line = next((os.environ[name] for name in EDITORS if os.environ.get(name, "").strip()), DEFAULT_EDITOR)
    try:
        code = run_in_foreground([*shlex.split(line), str(path)])
    except (OSError, ValueError) as error:
        raise CommandRefused(
            f"the editor {line!r:.80} cannot be started: {error}", hint="name another one in EDITOR"
        ) from error
    if code != 0:
        raise CommandRefused(f"the editor {line!r:.80} ended with {code}; nothing is changed")
