"""Where the programs are that fetch for us: on the person's PATH, and never in a folder that is relative."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from caliban_plugins.errors import SourceFailed


def program_on(env: Mapping[str, str], name: str) -> str:
    """The program `name` by the PATH of `env`. Raises `SourceFailed` where it is not installed."""
    entries = [item for item in env.get("PATH", os.defpath).split(os.pathsep) if Path(item).is_absolute()]
    program = shutil.which(name, path=os.pathsep.join(entries))
    if program is None:
        raise SourceFailed(
            f"{name} is not installed", hint=f"install {name}, or take the plugin from another place"
        )
    return program
