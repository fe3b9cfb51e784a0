"""What is run, within which bounds, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from caliban_process.output import CapturedOutput, OutputLimit

EndReason: TypeAlias = Literal["exited", "timeout", "enough"]
"""It ended by itself, time ran out, or whoever read its output had enough."""


class Command(Struct, frozen=True, kw_only=True):
    """A program to run: the whole argument list, where, with exactly which environment, within which bounds.

    `stdin` is what it is sent; `None` gives it no input at all, and `b""` with `Runner.start` opens a pipe
    for `Process.send`. Without a time limit it runs to its end. `grace_s` lies between SIGTERM and SIGKILL
    when it is ended; zero means SIGKILL at once. With `session` it has a session of its own, otherwise only a
    group: Linux schedules sessions against each other, which slows a short program beside a busy terminal by
    a third. `marker` names a variable that marks everything it starts, so that nothing escapes by leaving the
    session. `max_processes` bounds, roughly, how many processes and threads it may have. With `merged` its
    standard error goes where its output goes, in the order in which it writes (POSIX).

    `sandboxed` is for the wrapper: False lets the program run outside of a sandbox, which only whoever judges
    calls may say, never what a model sends. `data` are bytes that it inherits, each under a descriptor whose
    number stands in `argv` in the place of the name (POSIX). `monitor` is how the own errors of a program
    begin that runs another, ends with it, and takes it along when it is killed: SIGTERM is for the others,
    they are not counted, and where it fails with exit code 1 by itself nothing was started.
    """

    argv: tuple[str, ...]
    cwd: str | None = None
    env: Mapping[str, str]
    stdin: bytes | None = None
    timeout_s: float | None = None
    grace_s: float = 0.3
    session: bool = True
    output: OutputLimit = OutputLimit()
    marker: str | None = None
    max_processes: int | None = None
    merged: bool = False
    sandboxed: bool = True
    data: Mapping[str, bytes] = field(default_factory=dict)
    monitor: str | None = None


class Completed(Struct, frozen=True, kw_only=True):
    """A program that has ended, with all that it had started.

    `exit_code` is negative for a signal, `None` where the program did not end by itself. `stopped` counts the
    processes beside it that were still there and were stopped.
    """

    reason: EndReason
    exit_code: int | None
    stdout: CapturedOutput
    stderr: CapturedOutput
    stopped: int

    @property
    def timed_out(self) -> bool:
        return self.reason == "timeout"
