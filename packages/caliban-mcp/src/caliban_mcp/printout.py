"""A program of a server's entry that prints what is secret: no shell, no input, bounded in time and size."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_mcp.errors import ServerMisconfigured
from caliban_process import Command, OutputLimit, Runner
from caliban_process.environ import SECRET_VALUES, program_environment

TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 64 << 10


async def printed(
    line: str, what: str, runner: Runner, environ: Mapping[str, str], *, sandboxed: bool = True
) -> str:
    """What the command line prints. Raises `ServerMisconfigured` that names the setting `what`."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ServerMisconfigured(f"{what} is no command line: {error}") from error
    if not words:
        raise ServerMisconfigured(f"{what} is empty")
    command = Command(
        argv=tuple(words),
        env=program_environment(environ, {}),
        timeout_s=TIMEOUT_S,
        output=OutputLimit(head_bytes=MAX_BYTES, tail_bytes=0, refuse=True),
        sandboxed=sandboxed,
    )
    try:
        done = await runner.run(command)
    except CalibanError as error:
        raise ServerMisconfigured(f"{what}: {error.message}") from error
    if done.timed_out:
        raise ServerMisconfigured(f"{what} has not ended within {TIMEOUT_S:g} s")
    if done.exit_code != 0:
        reason = _last_line(done.stderr.text())
        raise ServerMisconfigured(f"{what} has ended with exit code {done.exit_code}{reason}")
    return done.stdout.text()


def _last_line(stderr: str) -> str:
    """What a program said last, for a person, without what looks like a secret."""
    lines = stderr.strip().splitlines() or [""]
    words = re.sub(rf"({'|'.join(SECRET_VALUES)})[^\s\"']*", "[secret]", one_line(lines[-1], max_chars=200))
    return f": {words}" if words else ""
