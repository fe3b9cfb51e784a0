"""A prompt that begins with the name of a command file, or of a skill: `/name what is said to it`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.formats import input_format
from caliban.cli.options import Options, PromptOptions
from caliban.compose.project import ALLOWED, Project
from caliban.compose.skills import find_skills, own_files, takes
from caliban.compose.supplied import ProjectFile
from caliban.errors import ConfigError, UsageError
from caliban.slash.table import NAMES
from caliban_agent_core.subagent.definition import NICKNAMES, OWN_MODEL
from caliban_common.errors import CalibanError
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_provider.request import EFFORTS
from caliban_skills import SkillScope
from caliban_skills.command import CommandFile, command_of, read_command

OF_SERVERS: Final = "mcp__"
"""How the names of prompts of servers begin."""
CALLED: Final = r"/([A-Za-z0-9][\w.:-]{0,255})(?:\s+(.*))?"
AUTO: Final = "auto"
"""The effort that the model has by itself."""


class CalledCommand(Struct, frozen=True, kw_only=True):
    """A command file and what was said to it. Without `is_trusted` its text counts alone."""

    file: CommandFile
    arguments: str
    is_trusted: bool = True


def called_command(options: Options, project: Project, report: Report) -> CalledCommand | None:
    """The command of a file that the prompt calls; `None` for text, and a call of one of ours or a server's.

    What lies at the root of the file system is a path. Raises `UsageError` for a call of nothing that is
    known, `ConfigError` for a file that is none, and for one that steers in a project which is not trusted.
    """
    call = typed_call(options.prompt)
    if call is None or options.extensions.no_commands or options.settings.bare:
        return None
    if input_format(options.output.input_format).is_framed or call[0].lower() in NAMES:
        return None
    problems: list[str] = []
    called = _find(call[0], options, project, problems)
    if called is None:
        for problem in problems:
            report(Notice(subtype="command_file", message=problem))
        if not call[0].startswith(OF_SERVERS) and not is_path(call[0]):
            raise _unknown(call[0], options, project)
        return None
    tell_notes(called, report)
    return replace(called, arguments=call[1])


def with_model(options: Options, called: CalledCommand | None) -> Options:
    """`options` with the model that the command asks for, unless a flag names one."""
    wanted = "" if called is None else model_of(called, options)
    if not wanted:
        return options
    return replace(options, model=replace(options.model, model=wanted))


def effort_of(called: CalledCommand) -> dict[str, Any]:
    """What the command says of the effort, as an option of the agent; nothing where it says nothing."""
    effort = called.file.effort
    return {"effort": None if effort == AUTO else effort} if effort else {}


def model_of(called: CalledCommand, options: Options) -> str:
    """The model that the command asks for; empty where it asks for none, or a flag names one."""
    wanted = called.file.model
    return "" if wanted in (*OWN_MODEL, *NICKNAMES) or options.model.model is not None else wanted


def command_list(options: Options, project: Project, problems: list[str]) -> Iterator[CalledCommand]:
    """Every command file, in the order in which they count. A file that is none is a problem."""
    for file, scope, trusted in _files(options, project, problems):
        try:
            yield _read(file, scope, trusted=trusted)
        except CalibanError as error:
            problems.append(f"a command is left out: {error.message}")


def refuse_untrusted(called: CalledCommand) -> None:
    """Raise `ConfigError` for a file that steers in a project which is not trusted."""
    file = called.file
    if file.steers and not called.is_trusted:
        raise ConfigError(
            f"/{file.name}: {file.path} runs lines of the shell or chooses a model, and its project is "
            "not trusted",
            hint="caliban trust show shows it, caliban trust add trusts it; --no-commands sends words",
        )


def typed_call(prompt: PromptOptions) -> tuple[str, str] | None:
    """The name and the arguments of a command that the command line calls, whether or not there is one."""
    typed = _typed(prompt)
    match = None if typed is None else re.fullmatch(CALLED, typed, re.DOTALL)
    return None if match is None else (match[1], (match[2] or "").strip())


def is_path(name: str) -> bool:
    """Whether `/name` is there in the file system: then it is no call."""
    return os.path.lexists(f"/{name}")


def _unknown(name: str, options: Options, project: Project) -> UsageError:
    """That nothing is called so, with what is near."""
    names = [*sorted(NAMES), *(called.file.name for called in command_list(options, project, []))]
    if not options.extensions.no_skills:
        names += [skill.name for skill in find_skills(options.settings, project).skills]
    near = did_you_mean(name.lower(), names, sign="/")
    ways = "caliban -p /help lists all; --no-commands sends it as words"
    shown = one_line(name, max_chars=80)
    return UsageError(f"there is no command /{shown}", hint=" ".join(filter(None, (near, ways))))


def _typed(prompt: PromptOptions) -> str | None:
    """The words of the prompt on the command line, where they may call a command."""
    places = (prompt.print_prompt, prompt.prompt_flag, prompt.prompt)
    text = next((text for text in places if text is not None and text != "-"), "")
    return text.strip() if text.lstrip().startswith("/") else None


def _find(name: str, options: Options, project: Project, problems: list[str]) -> CalledCommand | None:
    for file, scope, trusted in _files(options, project, problems):
        if file.name.lower() != name.lower():
            continue
        try:
            called = _read(file, scope, trusted=trusted)
        except CalibanError as error:
            raise ConfigError(f"/{name}: {error.message}", hint=error.hint) from error
        refuse_untrusted(called)
        return called
    if options.extensions.no_skills:
        return None
    for skill in find_skills(options.settings, project).skills:
        if skill.name.lower() == name.lower() and skill.path is not None:
            if not skill.user_invocable:
                raise ConfigError(f"/{name}: the skill in {skill.path} is for the model alone")
            return CalledCommand(file=command_of(skill), arguments="")
    return None


def _files(
    options: Options, project: Project, problems: list[str]
) -> Iterator[tuple[ProjectFile, SkillScope, bool]]:
    """Files of commands. What is not trusted stands behind a person's own: it takes no name of theirs.

    Those of plugins have names that nobody else has.
    """
    theirs = project.files.commands if takes(options.settings, "project") else ()
    own = own_files("command", "commands", problems) if takes(options.settings, "user") else []
    if project.trust.counts:
        yield from ((file, "project", True) for file in theirs)
    yield from ((file, "user", True) for file in own)
    if not project.trust.counts:
        yield from ((file, "project", False) for file in theirs)
    if project.plugins:
        from caliban.compose.plugins.parts import plugin_commands

        yield from ((file, "plugin", True) for file in plugin_commands(project.plugins, problems))


def _read(file: ProjectFile, scope: SkillScope, *, trusted: bool) -> CalledCommand:
    command = read_command(file.path, file.data, scope, file.name)
    if scope == "project" and not file.may_steer:
        command = replace(command, model="")  # nobody was shown that it chooses one
    if command.effort not in ("", AUTO, *EFFORTS):
        words = f"the effort {one_line(command.effort, max_chars=40)!r} is not known, and not asked for"
        command = replace(command, effort="", notes=(*command.notes, words))
    elif command.effort and not trusted:
        command = replace(command, effort="", notes=(*command.notes, f"its effort does nothing {ALLOWED}"))
    return CalledCommand(file=command, arguments="", is_trusted=trusted)


def tell_notes(called: CalledCommand, report: Report) -> None:
    """What a person should know before the command is sent."""
    file = called.file
    notes = list(file.notes)
    if file.model in NICKNAMES:
        notes.append(f"the model {file.model!r} is a name that is not known here; that of the run is asked")
    if not called.is_trusted and file.allowed_tools:
        notes.append(f"its allowed-tools do nothing {ALLOWED}")
    for note in notes:
        words = f"/{file.name} ({one_line(str(file.path), max_chars=200)}): {note}"
        report(Notice(subtype="command_file", message=words))
