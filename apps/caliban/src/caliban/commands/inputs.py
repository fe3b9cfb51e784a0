"""What commands start from: the project, and the inputs of the choice of a model."""

from __future__ import annotations

from caliban.cli.options import Options
from caliban.commands.report import report
from caliban.compose.choice import ModelInputs
from caliban.compose.host import this_host
from caliban.compose.plugins.run import with_plugins
from caliban.compose.project import Project, open_project
from caliban.compose.workspace import build_workspace


def project_with_plugins(options: Options) -> Project:
    """The project with the plugins that count in it; what is wrong with some is reported."""
    workspace = build_workspace(options.workspace.workspace)
    project = open_project(options.settings, workspace)
    return with_plugins(project, options, workspace, this_host().environ, report)


def model_inputs(options: Options) -> ModelInputs:
    """The inputs of the choice of a model. Raises `UsageError`, `SettingsError`."""
    workspace = build_workspace(options.workspace.workspace)
    project = open_project(options.settings, workspace)
    return ModelInputs(
        options=options.model,
        settings=project.settings,
        host=this_host(),
        workspace=workspace,
        sources=options.settings,
        project=project,
    )
