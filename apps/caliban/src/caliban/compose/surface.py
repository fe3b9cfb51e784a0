"""The items of a project, from what was read of it: what a digest is taken of, and what a person is shown."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from caliban.compose.supplied import ProjectFile, ProjectFiles, shadowed_by
from caliban_common.files import NONBLOCK
from caliban_common.text import one_line
from caliban_settings import ProjectSetting, SettingsError
from caliban_trust import ItemChange, TrustItem, TrustSurface, trust_item, trust_surface

RUN: Final = ("api_key_helper", "hooks", "mcp_servers", "plugins", "status_line", "statusLine")
"""Settings that name programs."""

MAX_PROGRAM_BYTES: Final = 64 << 20
"""So much of all programs is read; the rest go by their sizes and the times of their last changes."""

MAX_WORDS: Final = 1_000
"""Words of commands that are looked up as files."""

PROJECT_VARIABLES: Final = ("CALIBAN_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
"""Variables that stand for the workspace in the commands of hooks."""

MAX_NAMED: Final = 8
CHUNK_BYTES: Final = 1 << 20


def surface_of(
    workspace: Path, settings: Sequence[ProjectSetting], files: ProjectFiles, *, shows: bool = False
) -> TrustSurface:
    """The surface of a project; `shows` makes the words for a person, which cost more than a digest."""
    notes = _server_notes(settings) if shows else {}
    items = [
        *(_of_setting(setting, workspace, shows, notes.get(setting.key, "")) for setting in settings),
        *(_of_file("agent", file, workspace, shows) for file in files.agents),
        *(_of_skill(file, workspace, shows) for file in files.skills),
        *(_of_file("style", file, workspace, shows) for file in files.styles),
        *(_of_file("slash", file, workspace, shows) for file in files.commands if file.may_steer),
        *(_of_plugin(file, workspace, shows) for file in files.plugins),
        *_of_programs(sorted(_programs(settings, workspace)), workspace),
    ]
    if files.router is not None:
        items.append(_of_file("routes", files.router, workspace, shows))
    return trust_surface(items)


def change_words(changes: Iterable[ItemChange]) -> str:
    """What has changed, in a few words."""
    words = [
        f"{change.verb} {change.item.kind} {one_line(change.item.name or change.item.place, max_chars=80)}"
        for change in changes
    ]
    more = f" and {len(words) - MAX_NAMED} more" if len(words) > MAX_NAMED else ""
    return ", ".join(words[:MAX_NAMED]) + more or "its items"


def _server_notes(settings: Sequence[ProjectSetting]) -> dict[str, str]:
    """What to know of commands of servers that fetch what they run, by the keys of the commands."""
    from caliban_mcp.config import fetched_package

    entries = {setting.key: setting.value for setting in settings if setting.key.startswith("mcp_servers.")}
    notes: dict[str, str] = {}
    for key, value in entries.items():
        name, _, member = key.rpartition(".")
        if member == "command" and isinstance(value, str):
            args = entries.get(f"{name}.args")
            words = fetched_package(value, tuple(map(str, args)) if isinstance(args, list) else ())
            notes |= {} if words is None else {key: words}
    return notes


def _of_setting(setting: ProjectSetting, workspace: Path, shows: bool, note: str = "") -> TrustItem:
    shown = ""
    if shows:
        from caliban.compose.shown import shown_setting

        shown = shown_setting(setting) + (f"\n    NOTE: {one_line(note)}" if note else "")
    return trust_item(
        _kind(setting),
        _place(setting.path, workspace),
        setting.key,
        _canonical(setting.value),
        shown=shown,
        grants=setting.grants,
    )


def _of_file(kind: str, file: ProjectFile, workspace: Path, shows: bool) -> TrustItem:
    shown = ""
    if shows:
        from caliban.compose.shown import shown_text

        shown = shown_text(file.data)
    return trust_item(kind, _place(file.path, workspace), "", file.data, shown=shown)


def _of_skill(file: ProjectFile, workspace: Path, shows: bool) -> TrustItem:
    """A skill; a person is shown whose place it would take."""
    item = _of_file("skill", file, workspace, shows)
    if not shows:
        return item
    taken = shadowed_by(file.path.parent.name)
    return replace(item, shown=f"(takes the place of {taken})\n{item.shown}") if taken else item


def _of_plugin(file: ProjectFile, workspace: Path, shows: bool) -> TrustItem:
    """A plugin whole: its digest is that of every file in it. Each needs a yes of its own besides."""
    shown = ""
    if shows:
        from caliban.compose.plugins.places import folder_words

        shown = folder_words(file.path)
    return trust_item("plugin", _place(file.path, workspace), file.name, file.data, shown=shown)


def _of_programs(paths: Iterable[Path], workspace: Path) -> Iterator[TrustItem]:
    left = MAX_PROGRAM_BYTES
    for path in paths:
        content, size = _fingerprint(path, left)
        left -= min(left, size)
        shown = f"{size:,} bytes, {content[:19]}"
        yield trust_item("program", _place(path, workspace), "", content.encode(), shown=shown, grants=False)


def _kind(setting: ProjectSetting) -> str:
    first = setting.key.partition(".")[0]
    kinds = {"permissions": "rules", "env": "variable", "mcp_servers": "server", "hooks": "hook"}
    return kinds.get(first, "command" if first in RUN else "setting")


def _place(path: Path | None, workspace: Path) -> str:
    return "" if path is None else os.path.relpath(path, workspace).replace(os.sep, "/")


def _canonical(value: Any) -> bytes:
    """One spelling of a value, whatever its file looks like."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def _programs(settings: Iterable[ProjectSetting], workspace: Path) -> set[Path]:
    """The files of the project that its commands name: who trusts a command means what it runs now.

    Raises `SettingsError` for commands that are too long to be looked through.
    """
    named = {
        word
        for setting in settings
        if setting.key.partition(".")[0] in RUN
        for text in _texts(setting.value)
        for word in _words(text)
    }
    if len(named) > MAX_WORDS:
        raise SettingsError(f"its commands have more than {MAX_WORDS:,} words, which nobody looks through")
    root = workspace.resolve()
    return {path for word in named if (path := _file_inside(root, word)) is not None}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for below in value.values():
            yield from _texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below)


def _words(text: str) -> Iterator[str]:
    for name in PROJECT_VARIABLES:  # as a shell puts them in: commands of a project name its files by them
        text = text.replace(f"${{{name}}}", ".").replace(f"${name}", ".")
    yield text
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    for word in (*words, *text.split()):
        yield word
        yield word.rpartition("=")[2]


def _file_inside(root: Path, word: str) -> Path | None:
    try:
        path = (root / word).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _fingerprint(path: Path, max_bytes: int) -> tuple[str, int]:
    """What stands for the bytes of a file, and how many there are; up to `max_bytes`, a digest of them."""
    digest = sha256()
    try:
        descriptor = os.open(path, os.O_RDONLY | NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size > max_bytes:
                return f"changed {status.st_mtime_ns} {status.st_ino} {status.st_size}", status.st_size
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        return f"unreadable: {error.errno}", 0
    return f"sha256 {digest.hexdigest()}", status.st_size
