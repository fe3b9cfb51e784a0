"""Bash: the tool that runs one command."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.event import ToolProgress
from caliban_common.permission import JudgedPaths
from caliban_common.text import clean, one_line
from caliban_common.tool import ToolContext, ToolOutput
from caliban_process import CapturedOutput, Command, Completed, NotStarted, OutputLimit, ProcessError, Runner
from caliban_tools_builtin import handles
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import FileRefused, ShellFailed
from caliban_tools_builtin.fence import AdmittedPath, Fence

if TYPE_CHECKING:
    from caliban_tools_builtin.shell.background import BackgroundShells

DEFAULT_TIMEOUT_S = 60
MAX_TIMEOUT_S = 600
MAX_COMMAND_BYTES = 131_071
"""The kernel's limit for one argument."""
MAX_PROCESSES = 2048
"""How many processes and threads one command may have, roughly."""
MARKER = "CALIBAN_SHELL"
OUTPUT = OutputLimit(last_frames=True)
_SHELLS = (
    ("/bin/bash", ("--noprofile", "--norc", "-c", "--")),
    ("/usr/bin/bash", ("--noprofile", "--norc", "-c", "--")),
    ("/bin/sh", ("-c", "--")),
)
_SHOWN_COMMAND_CHARS = 1000
_SHOWN_TITLE_CHARS = 100


class ShellPort(Struct, frozen=True, kw_only=True):
    """What commands are run with: their environment, asked at each call, and what goes on after one.

    `runs_outside` says of the arguments of a call that its command leaves the sandbox; `explained` says in a
    line what the sandbox refused a command that has failed with this output, or nothing. `shown` gives the
    words for a person who watches what a command prints, without secrets; `None` where nobody does.
    """

    environment: Callable[[], Mapping[str, str]]
    shells: Callable[[], BackgroundShells | None] = lambda: None
    runs_outside: Callable[[Mapping[str, Any]], bool] = lambda args: False
    explained: Callable[[str], str] = lambda output: ""
    shown: Callable[[str], str] | None = None


class Bash:
    """The tool Bash."""

    def __init__(self, fence: Fence, runner: Runner, port: ShellPort) -> None:
        self._fence = fence
        self._runner = runner
        self._port = port

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: commands run in parallel, as in a terminal."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the command; see `Tool`. On return or cancellation none is left that was not to stay."""
        return await answered(lambda: self._run(args, context))

    async def _run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        if os.name != "posix":
            raise ShellFailed("Bash needs a POSIX system")
        given = Arguments(args, known=("command", "timeout_seconds", "cwd", "background"))
        command = checked_command(given.string("command"))
        timeout_s = given.integer("timeout_seconds", DEFAULT_TIMEOUT_S, low=1, high=MAX_TIMEOUT_S)
        place, note = self._place(given.optional_string("cwd"), context.paths)
        background = given.boolean("background", False)
        try:
            with handles.directory(place) as handle:
                prepared = Command(
                    argv=(*shell(), command),
                    cwd=handles.working_directory(place, handle),
                    env=self._port.environment(),
                    timeout_s=None if background and args.get("timeout_seconds") is None else timeout_s,
                    output=OUTPUT,
                    marker=MARKER,
                    max_processes=MAX_PROCESSES,
                    merged=background,
                    sandboxed=not self._port.runs_outside(args),
                )
                if background:
                    return await self._start(prepared, command, note, context.agent)
                completed = await self._completed(prepared, context)
        except FileRefused as error:
            raise ShellFailed(f"cwd {error.message}", hint="give a directory of the workspace") from error
        except ProcessError as error:
            raise _not_run(error) from error
        if prepared.sandboxed and completed.exit_code != 0:
            note = "\n".join(filter(None, (note, self._explained(completed))))
        return report(command, timeout_s, completed, note)

    async def _completed(self, command: Command, context: ToolContext) -> Completed:
        """Run it, and let a person see what it prints meanwhile."""
        shown = self._port.shown
        if shown is None:
            return await self._runner.run(command)
        from caliban_tools_builtin.shell.live import followed

        async def tell(text: str) -> None:
            event = ToolProgress(
                tool_use_id=context.tool_use_id, agent=context.agent, text=clean(shown(text))
            )
            await context.emit(event)

        return await followed(self._runner, command, tell)

    def _explained(self, completed: Completed) -> str:
        words = self._port.explained(f"{completed.stderr.text()}\n{completed.stdout.text()}")
        return f"→ {words}" if words else ""

    async def _start(self, prepared: Command, command: str, note: str, agent: str) -> ToolOutput:
        shells = self._port.shells()
        if shells is None:
            raise ShellFailed("nothing can run in the background here", hint="leave `background` out")
        title = one_line(command, max_chars=_SHOWN_TITLE_CHARS)
        started = await shells.start(prepared, title=title, agent=agent)
        parts = (f"→ Bash command: {_excerpt(command)}", f"→ Runs in the background as shell_id {started.id}")
        return ToolOutput.of(
            clean("\n".join((*parts, *filter(None, (note,))))), details={"shell_id": started.id}
        )

    def _place(self, cwd: str | None, judged: JudgedPaths | None) -> tuple[AdmittedPath, str]:
        """Where to run, and what to say of it: a workspace that is gone must not end all commands."""
        place = self._fence.admit("." if cwd is None else cwd, judged)
        if cwd is not None or place.path.is_dir():
            return place, ""
        there = next(path for path in place.path.parents if path.is_dir())
        note = f"→ The workspace {place.path} does not exist any more: the command ran in {there}"
        return AdmittedPath(path=there, root=there, shown=str(there)), note


