"""For tests of the sandbox: the command in a home that the private /tmp does not hide, and words for
calls."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_kit import Cli, Finished, opened

from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

needs_bwrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)
ON = "[sandbox]\nenabled = true\nfail_if_unavailable = true\n"
ANY = ("--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions")


@contextmanager
def place_outside_tmp() -> Iterator[Path]:
    """A directory of which commands in the sandbox see what is there."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="caliban-test-") as folder:
        yield Path(folder).resolve()


@contextmanager
def sandboxed_cli(settings: str = ON) -> Iterator[Cli]:
    """The command with the sandbox on, beside a strict server."""
    with place_outside_tmp() as folder, opened(folder, StrictValidator()) as cli:
        cli.configure(settings)
        yield cli


def results(cli: Cli, turn: int = 1) -> list[str]:
    """The texts of the tool results in the request of a turn."""
    out = []
    for block in cli.bodies()[turn]["messages"][-1]["content"]:
        if block["type"] == "tool_result":
            inner = block["content"]
            out.append(inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner))
    return out


def calls(cli: Cli, *uses: tuple[str, dict[str, object]], flags: tuple[str, ...] = ANY) -> list[str]:
    """What calls that come one after the other give."""
    cli.script(*(wire.exchange(wire.tool_use(*use)) for use in uses), wire.exchange(wire.text("done")))
    before = len(cli.bodies())
    done = cli.run("-p", "go", *flags)
    assert done.code == 0, done.err
    return [results(cli, before + turn)[-1] for turn in range(1, len(uses) + 1)]


def bash(cli: Cli, *commands: str, flags: tuple[str, ...] = ANY) -> tuple[Finished, list[str]]:
    """Run commands side by side, and what they give."""
    uses = [wire.tool_use("Bash", {"command": command}) for command in commands]
    cli.script(wire.exchange(*uses), wire.exchange(wire.text("done")))
    before = len(cli.bodies())
    done = cli.run("-p", "go", "--output-format", "stream-json", *flags)
    assert done.code == 0, done.err
    return done, results(cli, before + 1)
