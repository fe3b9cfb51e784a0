"""Commands that come from files, skills, plugins and servers, and may come and go during a session."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

from msgspec.structs import replace

from caliban.compose.app import App
from caliban.compose.project import ALLOWED, Project, open_project
from caliban.compose.slash import CalledCommand, command_list, model_of, refuse_untrusted, tell_notes
from caliban.compose.supplied import own_folders
from caliban.slash.table import NAMES
from caliban_commands.answer import CommandAnswer, SubmitPrompt
from caliban_commands.command import SlashCommand, SlashContext
from caliban_common.text import one_line
from caliban_drive.notice import Notice
from caliban_skills import Skill
from caliban_skills.command import command_of

LOOK_S: Final = 0.5
"""How often a menu may rescan the folders; a call always rescans."""
SETTLE_S: Final = 10.0
"""How long a call waits for servers that are still connecting."""
MAX_DEPTH: Final = 4
Stamps: TypeAlias = tuple[tuple[str, int, int], ...]


class FurtherRows:
    """See `FurtherCommands`: the rows of files, skills and servers, in order of precedence."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._project: Project = app.live.read
        self._stamps: Stamps | None = None
        self._looked_s = -LOOK_S
        self._said: set[str] = set()
        self._prompts: tuple[SlashCommand, ...] = ()
        self._count = 0  # of them, at the end of the rows
        self._rows: tuple[SlashCommand, ...] = ()

    def __call__(self, now: bool) -> tuple[SlashCommand, ...]:
        options = self._app.options
        if options.settings.bare or options.extensions.no_commands:
            return self._rows
        moment_s = time.monotonic()
        if not now and moment_s - self._looked_s < LOOK_S:
            return self._rows
        self._looked_s = moment_s
        stamps = folder_stamps(self._folders())
        if stamps == self._stamps:
            return self._rows
        if self._stamps is not None:
            self._project = self._project_now()
        self._stamps = stamps
        self._rows, self._count = (*self._files(), *self._skills(), *self._prompts), len(self._prompts)
        return self._rows

    async def ask(self) -> None:
        """Ask connected servers for their prompts."""
        servers = self._app.servers
        if servers is None:
            return
        await servers.fleet.settle(servers.fleet.servers, SETTLE_S)
        from caliban.slash.serverprompts import server_rows

        prompts = await server_rows(self._app)
        if [row.name for row in prompts] != [row.name for row in self._prompts]:
            self._prompts = prompts
            self._rows = (*self._rows[: len(self._rows) - self._count], *prompts)
            self._count = len(prompts)

    def _folders(self) -> Iterator[str]:
        yield from map(str, own_folders("commands"))
        for owner in (".caliban", ".claude"):
            yield f"{self._app.workspace}/{owner}/commands"

    def _project_now(self) -> Project:
        """The project as it is now; files added since it was trusted for this run may not steer it."""
        from caliban.compose.reload import reopened

        live, options = self._app.live, self._app.options.settings
        before = {file.path: file.data for file in live.read.files.commands}
        project, _ = reopened(live)
        new = (file for file in project.files.commands if before.get(file.path) != file.data)
        if project.trust.state != "once" or not any(file.may_steer for file in new):
            return project
        project = open_project(replace(options, trust_project=False), self._app.workspace)
        return replace(project, plugins=live.read.plugins)

    def _files(self) -> Iterator[SlashCommand]:
        problems: list[str] = []
        names: set[str] = set(NAMES)
        for called in command_list(self._app.options, self._project, problems):
            name = called.file.name.lower()
            if name in NAMES:
                place = one_line(str(called.file.path), max_chars=200)
                problems.append(f"/{called.file.name} ({place}) is left out: a built-in command has its name")
            elif name not in names:
                names.add(name)
                yield self._row_of(called)
        for problem in problems:
            self._say(problem)

    def _row_of(self, called: CalledCommand) -> SlashCommand:
        file = called.file
        return SlashCommand(
            name=file.name,
            summary=one_line(file.description or _first_line(file.body), max_chars=200),
            group="Yours",
            run=partial(_submit, self._app, called),
            arguments=one_line(file.argument_hint, max_chars=80),
            source={"project": "project", "plugin": "plugin"}.get(file.scope, "user"),  # type: ignore[arg-type]
            uses=frozenset(["model"]),
            submits=True,
        )

    def _skills(self) -> Iterator[SlashCommand]:
        catalog = self._app.extensions.skills
        for skill in () if catalog is None else catalog.skills:
            if skill.path is None or not skill.user_invocable:
                continue
            if skill.name.lower() in NAMES:
                place = one_line(str(skill.path), max_chars=200)
                self._say(f"the skill in {place} is for the model alone: a built-in command has its name")
            else:
                yield self._skill_row(skill)

    def _skill_row(self, skill: Skill) -> SlashCommand:
        called = CalledCommand(file=command_of(skill), arguments="")
        return SlashCommand(
            name=skill.name,
            summary=one_line(skill.description, max_chars=200),
            group="Yours",
            run=partial(_submit, self._app, called),
            arguments="[words]",
            source="skill",
            uses=frozenset(["model"]),
            submits=True,
        )

    def _say(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            self._app.reporter(Notice(subtype="command_file", message=words))


async def _submit(app: App, called: CalledCommand, context: SlashContext, arguments: str) -> CommandAnswer:
    """The prompt made from a command file; its shell lines run behind the gate."""
    from caliban.faces.commandfile import command_texts

    refuse_untrusted(called)
    tell_notes(called, app.reporter)
    whole, written = await command_texts(app, replace(called, arguments=arguments))
    if not called.is_trusted and app.options.prompt.expand_files and "@" in written:
        words = f"the files that /{called.file.name} names are not attached {ALLOWED}"
        app.reporter(Notice(subtype="command_file", message=words))
        written = ""
    shown = f"/{called.file.name} {arguments}".rstrip()
    effect = SubmitPrompt(
        text=whole,
        shown=shown,
        references=written,
        model=model_of(called, app.options),
        effort=called.file.effort,
    )
    return CommandAnswer(effect=effect)


def _first_line(body: str) -> str:
    return next((line.strip().lstrip("# ") for line in body.splitlines() if line.strip()), "")


def folder_stamps(folders: Iterator[str]) -> Stamps:
    """Names, times and sizes of everything in `folders`. Most do not exist, which costs microseconds."""
    stamps: list[tuple[str, int, int]] = []
    for folder in folders:
        _look(folder, 0, stamps)
    return tuple(stamps)


def _look(folder: str, depth: int, stamps: list[tuple[str, int, int]]) -> None:
    try:
        with os.scandir(folder) as listing:
            entries = list(listing)
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):  # such as a link that leads nowhere: the others still count
            if entry.name.endswith(".md"):
                status = entry.stat()
                stamps.append((entry.path, status.st_mtime_ns, status.st_size))
            elif depth < MAX_DEPTH and entry.is_dir(follow_symlinks=False):
                _look(entry.path, depth + 1, stamps)
