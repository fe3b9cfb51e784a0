"""Runs a program that prints a key: no shell, no input, a session of its own, bounded in time and size."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import anyio.to_thread

from caliban.compose.keyenviron import program_environment
from caliban.compose.keys import TTL_VARIABLE, KeyHelper
from caliban.errors import KeyFailed
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_provider.credential import Credential, Fetch

if TYPE_CHECKING:
    from subprocess import Popen

MAX_BYTES: Final = 65_536
_STEP_S: Final = 0.1
_CHUNK_BYTES: Final = 16_384


@dataclass(slots=True, eq=False)
class _Halt:
    """Ends the program that runs when nobody wants its answer any more."""

    called: bool = False
    process: Popen[bytes] | None = None

    async def when_cancelled(self) -> None:
        """Wait to be cancelled, and pass it on to the program and to the thread that waits for it."""
        try:
            await anyio.sleep_forever()
        finally:
            self.called = True
            if self.process is not None:
                _kill(self.process)


async def run_key_helper(helper: KeyHelper, report: Report) -> str:
    """The key that the program prints. Cancelled, it ends the program and its children first.

    A thread reports a program that is slow. Raises `KeyFailed` with the first line of its standard error,
    without the key.
    """
    halt = _Halt()
    async with anyio.create_task_group() as group:
        group.start_soon(halt.when_cancelled)
        answer = await anyio.to_thread.run_sync(_answer, helper, halt, report)
        group.cancel_scope.cancel()
    await anyio.lowlevel.checkpoint_if_cancelled()  # the answer of a program that was ended is none
    if isinstance(answer, KeyFailed):
        raise answer
    return answer


def key_source(helper: KeyHelper, report: Report) -> Fetch[str]:
    """What gives the program's key for as long as it is said to be good; a refused one is asked for anew.

    Raises `KeyFailed`.
    """

    async def fetch(refused: bool) -> Credential[str]:
        key = await run_key_helper(helper, report)
        return Credential(value=key, expires_at_s=time.time() + helper.ttl_ms / 1000)

    return fetch


def _answer(helper: KeyHelper, halt: _Halt, report: Report) -> str | KeyFailed:
    """The key or why there is none, from a thread: a task group would wrap what is raised."""
    try:
        return _key(helper, *_run(helper, halt, report))
    except KeyFailed as error:
        return error


def _key(helper: KeyHelper, code: int, out: bytes, err: bytes) -> str:
    """The key in what the program printed."""
    if code != 0:
        said = _first_line(out, err)
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise _failed(helper, f"failed with {how}" + (f": {said}" if said else ""))
    try:
        key = out.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _failed(helper, "printed something that is not text") from None
    if not key.strip():
        said = _first_line(b"", err)
        raise _failed(helper, "printed no key" + (f": {said}" if said else ""))
    if not key.isprintable():
        raise _failed(helper, "printed more than one line, or control characters")
    return key


def _run(helper: KeyHelper, halt: _Halt, report: Report) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error."""
    from subprocess import DEVNULL, PIPE, Popen

    environ = {
        **program_environment(helper.environ, helper.listed),
        "CALIBAN_PROVIDER": helper.provider,
        TTL_VARIABLE: str(helper.ttl_ms),
    }
    try:
        process = Popen(
            helper.command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environ, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else "it has an impossible name"
        raise _failed(helper, f"cannot be run: {reason.lower()}") from None
    halt.process = process
    try:
        read = _read_windows if sys.platform == "win32" else _read
        out, err = read(process, _Wait(helper, halt, report))
        return process.wait(timeout=_STEP_S * 10), out, err
    finally:
        _end(process)


class _Wait:
    """The wait for one program: how long it may go on, and when a person is told of it."""

    def __init__(self, helper: KeyHelper, halt: _Halt, report: Report) -> None:
        self._question = helper
        self._halt = halt
        self._report = report
        self._began_s = time.monotonic()
        self._warned = False

    def check(self) -> None:
        """Look at the clock. Raises `KeyFailed` when the wait is over."""
        elapsed_s = time.monotonic() - self._began_s
        helper = self._question
        if self._halt.called:
            raise _failed(helper, "was stopped")
        if elapsed_s > helper.limit_s:
            raise _failed(helper, f"did not end within {helper.limit_s:g} s")
        if not self._warned and elapsed_s * 1000 > helper.slow_ms:
            self._warned = True
            message = f"the program {helper.name} for the key of {helper.provider} takes longer than"
            self._report(Notice(subtype="slow_key_helper", message=f"{message} {helper.slow_ms:,} ms"))

    def bound(self, data: bytes | bytearray) -> None:
        """Raises `KeyFailed` for more than a key can be."""
        if len(data) > MAX_BYTES:
            raise _failed(self._question, f"printed more than {MAX_BYTES:,} bytes")


def _read(process: Popen[bytes], wait: _Wait) -> tuple[bytes, bytes]:
    """Both outputs to their ends, or to the end of the program where a child of it holds them open."""
    from selectors import EVENT_READ, DefaultSelector

    assert process.stdout is not None
    assert process.stderr is not None
    found = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with DefaultSelector() as selector:
        for descriptor in found:
            selector.register(descriptor, EVENT_READ)
        while selector.get_map() or process.poll() is None:
            wait.check()
            ended = process.poll() is not None
            ready = selector.select(_STEP_S)
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK_BYTES)
                found[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
                wait.bound(found[key.fd])
            if ended and not ready:
                break
    return bytes(found[process.stdout.fileno()]), bytes(found[process.stderr.fileno()])


def _read_windows(process: Popen[bytes], wait: _Wait) -> tuple[bytes, bytes]:
    """The same where pipes cannot be waited for."""
    from subprocess import TimeoutExpired

    while True:
        wait.check()
        try:
            out, err = process.communicate(timeout=_STEP_S)
        except TimeoutExpired:
            continue
        wait.bound(out)
        wait.bound(err)
        return out, err


def _end(process: Popen[bytes]) -> None:
    """End what still runs, its children too, and give the pipes back."""
    _kill(process)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _kill(process: Popen[bytes]) -> None:
    """End the program and its children, unless it has ended by itself."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
        return
    import signal

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()


def _first_line(out: bytes, err: bytes) -> str:
    """The first line of `err` that says something, without anything that `out` holds: that may be a key."""
    text = err.decode("utf-8", "replace").strip()
    for word in sorted(out.decode("utf-8", "replace").split(), key=len, reverse=True):
        text = text.replace(word, "…")
    return one_line(text.splitlines()[0], max_chars=200) if text else ""


def _failed(helper: KeyHelper, what: str) -> KeyFailed:
    return KeyFailed(
        f"api_key_helper: the program {helper.name} for the key of {helper.provider} {what}",
        hint="run it by hand; it must print the key, nothing else, and exit with 0",
    )
