"""Runs a program that prints a key: no shell, no input, a session of its own, bounded in time and size."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from caliban.errors import ConfigError
from caliban.streams import complain
from caliban_common.text import one_line

if TYPE_CHECKING:
    from subprocess import Popen

TTL_VARIABLE: Final = "CALIBAN_API_KEY_HELPER_TTL_MS"
LIMIT_S: Final = 30.0
MAX_BYTES: Final = 65_536
MAX_ASKED: Final = 16
"""Keys that one process remembers."""
_STEP_S: Final = 0.1
_CHUNK_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is run for the key of which provider. Two that differ in `environ` only are one."""

    command: tuple[str, ...]
    provider: str
    ttl_ms: int
    slow_ms: int
    limit_s: float = LIMIT_S
    environ: Mapping[str, str] = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The program for a message: its arguments may hold what nobody should read."""
        return one_line(self.command[0], max_chars=200)


@lru_cache(maxsize=MAX_ASKED)
def ask(question: Question) -> str:
    """The key that the program prints, asked for once in the life of the process.

    Raises `ConfigError` with the first line of its standard error, without the key.
    """
    code, out, err = _run(question)
    if code != 0:
        said = _first_line(out, err)
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise _failed(question, f"failed with {how}" + (f": {said}" if said else ""))
    try:
        key = out.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _failed(question, "printed something that is not text") from None
    if not key.strip():
        said = _first_line(b"", err)
        raise _failed(question, "printed no key" + (f": {said}" if said else ""))
    if not key.isprintable():
        raise _failed(question, "printed more than one line, or control characters")
    return key


def _run(question: Question) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error."""
    from subprocess import DEVNULL, PIPE, Popen

    environ = {
        **question.environ,
        "CALIBAN_PROVIDER": question.provider,
        TTL_VARIABLE: str(question.ttl_ms),
    }
    try:
        process = Popen(
            question.command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environ, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else "it has an impossible name"
        raise _failed(question, f"cannot be run: {reason.lower()}") from None
    try:
        out, err = _read_windows(process, question) if sys.platform == "win32" else _read(process, question)
        return process.wait(timeout=_STEP_S * 10), out, err
    finally:
        _end(process)


def _read(process: Popen[bytes], question: Question) -> tuple[bytes, bytes]:
    """Both outputs to their ends, or to the end of the program where a child of it holds them open."""
    from selectors import EVENT_READ, DefaultSelector

    assert process.stdout is not None
    assert process.stderr is not None
    found = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    began, warned = time.monotonic(), False
    with DefaultSelector() as selector:
        for descriptor in found:
            selector.register(descriptor, EVENT_READ)
        while selector.get_map() or process.poll() is None:
            elapsed_s = time.monotonic() - began
            if elapsed_s > question.limit_s:
                raise _late(question)
            if not warned and elapsed_s * 1000 > question.slow_ms:
                warned = True
                _warn(question)
            ended = process.poll() is not None
            ready = selector.select(_STEP_S)
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK_BYTES)
                found[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
                elif len(found[key.fd]) > MAX_BYTES:
                    raise _failed(question, f"printed more than {MAX_BYTES:,} bytes")
            if ended and not ready:
                break
    return bytes(found[process.stdout.fileno()]), bytes(found[process.stderr.fileno()])


def _read_windows(process: Popen[bytes], question: Question) -> tuple[bytes, bytes]:
    """The same where pipes cannot be waited for."""
    from subprocess import TimeoutExpired

    slow_s = min(question.slow_ms / 1000, question.limit_s)
    try:
        return process.communicate(timeout=slow_s)
    except TimeoutExpired:
        _warn(question)
    try:
        return process.communicate(timeout=question.limit_s - slow_s)
    except TimeoutExpired:
        raise _late(question) from None


def _end(process: Popen[bytes]) -> None:
    """End what still runs, its children too, and give the pipes back."""
    if process.poll() is None:
        if sys.platform == "win32":
            process.kill()
        else:
            import signal

            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _first_line(out: bytes, err: bytes) -> str:
    """The first line of `err` that says something, without anything that `out` holds: that may be a key."""
    text = err.decode("utf-8", "replace").strip()
    for word in sorted(out.decode("utf-8", "replace").split(), key=len, reverse=True):
        text = text.replace(word, "…")
    return one_line(text.splitlines()[0], max_chars=200) if text else ""


def _warn(question: Question) -> None:
    complain(
        f"[caliban: the program {question.name} for the key of {question.provider} "
        f"takes longer than {question.slow_ms:,} ms]\n"
    )


def _late(question: Question) -> ConfigError:
    return _failed(question, f"did not end within {question.limit_s:g} s")


def _failed(question: Question, what: str) -> ConfigError:
    return ConfigError(
        f"api_key_helper: the program {question.name} for the key of {question.provider} {what}",
        hint="run it by hand; it must print the key, nothing else, and exit with 0",
    )
