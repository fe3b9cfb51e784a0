"""Where memory may be, and the quick look whether there is any: names alone, nothing is loaded or read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban.cli.options import Options
from caliban.errors import UsageError
from caliban_common.paths import config_dir, data_dir, expand_user, home, managed_settings_dir, project_slug
from caliban_settings import Settings

NAMES: Final = (".caliban.md", "CLAUDE.md", "AGENTS.md")
"""As `caliban_memory` has them: a test compares."""
GLOBAL_NAME: Final = "CLAUDE.md"
INDEX_NAME: Final = "MEMORY.md"
RULES: Final = ".caliban/rules"
PREFIX: Final = "CALIBAN_"
OFF: Final = ("", "0", "false", "no", "off")


class MemoryPlaces(Struct, frozen=True, kw_only=True):
    """What flags, settings and environment say of memory; `None` leaves a tier out.

    `of_project` is whether the project's files count. What files may import from outside is in the file
    `approvals`; with `approves` it is anything. Caps are tokens.
    """

    workspace: Path
    managed_dir: Path | None
    config_dir: Path | None
    auto_dir: Path | None
    of_project: bool
    wants_notes: bool = False
    walks: bool = True
    approves: bool = False
    approvals: Path | None = None
    excludes: tuple[str, ...] = ()
    additional: tuple[Path, ...] = ()
    cap_auto: int | None = None
    cap_claude_md: int | None = None
    cap_combined: int | None = None
    names: tuple[str, ...] = NAMES
    index_name: str = INDEX_NAME


def memory_places(
    options: Options, settings: Settings, workspace: Path, environ: Mapping[str, str]
) -> MemoryPlaces | None:
    """Where a run looks; `None` where flags replace the whole system prompt.

    `--bare` leaves only what the administrator says. Raises `UsageError` for a variable that is no number.
    """
    if options.system.is_given:
        return None
    bare = options.settings.bare
    named = options.settings.setting_sources
    sources = None if named is None else [name.strip() for name in named.split(",")]
    of_user = not bare and (sources is None or "user" in sources)
    of_project = not bare and (sources is None or "project" in sources)
    enabled = settings.get("memory.auto_memory_enabled")
    off = bare or enabled is False or _is_on(environ, "DISABLE_AUTO_MEMORY")
    return MemoryPlaces(
        workspace=workspace,
        managed_dir=managed_settings_dir(),
        config_dir=config_dir() if of_user else None,
        auto_dir=None if off else _auto_dir(settings, workspace, environ),
        of_project=of_project,
        wants_notes=enabled is True,
        walks=not _is_on(environ, "DISABLE_CLAUDE_MD_WALK"),
        approves=_is_on(environ, "APPROVE_IMPORTS"),
        approvals=home() / ".caliban" / "imports-allowlist.json",
        excludes=(*(settings.get("claude_md_excludes") or ()), *_split(environ, "CLAUDE_MD_EXCLUDES")),
        additional=_additional(settings, workspace, environ),
        cap_auto=_cap(settings, environ, "memory.cap_tokens_auto", "MEMORY_CAP_TOKENS_AUTO"),
        cap_claude_md=_cap(settings, environ, "memory.cap_tokens_claude_md", "MEMORY_CAP_TOKENS_CLAUDE_MD"),
        cap_combined=_cap(settings, environ, "memory.cap_tokens_combined", "MEMORY_BUDGET_TOKENS"),
    )


def has_memory(places: MemoryPlaces) -> bool:
    """Whether anything lies where memory is looked for."""
    return any(os.path.lexists(path) for path in _candidates(places))


def _candidates(places: MemoryPlaces) -> Iterator[str]:
    for folder in (places.managed_dir, places.config_dir):
        if folder is not None:
            yield f"{folder}/{GLOBAL_NAME}"
    if places.auto_dir is not None:
        yield f"{places.auto_dir}/{INDEX_NAME}"
    if not places.of_project:
        return
    for start in (places.workspace, *places.additional):
        for folder in (start, *start.parents) if places.walks else (start,):
            for name in (*NAMES, RULES):
                yield f"{folder}/{name}"
            if os.path.lexists(f"{folder}/.git"):
                break


def _auto_dir(settings: Settings, workspace: Path, environ: Mapping[str, str]) -> Path:
    for text in (
        environ.get(f"{PREFIX}AUTO_MEMORY_DIRECTORY"),
        environ.get(f"{PREFIX}MEMORY_DIR"),
        settings.get("memory.auto_memory_directory"),
    ):
        if text:
            return workspace / expand_user(text)
    return data_dir() / "projects" / project_slug(workspace) / "memory"


def _additional(settings: Settings, workspace: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Further directories with instructions of their own: those of the settings, or those that are listed."""
    choice = environ.get(f"{PREFIX}ADDITIONAL_DIRECTORIES_CLAUDE_MD", "")
    if choice.lower() in OFF:
        return ()
    if choice.lower() in ("1", "true", "yes", "on"):
        texts = settings.get("additional_directories") or ()
    else:
        texts = choice.split(os.pathsep)
    return tuple((workspace / expand_user(text)).resolve() for text in texts if text)


def _split(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    words = environ.get(f"{PREFIX}{name}", "").replace("\n", ":").split(":")
    return tuple(word.strip() for word in words if word.strip())


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(f"{PREFIX}{name}", "").lower() not in OFF


def _cap(settings: Settings, environ: Mapping[str, str], key: str, variable: str) -> int | None:
    """A number of tokens: of the settings, else of the environment."""
    chosen: int | None = settings.get(key)
    if chosen is not None:
        return chosen
    text = environ.get(f"{PREFIX}{variable}", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise UsageError(f"{PREFIX}{variable} must be a whole number of tokens, not {text[:40]!r}")
    return int(text)
