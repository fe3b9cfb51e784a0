"""When a headless run leaves the process from within: once no task is left that may have something to end."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from caliban.compose import ahead
from caliban.faces.headless import has_ended


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["signals"], True),
        (["signals", ahead.TASK], True),
        (["signals", "a server"], False),
        (["signals", ahead.TASK, "a server"], False),
    ],
)
def test_a_run_has_ended_once_only_its_own_tasks_are_left(names: list[str], expected: bool) -> None:
    async def main() -> bool:
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(anyio.sleep_forever, name=name)
            await anyio.lowlevel.checkpoint()
            ended = has_ended()
            group.cancel_scope.cancel()
        return ended

    assert anyio.run(main) is expected
