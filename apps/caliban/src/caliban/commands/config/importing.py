"""`caliban settings import`: another harness's settings, or older ones of ours, in the file of a scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from caliban.cli.invocation import Invocation
from caliban.cli.tables.config import FILES
from caliban.commands.config.change import chosen_scope
from caliban.compose.settings import scope_file
from caliban.compose.shown import shown_text
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, ConfigError, MissingError
from caliban.stdio import complain, print_text
from caliban_common.errors import FileFailed, NotRegularFile, TooLarge
from caliban_common.files import read_regular
from caliban_common.paths import expand_user
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_hooks import BadHook, read_hooks
from caliban_permissions.errors import ImportRefused
from caliban_permissions.importers import BUCKETS, import_table
from caliban_settings import SettingsError
from caliban_settings.edit.carry import with_carried
from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.store import OWN_FILE
from caliban_settings.edit.values import check_text
from caliban_settings.errors import SettingsNotWritten
from caliban_settings.foreign.read import harness_of, translate
from caliban_settings.foreign.translated import Carried, NotCarried
from caliban_settings.parse import MAX_BYTES, parse
from caliban_settings.place import line_of

NAMES: Mapping[str, str] = {"claude": "Claude Code", "codex": "Codex", "caliban": "caliban"}
NOTHING = 1


def import_settings(invocation: Invocation) -> int:
    """Write what can be carried over, and name the rest. Exit: 1 when there is nothing to carry."""
    values = invocation.values
    scope = chosen_scope(values["scope"], FILES)
    workspace = build_workspace(invocation.options.workspace.workspace)
    target = scope_file(scope, workspace)
    path = expand_user(values["source"])
    data, text = _read(path)
    toml = path.suffix == ".toml"
    harness = harness_of(data, toml=toml)
    translated = translate(data, harness)
    rules, refused = _rules(data) if harness == "claude" else ((), ())
    carried, left_out = _checked((*translated.carried, *rules), target, str(path))
    result: list[tuple[str, int, tuple[NotCarried, ...]]] = []

    def change(before: str) -> str:
        result[:] = [with_carried(before, carried, scope)]
        check_text(result[0][0], scope, target.path)
        return result[0][0]

    changed = _applied(target, change, dry=values["dry_run"])
    _, count, more = result[0]
    remarks = [(item.path, f"{item.name}: {item.why}") for item in (*translated.left_out, *left_out, *more)]
    remarks += [(("permissions", words.partition("[")[0]), f"permissions.{words}") for words in refused]
    for where, words in remarks:
        line = line_of(text, where, toml=toml)
        place = str(path) if line is None else f"{path}:{line}"
        complain(f"caliban: not carried over: {place}: {one_line(words, max_chars=400)}\n")
    if not carried:
        complain(f"caliban: {path} says nothing that could be carried over\n")
        return NOTHING
    if values["dry_run"]:
        complain(f"caliban: nothing is written; {target.path} would be:\n")
        return print_text(shown_text(changed.encode()))
    summary = f"{target.path}: {plural(count, 'setting')} of {NAMES[harness]} written\n"
    return print_text(visible(summary))


def _applied(target: SettingsFile, change: Any, *, dry: bool) -> str:
    """The text of the file after `change`, which is written unless `dry`."""
    try:
        if dry:
            before = target.read().decode("utf-8", "replace") if target.path.exists() else ""
            return str(change(before))
        target.rewrite(change)
        return ""
    except SettingsNotWritten as error:
        raise CommandRefused(error.message, hint=error.hint) from error
    except SettingsError as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _read(path: Path) -> tuple[dict[str, Any], str]:
    try:
        raw = read_regular(path, max_bytes=MAX_BYTES)
    except (FileFailed, NotRegularFile, TooLarge) as error:
        raise MissingError(error.message, hint=error.hint) from error
    try:
        return parse(raw, name=str(path), toml=path.suffix == ".toml")
    except SettingsError as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _rules(data: Mapping[str, Any]) -> tuple[tuple[Carried, ...], tuple[str, ...]]:
    """The rules of Claude's permissions in buckets, and words about those that have no equal."""
    table = data.get("permissions")
    if not isinstance(table, Mapping) or not set(BUCKETS) & table.keys():
        return (), ()
    own = {name: table[name] for name in BUCKETS if name in table}
    try:
        imported = import_table({"permissions": own}, foreign=True)
    except ImportRefused as error:
        return (), (error.message,)
    patterns = {
        action: [rule.pattern for rule in imported.rules if rule.action == action] for action in BUCKETS
    }
    carried = tuple(
        Carried(path=("permissions", action), value=bucket, source=("permissions", action))
        for action, bucket in patterns.items()
        if bucket
    )
    return carried, imported.left_out


def _checked(
    items: tuple[Carried, ...], target: SettingsFile, name: str
) -> tuple[tuple[Carried, ...], tuple[NotCarried, ...]]:
    """`items` without hooks that could not run and rules that would not count in that scope."""
    kept: list[Carried] = []
    left_out: list[NotCarried] = []
    ruled = target.scope != "local" and (target.path.parent / OWN_FILE).exists()
    for item in items:
        why = next(_objections(item, name, ruled=ruled), "")
        if why:
            left_out.append(NotCarried(path=item.source, why=why))
        else:
            kept.append(item)
    return tuple(kept), tuple(left_out)


def _objections(item: Carried, name: str, *, ruled: bool) -> Iterator[str]:
    if item.path[0] == "permissions" and ruled:
        yield f"the rules of this scope stand in {OWN_FILE}: caliban perms import --from {name}"
    if item.path[0] == "hooks":
        try:
            read_hooks({item.path[1]: item.value}, source=name)
        except BadHook as error:
            yield error.message.removeprefix(f"{name}: ")
