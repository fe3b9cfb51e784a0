"""What is decided before a model is chosen: where a run is, whose rules count, what starts programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.formats import output_format
from caliban.cli.options import Options
from caliban.compose.audit import build_log
from caliban.compose.box import Box
from caliban.compose.boxing import boxed
from caliban.compose.choice import ModelInputs
from caliban.compose.costs import RunCosts, build_costs
from caliban.compose.extensions import Extensions, build_extensions
from caliban.compose.hooks import ask_models, find_hooks
from caliban.compose.host import Host
from caliban.compose.masked import masked_notice
from caliban.compose.memory.places import memory_places
from caliban.compose.memory.run import RunMemory
from caliban.compose.permissions import Permissions, build_permissions
from caliban.compose.plugins.run import with_plugins
from caliban.compose.project import Project, may_have_servers, open_project
from caliban.compose.remarks import say_planning, say_warnings
from caliban.compose.session import SavedSession, Sessions
from caliban.compose.sessionstore import cleanup_days
from caliban.compose.wiring import Wiring
from caliban.compose.workspace import build_workspace
from caliban_common.tool import ToolSpec
from caliban_drive.notice import Report, Reporter
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban.compose.hooking.chosen import ChosenHooks


class Opening(Struct, frozen=True, kw_only=True):
    """The run so far. `project` is what the workspace supplies, `extensions` and `hooks` what files add.

    `host` starts programs in the sandbox of `box`, where there is one.
    """

    options: Options
    workspace: Path
    project: Project
    sessions: Sessions
    extensions: Extensions
    hooks: ChosenHooks | None
    box: Box
    host: Host
    permissions: Permissions
    memory: RunMemory
    costs: RunCosts
    reporter: Reporter

    @property
    def settings(self) -> Settings:
        """The settings that count."""
        return self.project.settings

    @property
    def classifies(self) -> bool:
        """Whether a model is to judge calls that no rule decides."""
        return self.permissions.mode == "auto" and not self.options.permissions.disable_auto_mode

    def model_inputs(self) -> ModelInputs:
        """What the choice of a model depends on."""
        return ModelInputs(
            options=self.options.model,
            settings=self.settings,
            host=self.host,
            workspace=self.workspace,
            sources=self.options.settings,
            project=self.project,
            session=self.sessions.saved.model_before,
            classifies=self.classifies or ask_models(self.hooks),
        )


def open_run(options: Options, report: Report, whole: Host, wiring: Wiring) -> Opening:
    """Read all that a run depends on but its model; `whole` starts programs outside of any sandbox.

    Raises the errors of flags, settings, sessions and rules.
    """
    reporter = wiring.reporter(lambda notice: report(masked_notice(notice, whole.masker)))
    workspace = build_workspace(options.workspace.workspace)
    project = open_project(options.settings, workspace)
    settings = project.settings
    project = with_plugins(project, options, workspace, whole.environ, reporter)
    sessions = wiring.sessions(options.session, workspace)
    say_warnings(options, settings, whole, sessions.saved, reporter)
    box, host = boxed(options.workspace, settings, workspace, whole, reporter)
    more = build_extensions(
        options,
        project,
        host,
        lambda vouched: _permissions(options, project, workspace, sessions.saved, vouched, box),
        reporter,
    )
    permissions = more.permissions
    say_planning(sessions.saved, permissions, reporter)
    permissions.log = build_log(settings, host.masker, reporter) if wiring.logs else None
    return Opening(
        options=more.options,
        workspace=workspace,
        project=project,
        sessions=sessions,
        extensions=more,
        hooks=find_hooks(options, settings, project.plugins) if wiring.hooks else None,
        box=box,
        host=host,
        permissions=permissions,
        memory=RunMemory(memory_places(options, settings, workspace, host.environ), workspace, reporter),
        costs=_costs(options, settings, host),
        reporter=reporter,
    )


def expire_old(opening: Opening, settings: Settings, wiring: Wiring) -> None:
    """Let go of old sessions, where somebody asked for that and this run is no replay."""
    environ, options = opening.host.environ, opening.options.session
    days = cleanup_days(settings, environ)
    if days is None or options.no_save or not wiring.logs:
        return
    from caliban.compose.retention import expire_sessions

    expire_sessions(options, days, environ, opening.reporter)


def _permissions(
    options: Options,
    project: Project,
    workspace: Path,
    saved: SavedSession,
    vouched: tuple[ToolSpec, ...],
    box: Box,
) -> Permissions:
    """The rules of the run; a session left in plan mode goes on in it, unless a flag names another."""
    asked = options.permissions
    if saved.plan_mode and asked.permission_mode is None and not asked.no_permissions:
        asked = replace(asked, permission_mode="plan")
    return build_permissions(
        asked,
        project.settings,
        workspace,
        trusted=project.trust.counts,
        vouched=(*vouched, *_of_servers(project)),
        box=box,
    )


def _of_servers(project: Project) -> tuple[ToolSpec, ...]:
    """The tool of ours that waits for servers, where there may be some."""
    if not may_have_servers(project):
        return ()
    from caliban_mcp.waiting import wait_spec

    return (wait_spec(),)


def _costs(options: Options, settings: Settings, host: Host) -> RunCosts:
    shows_costs = output_format(options.output.output_format).is_data or not options.output.quiet
    return build_costs(options.model.max_budget_usd, settings, host.environ, are_shown=shows_costs)
