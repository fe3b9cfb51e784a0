"""The sandbox through the real command: what it holds, what it says, and who may open it."""

from __future__ import annotations

import shutil
import sys

import pytest

from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
DONE = wire.text("done")
needs_bwrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)


def results(cli, turn: int = 1) -> list[str]:
    """The texts of the tool results in the request of a turn."""
    content = cli.bodies()[turn]["messages"][-1]["content"]
    out = []
    for block in content:
        if block["type"] == "tool_result":
            inner = block["content"]
            out.append(inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner))
    return out


def bash(cli, *commands: str, flags=("--allow", "Bash"), env=None):
    """Run commands, one a call, in one reply; the run and the results."""
    uses = [wire.tool_use("Bash", {"command": command}) for command in commands]
    cli.script(wire.exchange(*uses), wire.exchange(DONE))
    done = cli.run("-p", "go", *STREAM, *flags, env=env)
    return done, (results(cli) if done.code == 0 else [])


ON = "[sandbox]\nenabled = true\nfail_if_unavailable = true\n"


@needs_bwrap
def test_writes_end_at_the_workspace_and_the_words_say_who_did_it(cli):
    cli.configure(ON)
    done, (inside, outside) = bash(cli, "echo x > here && cat here", f"echo x > {cli.home}/there")
    assert done.code == 0, done.err
    assert "\nx\n" in inside and (cli.work / "here").read_text() == "x\n"
    assert "Read-only file system" in outside
    assert "→ This command ran in a sandbox: it may write in the workspace" in outside
    assert "sandbox.filesystem.allow_write" in outside and "--no-sandbox" not in outside
    assert not (cli.home / "there").exists()
    (told,) = [frame for frame in done.frames if frame.get("subtype") == "sandbox_denied"]
    assert "the sandbox refused something" in told["message"]