def checked_command(command: str) -> str:
    """`command` if a shell can be given it. Raises `ArgumentError`; no byte of it is ever changed."""
    if not command.strip():
        raise ArgumentError("the command is empty")
    if "\0" in command:
        raise ArgumentError("the command holds a NUL character")
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ArgumentError("the command is not valid Unicode text (a lone surrogate)") from error
    if size > MAX_COMMAND_BYTES:
        hint = "write it to a script file and run that"
        raise ArgumentError(
            f"command too long: {size:,} bytes, the limit is {MAX_COMMAND_BYTES:,}", hint=hint
        )
    return command


def shell() -> tuple[str, ...]:
    """The one shell that runs commands: bash without start-up files, else sh; never `$SHELL`."""
    for program, options in _SHELLS:
        if os.access(program, os.X_OK):
            return (program, *options)
    raise ShellFailed("there is neither /bin/bash nor /bin/sh")


def _not_run(error: ProcessError) -> ShellFailed:
    if isinstance(error, NotStarted) and error.errno == errno.E2BIG:
        return ShellFailed("the command is too long", hint="write it to a script file and run that")
    return ShellFailed(error.message, hint=error.hint)


def report(
    command: str, timeout_s: int, completed: Completed, note: str, *, tool: str = "Bash"
) -> ToolOutput:
    """What the model reads of a command that has ended."""
    code = completed.exit_code
    if code is not None and code < 0:
        code = 128 - code  # a signal, as shells count it
    ended = f"→ Exit code: {code}" if code is not None else f"→ command timed out after {timeout_s}s"
    parts = [f"→ {tool} command: {_excerpt(command)}", ended]
    parts += ("→ Stdout:", _shown(completed.stdout), "→ Stderr:", _shown(completed.stderr))
    if completed.stopped and code is not None:
        left = "1 process" if completed.stopped == 1 else f"{completed.stopped} processes"
        parts.append(f"→ Stopped {left} that the command had left running")
    if note:
        parts.append(note)
    return ToolOutput.of(
        clean("\n".join(parts)),
        is_error=code != 0,
        details={"exit_code": code, "timed_out": code is None, "stopped": completed.stopped},
    )


def _excerpt(command: str) -> str:
    if len(command) <= _SHOWN_COMMAND_CHARS:
        return command
    rest = len(command) - _SHOWN_COMMAND_CHARS
    return f"{command[:_SHOWN_COMMAND_CHARS]}… [{rest} more characters]"


def _shown(stream: CapturedOutput) -> str:
    return stream.text().removesuffix("\n") or ("(empty)" if not stream.total_bytes else "")
