"""The files that lie beside a skill: their names, and the text of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.text import one_line
from caliban_skills.errors import ResourceRefused
from caliban_skills.skill import FILE, Skill

MAX_LISTED: Final = 100
MAX_LOOKED_AT: Final = 2000
MAX_RESOURCE_BYTES: Final = 256 * 1024


def resource_names(skill: Skill) -> tuple[tuple[str, ...], bool]:
    """The files of `skill` below its folder, with `/`, sorted; and whether there are more. Blocks."""
    if skill.folder is None:
        return (), False
    names = sorted(_walk(skill.folder))
    return tuple(names[:MAX_LISTED]), len(names) > MAX_LISTED


def read_resource(skill: Skill, name: str) -> str:
    """The text of a file of `skill`. Blocks. Raises `ResourceRefused`."""
    shown = f"{skill.name}/{one_line(name, max_chars=200)}"
    if skill.folder is None:
        raise ResourceRefused(f"{shown}: the skill {skill.name} has no files")
    try:
        root = skill.folder.resolve(strict=True)
        path = (root / name).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise ResourceRefused(f"{shown}: there is no such file") from error
    if not path.is_relative_to(root):
        raise ResourceRefused(f"{shown}: it lies outside of the skill")
    try:
        return decode_text(read_regular(path, max_bytes=MAX_RESOURCE_BYTES))
    except CalibanError as error:
        raise ResourceRefused(f"{shown}: {error.message}") from error


def _walk(folder: Path) -> Iterator[str]:
    looked_at = 0
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            looked_at += 1
            if looked_at > MAX_LOOKED_AT:
                return
            path = Path(place, name)
            if not name.startswith(".") and not path.is_symlink() and path != folder / FILE:
                yield path.relative_to(folder).as_posix()
