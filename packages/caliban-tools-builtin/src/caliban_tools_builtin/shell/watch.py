"""BashOutput and KillShell: what background commands print, and their end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_common.arguments import Arguments
from caliban_common.text import clean
from caliban_common.tool import ToolContext, ToolOutput
from caliban_process.output import Capture, OutputLimit
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.shell.background import BackgroundShell, BackgroundShells

MAX_BYTES: Final = 30 * 1024
"""Of one look."""


class BashOutput:
    """The tool BashOutput."""

    def __init__(self, shells: BackgroundShells) -> None:
        self._shells = shells

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The shell: a look moves its cursor."""
        return f"shell {args.get('shell_id')}"

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Read on; see `Tool`."""
        return await answered(lambda: self._read(args, context))

    async def _read(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        given = Arguments(args, known=("shell_id", "since_offset"))
        shell = self._shells.find(given.string("shell_id"))
        since = given.integer("since_offset", shell.offset, low=0, high=1 << 62)
        return _look(shell, since, context)


class KillShell:
    """The tool KillShell."""

    def __init__(self, shells: BackgroundShells) -> None:
        self._shells = shells

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The shell."""
        return f"shell {args.get('shell_id')}"

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """End it: SIGTERM, SIGKILL after five seconds; see `Tool`."""
        return await answered(lambda: self._kill(args, context))

    async def _kill(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        shell = self._shells.find(Arguments(args, known=("shell_id",)).string("shell_id"))
        shell.kill.set()
        await shell.over.wait()
        return _look(shell, shell.offset, context)


def _look(shell: BackgroundShell, since: int, context: ToolContext) -> ToolOutput:
    """How the shell stands, and what it has printed from `since` on: no news any more to who looks."""
    shell.is_known = shell.is_known or shell.over.is_set() or not context.agent
    start, data = shell.output.read(since, MAX_BYTES, complete=shell.over.is_set())
    shell.offset = end = start + len(data)
    total = shell.output.total_bytes
    capture = Capture(OutputLimit(head_bytes=MAX_BYTES, tail_bytes=0, last_frames=True))
    capture.feed(data)
    where = f"→ Bytes {start}-{end} of {total}"
    if start > since:
        where += f"; those from {since} on are gone"
    if end < total:
        where += f"; more with since_offset {end}"
    output = capture.output.text().removesuffix("\n") if data else "(nothing new)"
    return ToolOutput.of(
        clean("\n".join((f"→ Shell {shell.id}: {shell.state}", where, output))),
        details={"shell_id": shell.id, "next_offset": end, "over": shell.over.is_set()},
    )
