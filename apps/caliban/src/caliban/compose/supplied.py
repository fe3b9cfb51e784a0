"""What lies in a workspace beside settings, read once: agents, skills, styles, commands, and routes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.paths import config_dir, data_dir, expand_user, home

if TYPE_CHECKING:
    from caliban_common.listing import FoundFiles

ROUTER_FILE: Final = "caliban.toml"
PLUGINS: Final = (".caliban", "plugins")
MAX_FILE_BYTES: Final = 256 * 1024
MAX_ROUTER_BYTES: Final = 1 << 20
MAX_AGENTS: Final = 64
"""Files of agents that are looked at in one folder."""


OWNERS: Final = (".caliban", ".agents", ".claude")
"""Folders of a workspace, and of a home, in which skills are; other things are not in the second."""
_STEERS: Final = rb"(?i)!`|\bmodel\b"


class ProjectFile(Struct, frozen=True, kw_only=True):
    """A file of the project as it was read; `name` is what a command is called by."""

    path: Path
    data: bytes
    name: str = ""

    @property
    def may_steer(self) -> bool:
        """Whether a command may do more than say something: run lines of the shell, or choose a model."""
        return re.search(_STEERS, self.data) is not None


class ProjectFiles(Struct, frozen=True, kw_only=True):
    """What lies in a workspace beside settings: files by what they are, what is wrong with others, routes.

    A plugin is a folder, and its data the digest of all of it.
    """

    agents: tuple[ProjectFile, ...] = ()
    skills: tuple[ProjectFile, ...] = ()
    styles: tuple[ProjectFile, ...] = ()
    commands: tuple[ProjectFile, ...] = ()
    plugins: tuple[ProjectFile, ...] = ()
    problems: tuple[str, ...] = ()
    router: ProjectFile | None = None

    @property
    def wait(self) -> bool:
        """Whether any of it counts with trust only."""
        steering = any(file.may_steer for file in self.commands)
        return bool(self.agents or self.skills or self.styles or steering or self.plugins or self.router)


def read_files(workspace: Path) -> ProjectFiles:
    """The files of a project beside its settings; each is read once, and one that cannot be is named."""
    agents: list[ProjectFile] = []
    problems: list[str] = []
    for folder in _agent_folders(workspace):
        paths = _markdown(folder, problems)
        if len(paths) > MAX_AGENTS:
            problems.append(f"{len(paths) - MAX_AGENTS} more agents in {folder} are left out")
        for path in paths[:MAX_AGENTS]:
            try:
                agents.append(_read_inside(path, workspace))
            except CalibanError as error:
                problems.append(f"the agent in {path} is left out: {error.message}")
    router = None
    routes = _router_path(workspace)
    if routes is not None:
        try:
            router = ProjectFile(path=routes, data=read_regular(routes, max_bytes=MAX_ROUTER_BYTES))
        except CalibanError as error:
            problems.append(f"the routes in {routes} are left out: {error.message}")
    return ProjectFiles(
        agents=tuple(agents),
        skills=_files("skill", OWNERS, "skills", workspace, problems),
        styles=_files("style", (".caliban", ".claude"), "output-styles", workspace, problems),
        commands=_files("command", (".caliban", ".claude"), "commands", workspace, problems),
        plugins=_plugins(workspace, problems),
        problems=tuple(problems),
        router=router,
    )


def _plugins(workspace: Path, problems: list[str]) -> tuple[ProjectFile, ...]:
    """The plugins in a workspace."""
    if not os.path.isdir(os.path.join(workspace, *PLUGINS)):  # noqa: PTH112, PTH118 - on every start
        return ()
    from caliban.compose.plugins.places import folder_digest, folders_in

    folder = workspace.joinpath(*PLUGINS)
    plugins = []
    for path in folders_in(folder, workspace, problems):
        try:
            plugins.append(ProjectFile(path=path, data=folder_digest(path).encode(), name=path.name))
        except CalibanError as error:
            problems.append(f"the plugin in {path} is left out: {error.message}")
    return tuple(plugins)


def _files(
    kind: str, owners: tuple[str, ...], name: str, workspace: Path, problems: list[str]
) -> tuple[ProjectFile, ...]:
    """The files of one kind in the folders `name` of the workspace, not in a person's own."""
    files: list[ProjectFile] = []
    own = own_folders(name)
    for owner in owners:
        folder = workspace / owner / name
        if folder in own or not may_hold(folder):
            continue
        listing = found_files(kind, folder)
        problems += (f"the {kind} in {problem}" for problem in listing.problems)
        for path in listing.paths:
            try:
                file = _read_inside(path, workspace)
            except CalibanError as error:
                problems.append(f"the {kind} in {path} is left out: {error.message}")
                continue
            called = ":".join(path.relative_to(folder).with_suffix("").parts)
            files.append(ProjectFile(path=path, data=file.data, name=called))
    return tuple(files)


def may_hold(folder: Path) -> bool:
    """Whether there is a folder, or one that nobody may look at: what lists it says so."""
    try:
        return stat.S_ISDIR(os.stat(folder).st_mode)  # noqa: PTH116 - on every start
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def own_folders(name: str) -> tuple[Path, ...]:
    """Where a person's own skills, styles or commands are."""
    own: tuple[Path, ...]
    if name == "skills":
        own = (config_dir(), home() / ".agents", home() / ".claude", data_dir())
    else:
        own = (config_dir(), home() / ".claude")
    return tuple(folder / name for folder in own)


def shadowed_by(name: str) -> str | None:
    """Whose skill of this name one of a project stands before."""
    from caliban_skills.builtins import BUILTINS

    if any(os.path.isfile(folder / name / "SKILL.md") for folder in own_folders("skills")):  # noqa: PTH113
        return f"your skill {name}"
    return f"the built-in skill {name}" if name in BUILTINS else None


def found_files(kind: str, folder: Path) -> FoundFiles:
    """The files of one kind in `folder`: skills are folders, commands may be in some."""
    from caliban_common.listing import files_in_folders, markdown_files

    if kind == "skill":
        return files_in_folders(folder, "SKILL.md")
    return markdown_files(folder, max_depth=4 if kind == "command" else 1)


def _agent_folders(workspace: Path) -> Iterator[Path]:
    """Where agents of the project may be; not where a person's own are."""
    own = (config_dir() / "agents", home() / ".claude" / "agents")
    for name in (".caliban", ".claude"):
        folder = workspace / name / "agents"
        if folder not in own:
            yield folder


def _markdown(folder: Path, problems: list[str]) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except (FileNotFoundError, NotADirectoryError):
        return []  # most folders are not there
    except OSError as error:
        problems.append(f"the agents in {folder}: {error.strerror}")
        return []


def _read_inside(path: Path, workspace: Path) -> ProjectFile:
    """The file at `path`, which no link may lead out of the workspace. Raises `CalibanError`."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise CalibanError("it cannot be found") from error
    if not real.is_relative_to(workspace.resolve()):
        raise CalibanError("it is a link to outside of the workspace")
    return ProjectFile(path=path, data=read_regular(path, max_bytes=MAX_FILE_BYTES))


def _router_path(workspace: Path) -> Path | None:
    """The file with routes that belongs to the project, where there is one."""
    if not any((folder / ROUTER_FILE).is_file() for folder in (workspace, *workspace.parents)):
        return None
    from caliban_model_router.config import find_config

    return find_config(workspace, expand_user("~").resolve())
