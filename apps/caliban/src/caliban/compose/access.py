"""What a person has opened to tools beside the workspace and the public web, from settings."""

from __future__ import annotations

from pathlib import Path

from caliban.errors import ConfigError
from caliban_common.paths import expand_user
from caliban_common.text import one_line
from caliban_settings import Settings


def web_hosts_of(settings: Settings) -> frozenset[str]:
    """The hosts that a person opened for WebFetch beside the public web: `name` or `name:port`."""
    return frozenset(host.lower() for host in settings.get("web_fetch_hosts") or ())


def roots_of(settings: Settings, workspace: Path) -> tuple[Path, ...]:
    """The directories beside the workspace that count as part of it.

    Raises `ConfigError` for one that would open everything: a root, a home, what the workspace lies in.
    """
    roots = []
    for text in settings.get("additional_directories") or ():
        path = workspace / expand_user(text)
        what = too_wide(path, workspace)
        if what is not None:
            raise ConfigError(
                f"additional_directories: {one_line(text, max_chars=200)!r} is {what}; tools may not have it",
                hint="name the directories in it that they need",
            )
        roots.append(path)
    return tuple(roots)


def too_wide(path: Path, workspace: Path) -> str | None:
    """What `path` is, where it holds far more than anybody means by a further directory."""
    try:
        real, home, work = path.resolve(), expand_user("~").resolve(), workspace.resolve()
    except (OSError, RuntimeError, ValueError):
        return "no directory that can be looked at"
    if real == work:
        return None
    if real == real.parent:
        return "a root of the file system"
    if real == home:
        return "your home"
    if real in home.parents:
        return "where homes are"
    return "what the workspace lies in" if real in work.parents else None
