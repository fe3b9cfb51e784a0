"""Rows of what this version has not: a daemon, and trees of agents' own.

None of it may half exist: each way to it is refused by name, and leaves nothing for somebody to wait for.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from command_kit import Cli

from caliban_provider_anthropic.testing import wire

DONE = wire.text("done")


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("--bg", "touch made"), id="s634-s635"),
        pytest.param(("agents", "list"), id="s637-s643-s644"),
        pytest.param(("agents", "kill", "a1"), id="s640-s646"),
        pytest.param(("daemon", "start"), id="s636-s648"),
    ],
)
def test_there_is_no_daemon_to_meet(cli: Cli, argv: tuple[str, ...]):
    runtime = cli.work.parent / "runtime"
    planted = runtime / "caliban-daemon"
    planted.mkdir(parents=True)
    planted.chmod(0o777)  # as somebody else would have made it before
    done = cli.run(*argv, env={"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(runtime)})
    assert done.code == 64 and done.out == ""
    assert "not part of this version" in done.err and "Traceback" not in done.err
    assert cli.bodies() == [], "no model was asked in somebody's name"
    assert list(planted.iterdir()) == [] and not sockets(runtime) and not sockets(cli.home)


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param({"isolation": "worktree"}, id="s816-s817-b157-b158"),
        pytest.param({"isolation": "none", "worktree": {"name": "one"}}, id="s821-b159"),
        pytest.param({"worktree": {"name": "one", "keep_on_exit": False}}, id="s833"),
    ],
)
def test_no_agent_is_said_to_work_apart(cli: Cli, argument: dict[str, object]):
    call = {"description": "x", "prompt": "write made", **argument}
    both = [wire.tool_use("Agent", call, id="toolu_1"), wire.tool_use("Agent", call, id="toolu_2")]
    cli.script(wire.exchange(*both), wire.exchange(DONE))
    done = cli.run("-p", "go", "--auto-allow")
    assert done.code == 0, done.err
    first, second = cli.bodies()
    results = second["messages"][-1]["content"]
    assert [result.get("is_error") for result in results] == [True, True]
    assert all("worktree" in str(result["content"]) for result in results)
    assert not (cli.work / ".caliban").exists() and not (cli.work / "made").exists()
    assert len(first["messages"]) == 1


def test_an_agent_file_that_asks_for_a_tree_of_its_own_is_named(cli: Cli):
    agents = cli.home / ".config" / "caliban" / "agents"
    agents.mkdir(parents=True)
    (agents / "apart.md").write_text("---\nname: apart\ndescription: d\nisolation: worktree\n---\nWork.\n")
    cli.script(wire.exchange(DONE))
    done = cli.run("-p", "go")
    assert "isolation" in done.err and "apart" in done.err


def sockets(folder: Path) -> list[str]:
    return [
        os.path.join(root, name)
        for root, _, names in os.walk(folder)
        for name in names
        if stat.S_ISSOCK(os.lstat(os.path.join(root, name)).st_mode)
    ]
