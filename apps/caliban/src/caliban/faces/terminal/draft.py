"""What helps to write a prompt: files, resources, the history, other programs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import anyio

from caliban.compose.app import App
from caliban.compose.directories import directories_of
from caliban.compose.terminal import files_command
from caliban.errors import CommandRefused
from caliban_commands.command import AskedWords
from caliban_common.errors import CalibanError
from caliban_common.paths import cache_dir, project_slug, state_dir
from caliban_common.text import one_line
from caliban_process import Command
from caliban_process.environ import program_environment
from caliban_process.foreground import run_in_foreground
from caliban_process.output import OutputLimit
from caliban_tui.draft.files import CommandFiles, FilesOfRoots, FileSuggestionSource, GitFiles
from caliban_tui.draft.history import HistoryFile, PromptHistory
from caliban_tui.draft.ports import DraftHelp

MAX_BYTES: Final = 64_000_000
TIMEOUT_S: Final = 20.0
RESOURCES_S: Final = 5.0


class AppPrograms:
    """See `TerminalPrograms`: the programs get what those of a person's settings do."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def environ(self) -> Mapping[str, str]:
        """See `TerminalPrograms`."""
        return self._app.environ

    async def output(self, argv: Sequence[str], cwd: str, stdin: bytes) -> bytes:
        """See `TerminalPrograms`."""
        inputs = self._app.live.inputs
        name = one_line(argv[0], max_chars=80)
        if inputs is None:
            raise CommandRefused(f"{name} cannot be started: nothing that starts programs is there")
        command = Command(
            argv=tuple(argv),
            cwd=cwd,
            env=program_environment(inputs.host.environ, _desktop(inputs.host.environ)),
            stdin=stdin,
            timeout_s=TIMEOUT_S,
            grace_s=0,
            output=OutputLimit(head_bytes=MAX_BYTES, tail_bytes=0, refuse=True),
        )
        done = await inputs.host.runner.run(command)
        if done.exit_code is None:
            raise CommandRefused(f"{name} was not done within {TIMEOUT_S:.0f} s")
        if done.exit_code:
            words = one_line(done.stderr.text(), max_chars=200)
            raise CommandRefused(f"{name} ended with {done.exit_code}: {words}")
        return done.stdout.kept

    def which(self, name: str) -> str | None:
        """See `TerminalPrograms`."""
        return shutil.which(name, path=self._app.environ.get("PATH"))

    def foreground(self, words: Sequence[str]) -> int:
        """See `TerminalPrograms`."""
        return run_in_foreground(words)


def draft_help(app: App, session: str) -> DraftHelp:
    """What helps to write the prompts of a session."""
    programs = AppPrograms(app)
    file = HistoryFile(state_dir() / "history", project_slug(app.workspace))
    return DraftHelp(
        programs=programs,
        files=_files(app, programs),
        resources=lambda: _resources(app),
        mentioned=lambda typed: _mentioned(app, typed),
        history=PromptHistory(file, session=session),
        image_folder=cache_dir() / "pasted",
        workspace=app.workspace,
    )


def _files(app: App, programs: AppPrograms) -> FileSuggestionSource:
    argv = files_command(app.settings)
    own = CommandFiles(argv, app.workspace, programs) if argv else GitFiles(app.workspace, programs)
    return FilesOfRoots(own, partial(_further, app, programs))


def _further(app: App, programs: AppPrograms) -> Mapping[str, FileSuggestionSource]:
    """What lists the directories beside the workspace, which may become more."""
    return {str(root): GitFiles(root, programs) for root in directories_of(app)[1:]}


async def _resources(app: App) -> Sequence[str]:
    """`server:uri` of every resource that the servers of the run list in time."""
    names: list[str] = []
    if app.servers is None:
        return names
    with anyio.move_on_after(RESOURCES_S):
        for server in app.servers.fleet.servers:
            if not server.has_resources:
                continue
            try:
                client = await server.connected()
                names += [f"{server.name}:{resource.uri}" for resource in await client.list_resources()]
                if client.info.offers("completions"):
                    from caliban.compose.servers.completing import template_beginnings

                    names += await template_beginnings(server, client)
            except CalibanError:
                continue
    return names


def _mentioned(app: App, typed: str) -> AskedWords | None:
    """Whom to ask how a mention of a server could go on."""
    if app.servers is None or ":" not in typed:
        return None
    from caliban.compose.servers.completing import resource_words

    return resource_words(app, typed)


def _desktop(environ: Mapping[str, str]) -> Mapping[str, str]:
    names = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
    return {name: environ[name] for name in names if name in environ}
