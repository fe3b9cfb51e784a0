"""What a command prints is passed on while it runs."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from caliban_process import Command, NotStarted, Runner
from caliban_process.output import Capture, OutputLimit
from caliban_tools_builtin.shell.live import KEPT_BYTES, LiveOutput, followed

pytestmark = pytest.mark.anyio


def sh(line: str, folder: Path) -> Command:
    return Command(argv=("/bin/sh", "-c", line), env={"PATH": "/usr/bin:/bin"}, cwd=str(folder))


async def test_lines_come_before_the_end_and_the_report_has_all(tmp_path: Path) -> None:
    chunks: list[str] = []

    async def tell(text: str) -> None:
        chunks.append(text)
        await anyio.Path(tmp_path / "go").touch()

    line = "echo one; printf half; until [ -e go ]; do sleep 0.05; done; echo two; echo bad >&2; exit 3"
    done = await followed(Runner(), sh(line, tmp_path), tell)
    assert chunks[0] == "one\n"
    assert done.stdout.text() == "one\nhalftwo\n"
    assert done.stderr.text() == "bad\n"
    assert done.exit_code == 3


async def test_what_cannot_be_started_is_said_as_it_always_was(tmp_path: Path) -> None:
    async def tell(text: str) -> None:
        raise AssertionError(text)

    with pytest.raises(NotStarted):
        await followed(Runner(), Command(argv=("/nowhere/nothing",), env={}, cwd=str(tmp_path)), tell)


def test_only_whole_lines_are_passed_on_and_never_too_much() -> None:
    live = LiveOutput(Capture(OutputLimit()))
    live.feed(b"a\nb")
    assert (live.take(), live.take()) == ("a\n", "")
    live.feed(b"c\xff\n")
    assert live.take() == "bc\ufffd\n"
    live.feed(b"x" * (2 * KEPT_BYTES) + b"\n")
    assert len(live.take()) == KEPT_BYTES
