"""PowerShell: runs one command on Windows. **Never run there**: no such machine was at hand.

The command is handed over as `-EncodedCommand`, so that no quoting stands between what was judged and what
runs. Its language is not ours to read: no wildcard of a rule covers a call, only a rule that is the command.
"""

from __future__ import annotations

import base64
import ntpath
from collections.abc import Callable, Mapping
from typing import Any, Final

from caliban_common.arguments import Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.tool import ToolContext, ToolOutput
from caliban_process import Command, ProcessError, Runner
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import ShellFailed
from caliban_tools_builtin.fence import Fence
from caliban_tools_builtin.shell.bash import (
    DEFAULT_TIMEOUT_S,
    MARKER,
    MAX_PROCESSES,
    MAX_TIMEOUT_S,
    OUTPUT,
    checked_command,
    report,
)

MAX_CHARS: Final = 10_000
"""Encoded, that is 27,000 of the 32,767 characters that a command line of Windows may have."""
_OPTIONS: Final = ("-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand")
_PROGRAMS: Final = ("pwsh.exe", "powershell.exe")


def find_powershell(
    platform: str, environ: Mapping[str, str], is_program: Callable[[str], bool]
) -> str | None:
    """Where PowerShell is on Windows, the newer one first; `None` elsewhere, and where there is none.

    Only absolute directories of the path are looked at: the workspace supplies no shell.
    """
    if platform != "win32":
        return None
    path = next((value for name, value in environ.items() if name.upper() == "PATH"), "")
    folders = [folder for folder in path.split(";") if ntpath.isabs(folder) and ntpath.splitdrive(folder)[0]]
    places = [ntpath.join(folder, program) for program in _PROGRAMS for folder in folders]
    return next(filter(is_program, places), None)


class PowerShell:
    """The tool PowerShell; `program` is the one that runs."""

    def __init__(
        self, fence: Fence, runner: Runner, program: str, environment: Callable[[], dict[str, str]]
    ) -> None:
        self._fence = fence
        self._runner = runner
        self._program = program
        self._environment = environment

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: commands run in parallel, as in a terminal."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the command; see `Tool`."""
        return await answered(lambda: self._run(args, context.paths))

    async def _run(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("command", "timeout_seconds", "cwd"))
        command = checked_command(given.string("command"))
        if len(command) > MAX_CHARS:
            hint = "write it to a script file and run that"
            raise ShellFailed(f"the command is longer than {MAX_CHARS:,} characters", hint=hint)
        timeout_s = given.integer("timeout_seconds", DEFAULT_TIMEOUT_S, low=1, high=MAX_TIMEOUT_S)
        place = self._fence.admit(given.optional_string("cwd") or ".", judged)
        encoded = base64.b64encode(command.encode("utf-16-le")).decode("ascii")
        prepared = Command(
            argv=(self._program, *_OPTIONS, encoded),
            cwd=str(place.path),
            env=self._environment(),
            timeout_s=timeout_s,
            output=OUTPUT,
            marker=MARKER,
            max_processes=MAX_PROCESSES,
        )
        try:
            completed = await self._runner.run(prepared)
        except ProcessError as error:
            raise ShellFailed(error.message, hint=error.hint) from error
        return report(command, timeout_s, completed, "", tool="PowerShell")
