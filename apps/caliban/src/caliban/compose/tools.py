"""The tools of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup
from msgspec import Struct

from caliban.cli.options import Options
from caliban.compose.access import roots_of
from caliban.compose.board import Board
from caliban.compose.box import NO_BOX, Box
from caliban.compose.host import Host
from caliban.compose.permissions import Permissions
from caliban_agent_core.registry import installed_tools
from caliban_agent_core.subagent.spec import NAME
from caliban_common.lazy import cached_property
from caliban_common.mask import Masker
from caliban_common.tool import FixedTools, Tool, ToolSpec
from caliban_drive.notice import Notice, Report
from caliban_settings import Settings
from caliban_skills import SkillCatalog, SkillTool
from caliban_skills.tool import TOOL_NAME
from caliban_tools_builtin import ToolOptions, builtin_tools

if TYPE_CHECKING:
    from caliban.compose.live import LiveSettings
    from caliban.compose.notes import Notes
    from caliban_images import MediaLimits
    from caliban_provider.http import HttpClient
    from caliban_tools_builtin.session.ports import TopicNote
    from caliban_tools_builtin.web.ports import SearchService


class LazyNotes:
    """Notes in one directory: what reads and writes them is loaded with the first call."""

    def __init__(self, directory: Path, masker: Masker) -> None:
        self._directory = directory
        self._masker = masker

    @cached_property
    def _notes(self) -> Notes:
        from caliban.compose.notes import Notes

        return Notes(self._directory, self._masker)

    def read(self, name: str) -> TopicNote:
        """See `TopicStore`."""
        return self._notes.read(name)

    def write(self, note: TopicNote, *, session: str) -> bool:
        """See `TopicStore`."""
        return self._notes.write(note, session=session)


class ToolInputs(Struct, frozen=True, kw_only=True):
    """What the tools of a run are made of."""

    options: Options
    settings: Settings
    live: LiveSettings
    workspace: Path
    permissions: Permissions
    host: Host
    box: Box = NO_BOX
    board: Board
    tasks: TaskGroup | None
    report: Report
    media: Callable[[], MediaLimits]
    notes: Path | None = None
    skills: SkillCatalog | None = None


def build_tools(inputs: ToolInputs) -> FixedTools:
    """The built-in tools, fenced to the workspace and the further roots of the settings, and installed ones.

    Searches show nothing that may not be read. `--bare` leaves out the tools of other packages, of which one
    that does not load is reported.
    """
    options, settings, workspace, host = inputs.options, inputs.settings, inputs.workspace, inputs.host
    if options.workspace.no_tools:
        return FixedTools()
    tools: tuple[Tool, ...] = builtin_tools(
        ToolOptions(
            workspace=workspace,
            restrict_paths=options.workspace.restrict_paths,
            extra_roots=roots_of(settings, workspace),
            env=inputs.live.env,
            readable=inputs.permissions.may_read,
            readable_file=inputs.permissions.may_read_file,
            host_environment=host.environ,
            runner=host.runner,
            strict_environment=settings.get("shell_environment") == "strict",
            masker=host.masker,
            board=inputs.board,
            asker=host.asker,
            tasks=inputs.tasks,
            announce=inputs.board.announce,
            show_shells=inputs.board.show_shells,
            show_fence=inputs.board.show_fence,
            web=lambda: _page_client(inputs.live.now),
            search=lambda: _search_service(host),
            permits=inputs.permissions.permits,
            runs_outside=inputs.permissions.runs_outside if inputs.box.unsandboxed else _never,
            explained=inputs.box.explained(inputs.report),
            media=inputs.media,
            topics=None if inputs.notes is None else LazyNotes(inputs.notes, host.masker),
            powershell=_powershell(host) if sys.platform == "win32" else None,
        )
    )
    if inputs.skills is not None:
        tools = (*tools, SkillTool(inputs.skills))
    if not options.settings.bare:
        installed = installed_tools({NAME, TOOL_NAME, *(tool.spec.name for tool in tools)})
        for problem in installed.problems:
            words = Notice(
                subtype="tool_left_out", message=problem.message, hint=problem.hint, remedy=problem.remedy
            )
            inputs.report(words)
        tools = (*tools, *installed.tools)
    return FixedTools(tools)


def _powershell(host: Host) -> str | None:
    from caliban_tools_builtin.shell.powershell import find_powershell

    return find_powershell(sys.platform, host.environ, os.path.isfile)


def _never(tool: ToolSpec, args: Mapping[str, Any]) -> bool:
    return False


def _page_client(settings: Settings) -> HttpClient:
    from caliban.compose.web import page_client

    return page_client(settings)


def _search_service(host: Host) -> SearchService:
    from caliban.compose.web import search_service

    return search_service(host)
