"""What people add to a run by files, and the rules that hold for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban.cli.options import Options
from caliban.compose.agents import agent_kinds
from caliban.compose.host import Host
from caliban.compose.permissions import Permissions, build_permissions
from caliban.compose.project import Project
from caliban.compose.session import SavedSession
from caliban.compose.skills import build_skills, with_skills
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.spec import agent_spec
from caliban_drive.notice import Notice, Report
from caliban_skills import SkillCatalog, skill_spec

if TYPE_CHECKING:
    from caliban.compose.slash import CalledCommand
    from caliban_output_styles import OutputStyle

PLANNING = Notice(
    subtype="plan_mode",
    message="the session is in plan mode: it only reads",
    hint="--permission-mode acceptEdits carries the plan out",
)
DEFAULT_STYLE = "default"


class Extensions(Struct, frozen=True, kw_only=True):
    """Agents, skills, the output style and the command that was called; `options` have what it asks for."""

    options: Options
    kinds: tuple[AgentDefinition, ...] = ()
    skills: SkillCatalog | None = None
    permissions: Permissions
    style: OutputStyle | None = None
    command: CalledCommand | None = None


def build_extensions(
    options: Options, project: Project, workspace: Path, saved: SavedSession, host: Host, report: Report
) -> Extensions:
    """Everything that files add, each of them read once. Raises `UsageError` and `ConfigError`."""
    options, command = _called(options, project, report)
    style = _style(options, project, host, report)
    kinds = agent_kinds(options, project, report)
    skills = build_skills(options, project)
    for problem in skills.problems if skills is not None else ():
        report(Notice(subtype="skill_file", message=problem))
    permissions = _permissions(options, project, workspace, saved, kinds, skills)
    if skills is not None:
        spec = skill_spec(skills)
        allowed = skills.without(lambda skill: permissions.denies(spec, {"name": skill.name}))
        if len(allowed.skills) < len(skills.skills):
            skills = allowed
            permissions = _permissions(options, project, workspace, saved, kinds, skills)
    if saved.plan_mode and permissions.plan_mode:
        report(PLANNING)
    return Extensions(
        options=options,
        kinds=with_skills(kinds, skills, report),
        skills=skills,
        permissions=permissions,
        style=style,
        command=command,
    )


def _called(options: Options, project: Project, report: Report) -> tuple[Options, CalledCommand | None]:
    """The command that the prompt calls, and the options with its model."""
    prompt = options.prompt
    texts = (prompt.print_prompt, prompt.prompt_flag, prompt.prompt)
    if not any(text is not None and text.lstrip().startswith("/") for text in texts):
        return options, None
    from caliban.compose.slash import called_command, with_model

    called = called_command(options, project, report)
    return with_model(options, called), called


def _style(options: Options, project: Project, host: Host, report: Report) -> OutputStyle | None:
    chosen = host.environ.get("CALIBAN_OUTPUT_STYLE") or project.settings.get("output_style")
    if chosen in (None, "", DEFAULT_STYLE):
        return None
    from caliban.compose.styles import build_style

    return build_style(options, project, host.environ, report)


def _permissions(
    options: Options,
    project: Project,
    workspace: Path,
    saved: SavedSession,
    kinds: tuple[AgentDefinition, ...],
    skills: SkillCatalog | None,
) -> Permissions:
    """The rules of the run, and the tools of ours beside the built-in ones that are believed."""
    return build_permissions(
        options.permissions,
        project.settings,
        workspace,
        trusted=project.trust.counts,
        planning=saved.plan_mode,
        vouched=(agent_spec(kinds), skill_spec(skills)),
    )
