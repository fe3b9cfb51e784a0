"""Running a search to its end, to the first results that are enough, or to its deadline."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Literal

import anyio
import anyio.to_thread
from msgspec import Struct

from caliban_tools_builtin.errors import SearchFailed, ShellFailed
from caliban_tools_builtin.process import SUPPORTED, Child, start
from caliban_tools_builtin.search.engine import ENVIRONMENT

MAX_ERROR_BYTES = 4096


class Ended(Struct, frozen=True, kw_only=True):
    """How a search ended: `code` and `errors` are those of a program that came to its own end."""

    reason: Literal["done", "enough", "deadline"]
    code: int = 0
    errors: str = ""


async def search(argv: Sequence[str], *, cwd: str, deadline_s: float, feed: Callable[[bytes], bool]) -> Ended:
    """Run the program and hand each piece of its output to `feed` until that returns False.

    Raises `SearchFailed` when it cannot be started.
    """
    if not SUPPORTED:
        return await anyio.to_thread.run_sync(_without_pipes, argv, cwd, deadline_s, feed)
    try:
        child = start(argv, cwd=cwd, env=ENVIRONMENT, session=False)
    except ShellFailed as error:
        raise SearchFailed(error.message) from error
    errors = bytearray()
    enough, code = False, None
    try:
        with anyio.move_on_after(deadline_s):
            enough = not await _fed(child, feed, errors)
            if not enough:
                await child.exited()
                code = child.reap()
    finally:
        with anyio.CancelScope(shield=True):
            if code is None:
                _kill(child)
                await child.exited()
                child.reap()
            child.close()
    if code is not None:
        return Ended(reason="done", code=code, errors=bytes(errors).decode("utf-8", "replace"))
    return Ended(reason="enough" if enough else "deadline")


async def _fed(child: Child, feed: Callable[[bytes], bool], errors: bytearray) -> bool:
    """Feed the output to its end; False as soon as `feed` has enough."""
    async with anyio.create_task_group() as group:
        group.start_soon(_collect, child, errors)
        while chunk := await child.read(child.stdout):
            if not feed(chunk):
                group.cancel_scope.cancel()
                return False
    return True


async def _collect(child: Child, errors: bytearray) -> None:
    while chunk := await child.read(child.stderr):
        errors += chunk[: MAX_ERROR_BYTES - len(errors)]


def _kill(child: Child) -> None:
    try:
        os.kill(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _without_pipes(argv: Sequence[str], cwd: str, deadline_s: float, feed: Callable[[bytes], bool]) -> Ended:
    """The same where pipes cannot be waited for (Windows): the output is taken as a whole."""
    import subprocess

    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=dict(ENVIRONMENT),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        feed(error.stdout or b"")
        return Ended(reason="deadline")
    except OSError as error:
        raise SearchFailed(f"{argv[0]} could not be started: {error}") from error
    if not feed(done.stdout):
        return Ended(reason="enough")
    return Ended(
        reason="done", code=done.returncode, errors=done.stderr[:MAX_ERROR_BYTES].decode("utf-8", "replace")
    )
