"""A program as a server: one frame a line on its standard input and output."""

from __future__ import annotations

import errno
import re
import signal
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from caliban_common.text import one_line
from caliban_mcp_client.encode import Outgoing
from caliban_mcp_client.errors import ConnectError
from caliban_mcp_client.frames import long_scrap, read_frames
from caliban_mcp_client.inflight import Call
from caliban_mcp_client.lines import LineReader, LongLine
from caliban_mcp_client.target import ServerOptions, StdioTarget
from caliban_process import Command, InputClosed, NotStarted, OutputLimit, Runner
from caliban_process.environ import program_environment

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from caliban_mcp_client.ports import Receiver
    from caliban_process.process import Process

MARKER: Final = "CALIBAN_MCP"
STDERR_BYTES: Final = 64 * 1024
_SHOWN_CHARS: Final = 2000
_DENIED_HINT: Final = "let it be run (chmod +x), or name what runs it as the command, and it in args"
_AFTER_EXIT_S: Final = 0.4
_MOST_WAITING_BYTES: Final = 64 * 1024 * 1024


class ProgramCarrier:
    """Writes at once what the pipe takes, and queues the rest: what reads must not wait for a full pipe."""

    is_http = False

    def __init__(
        self, process: Process, receiver: Receiver, options: ServerOptions, tasks: TaskGroup
    ) -> None:
        self._process = process
        self._tasks = tasks
        self._receiver = receiver
        self._lines = LineReader(options.max_message_bytes)
        self._most_bytes = 2 * options.max_message_bytes
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._is_writing = False
        self._is_deaf = False
        self._is_overrun = False

    async def deliver(self, message: Outgoing, call: Call | None) -> None:
        """Write or queue a message. Answers to a server that asks and does not read are dropped at 64 MiB."""
        if self._is_deaf:
            return  # whether it has ended is told by its output
        if call is None and self._queued_bytes > _MOST_WAITING_BYTES:
            self._receiver.note("messages that the server does not read; they are dropped")
            return
        line = message.body + b"\n"
        if not self._is_writing:
            try:
                line = self._process.send_now(line)
            except InputClosed:
                self._is_deaf = True
                return
        if line:
            self._queue.append(line)
            self._queued_bytes += len(line)
            if not self._is_writing:
                self._is_writing = True
                self._tasks.start_soon(self._write)

    @property
    def has_exited(self) -> bool:
        """Whether the program has ended by itself, while somebody was looking."""
        return self._process.exit_noticed

    def agreed(self, version: str, *, is_modern: bool) -> None:
        """Nothing changes."""

    async def _write(self) -> None:
        """Write what is queued, until there is no more of it or the program reads no more."""
        try:
            while self._queue:
                line = self._queue.popleft()
                self._queued_bytes -= len(line)
                await self._process.send(line)
            self._is_writing = False
        except InputClosed:
            self._is_deaf = True
            self._queue.clear()

    async def attend(self) -> None:
        """Hand on what it prints, until nobody can print any more, it has ended, or a line is far too long.

        What happens to it is noticed from then on too, until it is closed or this is cancelled.
        """
        process = self._process
        process.take_stdout(self._read)
        await process.until(lambda: process.is_stdout_over or process.exit_noticed)
        if process.is_stdout_over:
            self._end_lines()
        if not (process.is_stdout_over and process.exit_noticed):
            # Where it has ended others may hold its output; where that is closed it may be about to end.
            with anyio.move_on_after(_AFTER_EXIT_S):
                await process.until(lambda: process.is_stdout_over and process.exit_noticed)
        if process.is_stdout_over:
            self._end_lines()
        self._receiver.end(
            "the server has ended" if process.exit_noticed else "the server has closed its output"
        )
        await process.until(lambda: False)

    def _end_lines(self) -> None:
        for line in self._lines.close():
            self._take(line)

    def _read(self, chunk: bytes) -> None:
        if self._is_overrun:
            return
        for line in self._lines.feed(chunk):
            self._take(line)
        if self._lines.overrun_bytes > self._most_bytes:
            self._is_overrun = True
            self._receiver.discard(long_scrap(b'{"jsonrpc"', self._lines.overrun_bytes))
            self._receiver.end(f"the server sent a message of more than {self._most_bytes:,} bytes")

    def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            self._receiver.discard(long_scrap(line.head, line.size_bytes))
            return
        frames, scraps = read_frames(line)
        for scrap in scraps:
            self._receiver.discard(scrap)
        for frame in frames:
            self._receiver.receive(frame)


