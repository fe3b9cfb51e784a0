"""The plugins of a run, where there may be some: without any, a look at each place and nothing more."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from caliban.cli.options import Options
from caliban.compose.project import Project
from caliban.errors import ConfigError
from caliban_common.paths import data_dir, managed_settings_dir
from caliban_drive.notice import Report

STRICT_ONLY: Final = "CALIBAN_STRICT_PLUGIN_ONLY_CUSTOMIZATION"
OWN: Final = "plugins"


def with_plugins(
    project: Project, options: Options, workspace: Path, environ: Mapping[str, str], report: Report
) -> Project:
    """`project` with the plugins that count in `workspace`; what is left out is reported.

    Raises `ConfigError` where the folder of plugins cannot be believed, and for a flag that names none.
    """
    if environ.get(STRICT_ONLY):
        raise ConfigError(
            f"{STRICT_ONLY} is set, and leaving customisation to plugins is not in this version"
        )
    if not _may_have_some(project, options):
        return project
    from caliban.compose.plugins.chosen import PluginInputs, find_plugins

    return find_plugins(
        PluginInputs(project=project, options=options, workspace=workspace, environ=environ, report=report)
    )


def _may_have_some(project: Project, options: Options) -> bool:
    if options.extensions.no_plugins:
        return False
    if options.extensions.plugin_dir:
        return True
    if options.settings.bare:
        return False
    settings = project.settings
    return (
        bool(project.files.plugins)
        or os.path.isdir(os.path.join(data_dir(), OWN))  # noqa: PTH112, PTH118 - on every start
        or os.path.isdir(os.path.join(managed_settings_dir(), OWN))  # noqa: PTH112, PTH118 - the same
        or bool(settings.get("enabled_plugins"))
        or bool(settings.get("plugins"))
    )
