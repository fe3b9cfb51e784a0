"""A hostile repository runs nothing when checkpoints of its files are made or put back (G1)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, opened

from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

CONFIGS = (
    pytest.param("[core]\n\tfsmonitor = ./p.sh\n", id="s315"),
    pytest.param("[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ./p.sh\n", id="s316"),
    pytest.param('[diff "t"]\n\ttextconv = ./p.sh\n[filter "t"]\n\tclean = ./p.sh\n', id="s319"),
    pytest.param("[include]\n\tpath = ../inc\n", id="s320"),
    pytest.param('[user]\n\temail = "$(touch PWNED)"\n', id="s323"),
    pytest.param("[core]\n\thooksPath = .\n\tworktree = /\n", id="s326"),
)


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path, StrictValidator()) as command:
        yield command


def files(folder: Path) -> dict[str, bytes | None]:
    return {str(path): None if path.is_dir() else path.read_bytes() for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("config", CONFIGS)
def test_nothing_of_a_hostile_repository_runs_when_checkpoints_are_made(cli: Cli, config: str) -> None:
    work = cli.work
    subprocess.run(["git", "init", "-q", str(work)], check=True, capture_output=True)
    for folder in (work / ".git", work / "nested" / ".git"):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "config").open("a") as file:
            file.write(config)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/$(touch PWNED)\n")  # s324
    (work / "inc").write_text("[core]\n\tfsmonitor = ./p.sh\n")
    hooks = ("post-index-change", "post-checkout", ".git/hooks/post-index-change", ".git/hooks/post-checkout")
    for name in ("p.sh", *hooks):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(f"#!/bin/sh\ntouch {work}/PWNED\n")
        (work / name).chmod(0o755)
    (work / ".gitattributes").write_text("*.txt diff=t filter=t\n")
    (work / "a.txt").write_text("one\r\n")
    before = files(work)
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": "echo two > a.txt; echo new > n.txt"})),
        wire.exchange(wire.tool_use("Write", {"path": "w.txt", "content": "x"})),
        wire.exchange(wire.text("done")),
    )
    flags = ("--session", "s", "--allow", "Bash", "--permission-mode", "acceptEdits")
    assert cli.run("-p", "go", *flags).code == 0
    assert not (work / "PWNED").exists()
    assert (work / "a.txt").read_bytes() == b"two\n" and (work / "w.txt").exists()
    assert cli.run("rewind", "s", "--to", "1").code == 0
    assert files(work) == before