class Program:
    """A program that was started. `said` is the end of its standard error."""

    def __init__(self, process: Process, carrier: ProgramCarrier) -> None:
        self._process = process
        self.carrier = carrier

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._process.stderr.kept.decode("utf-8", "replace")[-_SHOWN_CHARS:]

    @property
    def ended(self) -> str:
        """How it ended, in words, once it was closed; empty where we had to end it."""
        code = self._process.exit_code if self.carrier.has_exited else None
        if code is None:
            return ""
        return f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"


@asynccontextmanager
async def opened_program(
    target: StdioTarget, options: ServerOptions, parts: tuple[Runner, Receiver, TaskGroup]
) -> AsyncIterator[Program]:
    """Start a program and speak with it; at the end it is closed in order, with all that it has started.

    `parts` are who starts it, whom it speaks to, and the tasks of the conversation, which whoever has them
    cancels behind the block. Raises `ConnectError`.
    """
    runner, receiver, tasks = parts
    command = _command(target, options)
    try:
        async with runner.start(command, attended=True) as process:
            carrier = ProgramCarrier(process, receiver, options, tasks)
            tasks.start_soon(carrier.attend)
            yield Program(process, carrier)
    except NotStarted as error:
        raise _not_started(target, error) from error


def _command(target: StdioTarget, options: ServerOptions) -> Command:
    env = program_environment(target.host_env, target.env)
    return Command(
        argv=(target.command, *target.args),
        cwd=target.cwd,
        env=env,
        stdin=b"",
        grace_s=options.close_grace_s,
        output=OutputLimit(head_bytes=0, tail_bytes=STDERR_BYTES),
        marker=MARKER,
    )


def _not_started(target: StdioTarget, error: NotStarted) -> ConnectError:
    shown = one_line(target.command, max_chars=120)
    if target.cwd is not None and not Path(target.cwd).is_dir():
        words = (
            f"there is no directory {one_line(target.cwd, max_chars=200)} for the server {shown} to run in"
        )
        hint = "~ is not filled in here: write ${HOME}" if "~" in Path(target.cwd).parts else "correct `cwd`"
        return ConnectError("not_found", words, hint=hint)
    if error.errno == errno.ENOENT and _is_there(target):
        words = f"the program {shown} is there, and what its first line names to run it with is not"
        return ConnectError("not_found", words, hint="install that, or end its lines as Unix does (no CRLF)")
    if error.errno == errno.ENOENT:
        return ConnectError("not_found", f"there is no program {shown}", hint=_missing_hint(target.command))
    if Path(target.cwd or ".", target.command).is_dir():
        return ConnectError("refused", f"{shown} is a directory, and no program")
    words = f"the server {shown} could not be started: {error.reason}"
    is_denied = error.errno in (errno.EACCES, errno.ENOEXEC)
    return ConnectError("refused", words, hint=_DENIED_HINT if is_denied else None)


def _is_there(target: StdioTarget) -> bool:
    return "/" in target.command and Path(target.cwd or ".", target.command).is_file()


def _missing_hint(command: str) -> str:
    """What to do about a program that is not there."""
    if command.startswith("~"):
        return "~ is not filled in here: write ${HOME}"
    if re.search(r"\s", command.strip()):
        return "the command is the program alone: what it is called with stands in args"
    return "install it, or give its whole path as the command"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
