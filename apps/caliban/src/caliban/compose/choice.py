"""What the choice of a model goes by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from caliban.cli.options import ModelOptions, SettingsOptions
from caliban_settings import Settings


class ModelInputs(Struct, frozen=True, kw_only=True):
    """Flags, settings and environment, and where routes may be written.

    `sources` say whether the routes of a repository count, and whether a file is looked for at all.
    """

    options: ModelOptions = ModelOptions()
    settings: Settings
    environ: Mapping[str, str] = field(default_factory=dict)
    workspace: Path
    sources: SettingsOptions = SettingsOptions()
