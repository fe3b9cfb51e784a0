"""Task groups that hand on what was raised in them as it was raised."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from types import TracebackType

import anyio
from anyio.abc import TaskGroup


class PlainGroup(AbstractAsyncContextManager[TaskGroup]):
    """A task group; an error that is alone in it arrives without the group around it."""

    def __init__(self) -> None:
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> TaskGroup:
        return await self._group.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return await self._group.__aexit__(kind, raised, trace)
        except BaseExceptionGroup as errors:
            error: BaseException = errors
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                error = error.exceptions[0]
            if error is errors:
                raise
            raise error from error.__cause__
