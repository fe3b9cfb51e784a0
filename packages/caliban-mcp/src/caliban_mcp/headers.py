"""Headers that a program prints: for tokens that are made anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp.printout import printed
from caliban_process import Runner

MAX_HEADERS: Final = 64


class HelperAuthorization:
    """Headers by a program: run for the first request, and once more where the server says no.

    `learn` is told each value, which may be a secret.
    """

    def __init__(
        self, line: str, runner: Runner, environ: Mapping[str, str], learn: Callable[[str], None]
    ) -> None:
        self._line = line
        self._runner = runner
        self._environ = environ
        self._learn = learn
        self._made: Mapping[str, str] | None = None

    async def headers(self) -> Mapping[str, str]:
        """The headers; see `Authorization`. Raises `ServerMisconfigured`."""
        if self._made is None:
            text = await printed(self._line, "headers_helper", self._runner, self._environ)
            self._made = _decoded(text)
            for value in self._made.values():
                self._learn(value.removeprefix("Bearer ").strip())
        return self._made

    async def challenged(self, status: int, www_authenticate: str) -> bool:
        """Try once with what the program prints now, if that is something else."""
        del www_authenticate
        before, self._made = self._made, None
        return status in (401, 403) and await self.headers() != (before or {})


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
