"""`caliban skills`: the skills and command files of a run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caliban.cli.invocation import Invocation
from caliban.commands.inputs import project_with_plugins
from caliban.compose.project import Project
from caliban.compose.skills import find_skills
from caliban.compose.slash import CalledCommand, command_list
from caliban.errors import MissingError
from caliban.slash.table import NAMES
from caliban.stdio import complain, print_lines, print_text
from caliban_common.codec import dumps
from caliban_common.near import did_you_mean
from caliban_common.terminal import visible
from caliban_common.text import one_line
from caliban_skills import NoSuchSkill, Skill, SkillCatalog, loaded_text

MAX_WORDS = 100


def list_skills(invocation: Invocation) -> int:
    """Print every skill and command; what is wrong with files is told on standard error."""
    project = project_with_plugins(invocation.options)
    problems: list[str] = []
    skills = find_skills(invocation.options.settings, project)
    commands = _commands(invocation, project, problems)
    rows = [*skill_rows(skills), *command_rows(commands)]
    if invocation.values["json"]:
        lines = [dumps(row).decode() for row in rows]
    else:
        lines = [_line(row) for row in rows]
    for problem in (*project.settings.warnings, *skills.problems, *problems):
        complain(f"caliban: {problem}\n")
    return print_lines(lines)


def show_skill(invocation: Invocation) -> int:
    """Print one skill or command."""
    project, name = project_with_plugins(invocation.options), invocation.values["name"]
    if name.startswith("/"):
        text = _command(invocation, project, name[1:])
    else:
        skills = find_skills(invocation.options.settings, project)
        try:
            text = skill_text(skills.find(name))
        except NoSuchSkill as error:
            for problem in skills.problems:
                complain(f"caliban: {problem}\n")
            raise MissingError(error.message, hint=error.hint) from error
    return print_text(f"{visible(text)}\n")


def _commands(invocation: Invocation, project: Project, problems: list[str]) -> tuple[CalledCommand, ...]:
    if invocation.options.settings.bare:
        return ()
    return tuple(command_list(invocation.options, project, problems))


def skill_text(skill: Skill) -> str:
    """A skill in words, with all that the model reads of it."""
    place = "comes along" if skill.path is None else str(skill.path)
    head = [f"{skill.full_name} ({place})", skill.description]
    head += [f"paths: {', '.join(skill.paths)}"] if skill.paths else []
    head += (
        [f"allowed-tools: {', '.join(skill.allowed_tools)} (grant nothing)"] if skill.allowed_tools else []
    )
    head += ["not offered to the model"] if skill.for_person_only else []
    head += [f"note: {note}" for note in skill.notes]
    return "\n".join((*head, "", loaded_text(skill)))


def _command(invocation: Invocation, project: Project, name: str) -> str:
    commands = _commands(invocation, project, [])
    for called in commands:
        if called.file.name == name:
            file = called.file
            head = [f"/{file.name} {file.argument_hint}".rstrip() + f" ({file.path})"]
            head += [file.description] if file.description else []
            head += [f"model: {file.model}"] if file.model else []
            tools = ", ".join(file.allowed_tools)
            head += [f"allowed-tools: {tools} (narrow its lines, grant nothing)"] if tools else []
            head += [f"note: {note}" for note in file.notes]
            return "\n".join((*head, "", file.body))
    names = [called.file.name for called in commands]
    raise MissingError(
        f"there is no command file /{one_line(name, max_chars=80)}", hint=did_you_mean(name, names) or None
    )


def skill_rows(skills: SkillCatalog) -> Iterator[dict[str, object]]:
    """What a list of skills shows of each."""
    for skill, is_shadowed in (
        *((skill, False) for skill in skills.skills),
        *((skill, True) for skill in skills.shadowed),
    ):
        state = "shadowed" if is_shadowed else "yours to call" if skill.for_person_only else ""
        yield _row("skill", skill.full_name if is_shadowed else skill.name, skill.scope, state) | {
            "description": skill.description,
            "path": None if skill.path is None else str(skill.path),
            "notes": list(skill.notes),
        }


def command_rows(commands: Sequence[CalledCommand]) -> Iterator[dict[str, object]]:
    """The same of command files."""
    seen: set[str] = set()
    for called in commands:
        file = called.file
        waits = "waits for trust" if file.steers and not called.is_trusted else ""
        state = "shadowed" if file.name in seen or file.name.lower() in NAMES else waits
        seen.add(file.name)
        yield _row("command", f"/{file.name}", file.scope, state) | {
            "description": file.description,
            "path": str(file.path),
            "notes": list(file.notes),
        }


def _row(kind: str, name: str, scope: str, state: str) -> dict[str, object]:
    return {"kind": kind, "name": name, "scope": scope, "state": state}


def _line(row: dict[str, object]) -> str:
    state = f" [{row['state']}]" if row["state"] else ""
    words = one_line(str(row["description"]), max_chars=MAX_WORDS)
    return visible(f"{row['scope']!s:8} {row['name']!s:24}{state} {words}").rstrip()
