"""What `caliban doctor` says of files of instructions and notes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from caliban.cli.options import Options
from caliban.compose.memory.places import memory_places
from caliban.compose.memory.run import RunMemory
from caliban.errors import UsageError
from caliban_common.text import plural
from caliban_settings import Settings


def memory_row(
    options: Options, settings: Settings, workspace: Path, environ: Mapping[str, str]
) -> tuple[Literal["pass", "warn", "fail"], str]:
    """How memory stands: pass, warn or fail, and words."""
    try:
        places = memory_places(options, settings, workspace, environ)
    except UsageError as error:
        return "fail", error.message
    warnings: list[str] = []
    memory = RunMemory(places, workspace, lambda notice: warnings.append(notice.message)).found
    files = () if memory is None else memory.files
    written = sum(file.tier != "auto" for file in files)
    counts = f"{plural(written, 'file')} of instructions, {sum(file.tokens for file in files):,} tokens"
    if warnings:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        return "warn", f"{counts}; {warnings[0]}{more}"
    if not written:
        return "warn", "no file of instructions; caliban init drafts one"
    return "pass", counts
