"""One wrapper stands around every child process, of whatever kind."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from caliban_process import Command, ProcessError, Runner

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")]


class Fence:
    """A wrapper as a sandbox would be: another program in front, a variable more, and a note of it all."""

    def __init__(self) -> None:
        self.seen: list[Command] = []

    def wrap(self, command: Command) -> Command:
        self.seen.append(command)
        env = {**command.env, "FENCED": "yes"}
        return replace(command, argv=("/usr/bin/env", "WRAPPED=yes", *command.argv), env=env)


async def test_every_form_of_running_goes_through_the_wrapper(sh):
    fence = Fence()
    runner = Runner(fence)
    command = sh("echo $WRAPPED $FENCED", marker="MARK")
    assert (await runner.run(command)).stdout.kept == b"yes yes\n"
    chunks: list[bytes] = []
    await runner.feed(command, lambda chunk: not chunks.append(chunk))
    async with runner.start(command) as process:
        chunks.append(await process.receive())
    assert chunks == [b"yes yes\n"] * 2
    assert [seen.argv for seen in fence.seen] == [command.argv] * 3
    marks = {seen.env["MARK"] for seen in fence.seen}
    assert len(marks) == 3  # the wrapper sees what the program will have, and no two calls are alike


async def test_a_wrapper_can_refuse(sh, tmp_path):
    class Refusing:
        def wrap(self, command: Command) -> Command:
            raise ProcessError("there is no sandbox here")

    with pytest.raises(ProcessError, match="there is no sandbox here"):
        await Runner(Refusing()).run(sh("touch ran"))
    assert not (tmp_path / "ran").exists()
