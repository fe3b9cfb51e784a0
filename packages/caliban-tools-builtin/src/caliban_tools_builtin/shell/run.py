"""Running one command to its end, its time limit or its cancellation; on asyncio and trio alike.

What ends a call is the end of the shell, never the end of its pipes: a process that outlives the shell and
holds them gets a moment to finish writing and is then stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from signal import SIGKILL, SIGTERM
from time import monotonic

import anyio
from msgspec import Struct

from caliban_tools_builtin.process import POLL_S, Child, start
from caliban_tools_builtin.shell.capture import Capture
from caliban_tools_builtin.shell.tree import IS_LINUX, Traces, family, signal_all, threads_running
from caliban_tools_builtin.shell.watchdog import Watchdog

PIPE_GRACE_S = 0.4
"""How long pipes are read on after the shell has ended."""
TERM_GRACE_S = 0.3
"""How long processes have between SIGTERM and SIGKILL."""
KILL_WAIT_S = 2.0
ROOM_FOR_PROCESSES = 2048
"""How many processes and threads one command may have, roughly."""


class Order(Struct, frozen=True, kw_only=True):
    """A command to run: the whole argument list, where, with what environment, for how long at most."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    timeout_s: float
    marker: bytes


class Finished(Struct, frozen=True, kw_only=True):
    """A command that has ended. `exit_code` is `None` if time ran out, negative for a signal.

    `stopped` counts the processes that it left running and that were stopped.
    """

    exit_code: int | None
    stdout: Capture
    stderr: Capture
    stopped: int


class _Call(Struct, kw_only=True):
    """A command under way; `ended` says that its shell has ended by itself."""

    child: Child
    stdout: Capture
    stderr: Capture
    ended: bool = False


async def run(order: Order, watchdog: Watchdog) -> Finished:
    """Run the command. However this ends, nothing of it is left. Raises `ShellFailed`."""
    child = start(order.argv, cwd=order.cwd, env=order.env)
    call = _Call(child=child, stdout=Capture(), stderr=Capture())
    stopped, code = 0, None
    try:
        watchdog.add(child.pid)
        _limit_processes(child.pid)
        with anyio.move_on_after(order.timeout_s):
            await _drain_all(call)
    finally:
        with anyio.CancelScope(shield=True):
            stopped = await (_stop_rest(child) if call.ended else _stop_all(child, order.marker))
            code = await _reaped(child)
            watchdog.drop(child.pid)
            _drain_now(call)
            child.close()
    return Finished(
        exit_code=code if call.ended else None, stdout=call.stdout, stderr=call.stderr, stopped=stopped
    )


async def _drain_all(call: _Call) -> None:
    """Read both pipes until the shell has ended, and for a moment longer if they are still open."""
    async with anyio.create_task_group() as group:
        group.start_soon(_drain, call.child, call.child.stdout, call.stdout)
        group.start_soon(_drain, call.child, call.child.stderr, call.stderr)
        await call.child.exited()
        call.ended = True
        group.cancel_scope.deadline = anyio.current_time() + PIPE_GRACE_S


async def _drain(child: Child, pipe: int, into: Capture) -> None:
    while chunk := await child.read(pipe):
        into.feed(chunk)


def _drain_now(call: _Call) -> None:
    """What still lies in the pipes; bounded, for somebody may go on writing."""
    for pipe, into in ((call.child.stdout, call.stdout), (call.child.stderr, call.stderr)):
        for _ in range(32):
            chunk = call.child.read_now(pipe)
            if not chunk:
                break
            into.feed(chunk)


async def _stop_rest(child: Child) -> int:
    """Stop what the ended shell has left in its session; how many processes that were.

    What moved to a session of its own is a daemon that the command wanted: the watchdog ends it with us.
    """
    left = family(child.pid, None)
    if left or not IS_LINUX:
        await _stop(child, left, None)
    return len(left)


async def _stop_all(child: Child, marker: bytes) -> int:
    """Stop the shell and everything it has started, in whatever session; how many processes beside it."""
    traces = Traces(marker=marker, pipes=child.pipe_names())
    others = family(child.pid, traces)
    await _stop(child, others, traces)
    return len(others)


async def _stop(child: Child, others: tuple[int, ...], traces: Traces | None) -> None:
    """SIGTERM, a moment, then SIGKILL until nothing is left."""
    signal_all(child.pid, others, SIGTERM)
    if await _gone(child, traces, TERM_GRACE_S):
        return
    deadline = monotonic() + KILL_WAIT_S
    while monotonic() < deadline:
        signal_all(child.pid, family(child.pid, traces), SIGKILL)
        if await _gone(child, traces, 4 * POLL_S):
            return


async def _gone(child: Child, traces: Traces | None, within_s: float) -> bool:
    """Whether the shell and its family end within that time."""
    with anyio.move_on_after(within_s):
        await child.exited()
        while family(child.pid, traces):
            await anyio.sleep(POLL_S)
        return True
    return False


async def _reaped(child: Child) -> int | None:
    with anyio.move_on_after(KILL_WAIT_S):
        await child.exited()
        return child.reap()
    return None  # it hangs in the kernel: nobody can end it


def _limit_processes(pid: int) -> None:
    """Bound what a fork bomb does to the user's other programs; Linux, best effort, without effect for root.

    The kernel counts all threads of the user, so the room is added to what runs on the whole machine.
    """
    if not IS_LINUX:
        return
    import resource

    try:
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
        wanted = threads_running() + ROOM_FOR_PROCESSES
        if soft == resource.RLIM_INFINITY or soft > wanted:
            resource.prlimit(pid, resource.RLIMIT_NPROC, (wanted, hard))
    except (OSError, ValueError):
        pass
