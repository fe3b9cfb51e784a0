"""`caliban config migrate`: the files of one feature each, which older versions had, in one settings.toml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from caliban.cli.invocation import Invocation
from caliban.commands.config.change import chosen_scope
from caliban.compose.settings import scope_file
from caliban.compose.shown import shown_value
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, ConfigError
from caliban.stdio import complain, print_text
from caliban_settings import SettingsError
from caliban_settings.edit.migrate import Migration, migration_of
from caliban_settings.errors import SettingsNotWritten

DONE: Final = ".migrated"


def migrate(invocation: Invocation) -> int:
    """Write one file, and set the others aside; with --dry-run print what it would say."""
    scope = chosen_scope(invocation.values["scope"])
    target = scope_file(scope, build_workspace(invocation.options.workspace.workspace))
    try:
        plan = migration_of(target)
    except SettingsNotWritten as error:
        raise CommandRefused(error.message, hint=error.hint) from error
    except SettingsError as error:
        raise ConfigError(error.message, hint=error.hint) from error
    for words in plan.remarks:
        complain(f"caliban: {words}\n")
    if not plan.files:
        complain(f"caliban: there is nothing to migrate in {target.path.parent}\n")
    if invocation.values["dry_run"]:
        shown = shown_value((), plan.data)
        return print_text(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
    if not plan.files:
        return 0
    return _migrate(target, plan)


def _migrate(target: Any, plan: Migration) -> int:
    try:
        target.rewrite(plan.change)
        for path in plan.files:
            path.replace(_aside(path))
    except SettingsNotWritten as error:
        raise CommandRefused(error.message, hint=error.hint) from error
    except SettingsError as error:
        raise ConfigError(error.message, hint=error.hint) from error
    except OSError as error:
        raise CommandRefused(f"{target.path} is written; {error.strerror}: {error.filename}") from error
    names = ", ".join(f"{path.name} (kept as {_aside(path).name})" for path in plan.files)
    return print_text(f"{target.path}: has what was in {names}\n")


def _aside(path: Path) -> Path:
    return path.with_name(path.name + DONE)
