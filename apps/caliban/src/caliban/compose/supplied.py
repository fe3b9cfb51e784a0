"""What lies in a workspace beside settings, read once: files of agents, and routes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.paths import config_dir, expand_user, home

ROUTER_FILE: Final = "caliban.toml"
MAX_FILE_BYTES: Final = 256 * 1024
MAX_ROUTER_BYTES: Final = 1 << 20
MAX_AGENTS: Final = 64
"""Files of agents that are looked at in one folder."""


class ProjectFile(Struct, frozen=True, kw_only=True):
    """A file of the project as it was read."""

    path: Path
    data: bytes


class ProjectFiles(Struct, frozen=True, kw_only=True):
    """What lies in a workspace beside settings: files of agents, what is wrong with others, and routes."""

    agents: tuple[ProjectFile, ...] = ()
    problems: tuple[str, ...] = ()
    router: ProjectFile | None = None


def read_files(workspace: Path) -> ProjectFiles:
    """The files of a project beside its settings; each is read once, and one that cannot be is named."""
    agents: list[ProjectFile] = []
    problems: list[str] = []
    for folder in _agent_folders(workspace):
        paths = _markdown(folder)
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
    return ProjectFiles(agents=tuple(agents), problems=tuple(problems), router=router)


def _agent_folders(workspace: Path) -> Iterator[Path]:
    """Where agents of the project may be; not where a person's own are."""
    own = (config_dir() / "agents", home() / ".claude" / "agents")
    for name in (".caliban", ".claude"):
        folder = workspace / name / "agents"
        if folder not in own:
            yield folder


def _markdown(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except OSError:
        return []  # most folders are not there


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
