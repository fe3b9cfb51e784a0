"""Headers that a program prints: for tokens that are made anew."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Final

from caliban_common.errors import CalibanError
from caliban_mcp.errors import ServerMisconfigured
from caliban_process import Command, OutputLimit, Runner
from caliban_process.environ import program_environment

TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 64 << 10
MAX_HEADERS: Final = 64


class HelperAuthorization:
    """Headers by a program: run for the first request, and once more where the server says no.

    `learn` is told each value, which may be a secret.
    """

    def __init__(
        self, line: str, runner: Runner, environ: Mapping[str, str], fixed: Mapping[str, str]
    ) -> None:
        self._line = line
        self._runner = runner
        self._environ = environ
        self._fixed = fixed
        self._made: Mapping[str, str] | None = None
        self.secrets: tuple[str, ...] = ()

    async def headers(self) -> Mapping[str, str]:
        """The headers; see `Authorization`. Raises `ServerMisconfigured`."""
        if self._made is None:
            self._made = await self._run()
        return {**self._fixed, **self._made}

    async def challenged(self, status: int, www_authenticate: str) -> bool:
        """Try once with what the program prints now, if that is something else."""
        del www_authenticate
        before, self._made = self._made, None
        return status in (401, 403) and await self.headers() != {**self._fixed, **(before or {})}

    async def _run(self) -> Mapping[str, str]:
        try:
            words = shlex.split(self._line)
        except ValueError as error:
            raise ServerMisconfigured(f"headers_helper is no command line: {error}") from error
        if not words:
            raise ServerMisconfigured("headers_helper is empty")
        command = Command(
            argv=tuple(words),
            env=program_environment(self._environ, {}),
            timeout_s=TIMEOUT_S,
            output=OutputLimit(head_bytes=MAX_BYTES, tail_bytes=0, refuse=True),
        )
        try:
            done = await self._runner.run(command)
        except CalibanError as error:
            raise ServerMisconfigured(f"headers_helper: {error.message}") from error
        if done.timed_out:
            raise ServerMisconfigured(f"headers_helper has not ended within {TIMEOUT_S:g} s")
        if done.exit_code != 0:
            raise ServerMisconfigured(f"headers_helper has ended with exit code {done.exit_code}")
        return _decoded(done.stdout.text())


def _decoded(text: str) -> Mapping[str, str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if (
        not isinstance(data, dict)
        or len(data) > MAX_HEADERS
        or not all(isinstance(value, str) for value in data.values())
    ):
        raise ServerMisconfigured(
            'headers_helper has to print a JSON object of texts, such as {"X-Key": "…"}'
        )
    return data
