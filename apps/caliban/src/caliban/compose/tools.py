"""The tools of a run."""

from __future__ import annotations

from pathlib import Path

from caliban.cli.options import WorkspaceOptions
from caliban.compose.permissions import Permissions, roots_of
from caliban_agent_core.registry import installed_tools
from caliban_common.tool import FilteredTools, FixedTools, Tool, ToolSource
from caliban_drive.notice import Notice, Report
from caliban_process import Runner
from caliban_settings import Settings
from caliban_tools_builtin import ToolOptions, builtin_tools


def build_tools(
    options: WorkspaceOptions,
    settings: Settings,
    workspace: Path,
    permissions: Permissions,
    runner: Runner,
) -> tuple[Tool, ...]:
    """The built-in tools, fenced to the workspace and the further roots of the settings.

    Searches show nothing that may not be read.
    """
    if options.no_tools:
        return ()
    return builtin_tools(
        ToolOptions(
            workspace=workspace,
            restrict_paths=options.restrict_paths,
            extra_roots=roots_of(settings, workspace),
            env=settings.get("env") or {},
            readable=permissions.may_read,
            runner=runner,
        )
    )


def with_installed(tools: tuple[Tool, ...], report: Report) -> tuple[Tool, ...]:
    """`tools`, and those of other packages; one that does not load is reported and left out."""
    installed = installed_tools({tool.spec.name for tool in tools})
    for problem in installed.problems:
        report(Notice(subtype="tool_left_out", message=problem.message, hint=problem.hint))
    return (*tools, *installed.tools)


def offered(tools: tuple[Tool, ...], permissions: Permissions) -> ToolSource:
    """Those of `tools` that the rules do not deny altogether: the model is not told of the others."""
    return FilteredTools(FixedTools(tools), permissions.offers)
