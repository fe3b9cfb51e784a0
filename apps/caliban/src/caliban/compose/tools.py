"""The tools of a run."""

from __future__ import annotations

from pathlib import Path

from caliban.cli.options import WorkspaceOptions
from caliban.compose.permissions import Permissions, roots_of
from caliban_common.tool import Tool
from caliban_settings import Settings
from caliban_tools_builtin import ToolOptions, builtin_tools


def build_tools(
    options: WorkspaceOptions, settings: Settings, workspace: Path, permissions: Permissions
) -> tuple[Tool, ...]:
    """The built-in tools, fenced to the workspace and the further roots of the settings.

    A tool that the rules deny altogether is not offered; searches show nothing that may not be read.
    """
    if options.no_tools:
        return ()
    tools = builtin_tools(
        ToolOptions(
            workspace=workspace,
            restrict_paths=options.restrict_paths,
            extra_roots=roots_of(settings, workspace),
            env=settings.get("env") or {},
            readable=permissions.may_read,
        )
    )
    return tuple(tool for tool in tools if permissions.offers(tool.spec))
