"""The settings of a run."""

from __future__ import annotations

from pathlib import Path

from caliban.cli.options import SettingsOptions
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_settings import Settings, load_settings

BARE_SOURCES = ("managed",)


def build_settings(options: SettingsOptions, workspace: Path) -> Settings:
    """The merged settings. `--bare` reads the administrator's only. Raises `SettingsError`."""
    sources: tuple[str, ...] | None = None
    if options.setting_sources is not None:
        sources = tuple(name.strip() for name in options.setting_sources.split(",") if name.strip())
    elif options.bare:
        sources = BARE_SOURCES
    return load_settings(
        workspace=workspace,
        config_dir=config_dir(),
        managed_dir=managed_settings_dir(),
        sources=sources,
        overlay=options.settings,
        trusted=options.trust_project,
    )
