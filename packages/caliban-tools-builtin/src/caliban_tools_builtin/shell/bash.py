"""Bash: the tool that runs one command."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.text import clean
from caliban_common.tool import ToolContext, ToolOutput
from caliban_process import CapturedOutput, Command, Completed, NotStarted, ProcessError, Runner
from caliban_process.environ import shell_environment
from caliban_tools_builtin import handles
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import FileRefused, ShellFailed
from caliban_tools_builtin.fence import Fence

DEFAULT_TIMEOUT_S = 60
MAX_TIMEOUT_S = 600
MAX_COMMAND_BYTES = 131_071
"""The kernel's limit for one argument."""
MAX_PROCESSES = 2048
"""How many processes and threads one command may have, roughly."""
MARKER = "CALIBAN_SHELL"
_SHELLS = (
    ("/bin/bash", ("--noprofile", "--norc", "-c", "--")),
    ("/usr/bin/bash", ("--noprofile", "--norc", "-c", "--")),
    ("/bin/sh", ("-c", "--")),
)
_SHOWN_COMMAND_CHARS = 1000


class Bash:
    """The tool Bash.

    `host` is the environment from which a command's is built, read at each call; `overrides` are added.
    """

    def __init__(
        self, fence: Fence, runner: Runner, host: Mapping[str, str], overrides: Mapping[str, str]
    ) -> None:
        self._fence = fence
        self._runner = runner
        self._host = host
        self._overrides = overrides

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: commands run in parallel, as in a terminal."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the command; see `Tool`. On return or cancellation none of its processes is left."""
        return await answered(lambda: self._run(args))

    async def _run(self, args: Mapping[str, Any]) -> ToolOutput:
        if os.name != "posix":
            raise ShellFailed("Bash needs a POSIX system")
        given = Arguments(args, known=("command", "timeout_seconds", "cwd"))
        command = checked_command(given.string("command"))
        timeout_s = given.integer("timeout_seconds", DEFAULT_TIMEOUT_S, low=1, high=MAX_TIMEOUT_S)
        place = self._fence.admit(given.string("cwd", "."))
        try:
            with handles.directory(place) as handle:
                completed = await self._runner.run(
                    Command(
                        argv=(*shell(), command),
                        cwd=handles.working_directory(place, handle),
                        env=shell_environment(self._host, self._overrides),
                        timeout_s=timeout_s,
                        marker=MARKER,
                        max_processes=MAX_PROCESSES,
                    )
                )
        except FileRefused as error:
            raise ShellFailed(f"cwd {error.message}", hint="give a directory of the workspace") from error
        except ProcessError as error:
            raise _not_run(error) from error
        return _report(command, timeout_s, completed)


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


def _report(command: str, timeout_s: int, completed: Completed) -> ToolOutput:
    code = completed.exit_code
    if code is not None and code < 0:
        code = 128 - code  # a signal, as shells count it
    ended = f"→ Exit code: {code}" if code is not None else f"→ command timed out after {timeout_s}s"
    shown = command
    if len(shown) > _SHOWN_COMMAND_CHARS:
        shown = f"{shown[:_SHOWN_COMMAND_CHARS]}… [{len(command) - _SHOWN_COMMAND_CHARS} more characters]"
    parts = [f"→ Bash command: {shown}", ended]
    parts += ("→ Stdout:", _shown(completed.stdout), "→ Stderr:", _shown(completed.stderr))
    if completed.stopped and code is not None:
        left = "1 process" if completed.stopped == 1 else f"{completed.stopped} processes"
        parts.append(f"→ Stopped {left} that the command had left running")
    return ToolOutput.of(
        clean("\n".join(parts)),
        is_error=code != 0,
        details={"exit_code": code, "timed_out": code is None, "stopped": completed.stopped},
    )


def _shown(stream: CapturedOutput) -> str:
    return stream.text().removesuffix("\n") or ("(empty)" if not stream.total_bytes else "")
