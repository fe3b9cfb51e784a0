"""The files of the auto mode: the administrator's and the person's own, never a repository's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from caliban.cli.options import SettingsOptions
from caliban.errors import ConfigError
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_permissions.auto.lists import FILE_NAME, AutoLists, auto_lists
from caliban_permissions.errors import RuleError
from caliban_settings.source import refuse_foreign_policy

MAX_BYTES: Final = 1 << 20


def read_auto_lists(options: SettingsOptions, workspace: Path, report: Report) -> AutoLists:
    """The lists that count here. Raises `ConfigError` for a file with anything wrong in it."""
    directory = managed_settings_dir()
    managed = directory / FILE_NAME
    places = [managed]
    if _reads_user(options):
        places.append(config_dir() / FILE_NAME)
    foreign = workspace / ".caliban" / FILE_NAME
    if foreign.is_file():
        message = f"{foreign} is not used: only your own or managed lists say what the auto mode allows"
        report(Notice(subtype="auto_mode_file", message=message))
    files = {}
    for path in places:
        if path.is_symlink() or path.exists():
            try:
                if path == managed:
                    refuse_foreign_policy(directory)
                    refuse_foreign_policy(path)
                files[str(path)] = _table(path)
            except CalibanError as error:
                raise ConfigError(error.message, hint=error.hint) from error
    try:
        return auto_lists(files)
    except RuleError as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _reads_user(options: SettingsOptions) -> bool:
    if options.setting_sources is not None:
        return "user" in (name.strip() for name in options.setting_sources.split(","))
    return not options.bare


def _table(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_regular(path, max_bytes=MAX_BYTES).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not TOML: {one_line(str(error))}") from error
