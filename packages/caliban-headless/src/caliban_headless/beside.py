"""What is piped in beside a prompt: `git diff | caliban -p "Review this"`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final

import anyio

from caliban_headless.stdin import ByteSource, read_text

PATIENCE_S: Final = 3.0
"""How long the first byte of a pipe, or its end, is waited for."""

WORD_S: Final = 1.0
"""After this a person is told what is waited for."""


def may_hold_text(descriptor: int = 0) -> bool:
    """Whether `descriptor` is a file, a pipe or a socket: devices and terminals hold nothing for a prompt."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def read_beside(stdin: ByteSource, on_slow: Callable[[], None]) -> str | None:
    """All that `stdin` holds, once its first byte has come; `None` where nothing came in time.

    `on_slow` is called after a second of waiting. Raises as `read_text` does.
    """
    first: list[bytes | None] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_call_later, on_slow)
        with anyio.move_on_after(PATIENCE_S):
            first.append(await stdin.read())
        group.cancel_scope.cancel()
    if not first:
        return None
    return "" if first[0] is None else await read_text(_Begun(first[0], stdin))


async def _call_later(on_slow: Callable[[], None]) -> None:
    await anyio.sleep(WORD_S)
    on_slow()


class _Begun:
    """A source of which the first bytes are read already."""

    def __init__(self, first: bytes, rest: ByteSource) -> None:
        self._first: bytes | None = first
        self._rest = rest

    async def read(self) -> bytes | None:
        """The first bytes, then the rest."""
        if self._first is None:
            return await self._rest.read()
        first, self._first = self._first, None
        return first
