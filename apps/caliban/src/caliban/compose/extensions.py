"""What people add to a run by files, and the rules that hold for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from caliban.cli.options import Options
from caliban.compose.agents import agent_kinds
from caliban.compose.host import Host
from caliban.compose.permissions import Permissions
from caliban.compose.project import Project
from caliban.compose.skills import build_skills, with_skills
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.spec import agent_spec
from caliban_common.tool import ToolSpec
from caliban_drive.notice import Notice, Report
from caliban_skills import SkillCatalog, skill_spec

if TYPE_CHECKING:
    from caliban.compose.slash import CalledCommand
    from caliban_output_styles import OutputStyle

DEFAULT_STYLE = "default"
Judged: TypeAlias = Callable[[tuple[ToolSpec, ...]], Permissions]
"""Makes the rules of the run, which believe these tools of ours beside the built-in ones."""


class Extensions(Struct, frozen=True, kw_only=True):
    """Agents, skills, the output style and the command that was called; `options` have what it asks for."""

    options: Options
    kinds: tuple[AgentDefinition, ...] = ()
    skills: SkillCatalog | None = None
    permissions: Permissions
    style: OutputStyle | None = None
    command: CalledCommand | None = None


def build_extensions(
    options: Options, project: Project, host: Host, judged: Judged, report: Report
) -> Extensions:
    """Everything that files add, each of them read once, under the rules that `judged` makes.

    Raises `UsageError` and `ConfigError`.
    """
    options, command = _called(options, project, report)
    style = _style(options, project, host, report)
    kinds = agent_kinds(options, project, report)
    skills = build_skills(options, project)
    for problem in skills.problems if skills is not None else ():
        report(Notice(subtype="skill_file", message=problem))
    permissions = judged((agent_spec(kinds), skill_spec(skills)))
    if skills is not None:
        spec = skill_spec(skills)
        allowed = skills.without(lambda skill: permissions.denies(spec, {"name": skill.name}))
        if len(allowed.skills) < len(skills.skills):
            skills = allowed
            permissions = judged((agent_spec(kinds), skill_spec(skills)))
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
    if chosen in (None, "", DEFAULT_STYLE) and not project.plugins:
        return None
    from caliban.compose.styles import build_style

    return build_style(options, project, host.environ, report)
