"""The skills of a run: those of the project, then a person's, then those that come along."""

from __future__ import annotations

from msgspec.structs import replace

from caliban.cli.options import Options, SettingsOptions
from caliban.compose.project import ALLOWED, Project
from caliban.compose.supplied import ProjectFile, found_files, may_hold, own_folders
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_drive.notice import Notice, Report
from caliban_skills import Skill, SkillCatalog, SkillScope, builtin_skills, make_catalog
from caliban_skills.skill import MAX_FILE_BYTES


def build_skills(options: Options, project: Project) -> SkillCatalog | None:
    """The skills that the model may load; `None` where flags say to do without."""
    if options.extensions.no_skills or options.workspace.no_tools or options.settings.bare:
        return None
    return find_skills(options.settings, project)


def find_skills(options: SettingsOptions, project: Project) -> SkillCatalog:
    """All skills. Those of a project are taken where it is trusted; a file that is none costs no other."""
    skills: list[Skill] = []
    problems: list[str] = []
    if takes(options, "project"):
        skills += _of_project(project, problems)
    if takes(options, "user"):
        for file in own_files("skill", "skills", problems):
            skills += _read(file, "user", problems)
    if project.plugins:
        from caliban.compose.plugins.parts import plugin_skills

        skills += plugin_skills(project.plugins, problems)
    return make_catalog((*skills, *builtin_skills()), problems)


def takes(options: SettingsOptions, source: str) -> bool:
    """Whether what a person, or the project, wrote counts in a run."""
    if options.bare:
        return False
    sources = options.setting_sources
    return sources is None or source in [name.strip() for name in sources.split(",")]


def own_files(kind: str, name: str, problems: list[str]) -> list[ProjectFile]:
    """A person's own files of one kind, each read once."""
    files: list[ProjectFile] = []
    for folder in own_folders(name):
        if not may_hold(folder):
            continue
        listing = found_files(kind, folder)
        problems += (f"the {kind} in {problem}" for problem in listing.problems)
        for path in listing.paths:
            called = ":".join(path.relative_to(folder).with_suffix("").parts)
            try:
                data = read_regular(path, max_bytes=MAX_FILE_BYTES)
            except CalibanError as error:
                problems.append(f"the {kind} in {path} is left out: {error.message}")
                continue
            files.append(ProjectFile(path=path, data=data, name=called))
    return files


def with_skills(
    kinds: tuple[AgentDefinition, ...], catalog: SkillCatalog | None, report: Report
) -> tuple[AgentDefinition, ...]:
    """`kinds`, those that name skills with the words of these behind their own."""
    if not any(kind.skills for kind in kinds):
        return kinds
    return tuple(_with_skills(kind, catalog, report) for kind in kinds)


def _with_skills(kind: AgentDefinition, catalog: SkillCatalog | None, report: Report) -> AgentDefinition:
    from caliban_skills import loaded_text

    texts = [kind.prompt] if kind.prompt else []
    for name in kind.skills:
        try:
            if catalog is None:
                raise CalibanError("this run is without skills")
            texts.append(loaded_text(catalog.named(name)))
        except CalibanError as error:
            words = " ".join(filter(None, (error.message, error.hint)))
            message = f"the agent {kind.name} goes without the skill {name}: {words}"
            report(Notice(subtype="agent_file", message=message))
    return replace(kind, prompt="\n\n".join(texts))


def _of_project(project: Project, problems: list[str]) -> list[Skill]:
    files = project.files.skills
    if project.trust.counts:
        return [skill for file in files for skill in _read(file, "project", problems)]
    for folder in dict.fromkeys(file.path.parent.parent for file in files):
        problems.append(f"the skills in {folder} are not used {ALLOWED}")
    return []


def _read(file: ProjectFile, scope: SkillScope, problems: list[str]) -> list[Skill]:
    """The skill in `file`, or none."""
    from caliban_skills.read import read_skill

    try:
        return [read_skill(file.path, file.data, scope)]
    except CalibanError as error:
        problems.append(f"a skill is left out: {error.message}")
        return []
