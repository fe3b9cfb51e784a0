"""A wrapper around every child process touches its own room: it is given to the runner, and sees them all."""

from __future__ import annotations

import json
import sys

import anyio
import pytest
from msgspec.structs import replace

from caliban.cli.options import Options, SettingsOptions, WorkspaceOptions
from caliban.compose.app import open_app
from caliban.compose.host import Host
from caliban.compose.keyprogram import run_key_helper
from caliban.compose.keys import KeyHelper
from caliban.errors import KeyFailed
from caliban_common.tool import ToolContext
from caliban_drive.notice import Notice
from caliban_process import Command, ProcessError, Runner
from caliban_tools_builtin import ToolOptions, builtin_tools

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")


class Sandbox:
    """Puts a program in front of every other and remembers what it was to run."""

    def __init__(self) -> None:
        self.programs: list[str] = []

    def wrap(self, command: Command) -> Command:
        self.programs.append(command.argv[0].rpartition("/")[2])
        return replace(command, argv=("/usr/bin/env", "INSIDE=yes", *command.argv))


class Refusing:
    """Lets nothing be run."""

    def wrap(self, command: Command) -> Command:
        raise ProcessError("there is no sandbox on this system", hint="install one")


def test_what_a_wrapper_refuses_is_told_where_it_was_to_run(tmp_path):
    runner = Runner(Refusing())
    helper = KeyHelper(command=("get-key",), provider="x", ttl_ms=1, slow_ms=9_000, environ={})
    tools = {tool.spec.name: tool for tool in builtin_tools(ToolOptions(workspace=tmp_path, runner=runner))}
    context = ToolContext(session_id="s", turn=0, tool_use_id="t")
    for name, args in (("Bash", {"command": "true"}), ("Grep", {"pattern": "x"})):
        output = anyio.run(tools[name].invoke, args, context)
        assert output.is_error
        assert output.text == (
            "Error: execution failed: there is no sandbox on this system\nhint: install one"
        )
    with pytest.raises(KeyFailed, match="cannot be run: there is no sandbox on this system"):
        anyio.run(run_key_helper, helper, runner, print)


def test_one_wrapper_sees_the_children_of_bash_of_searches_and_of_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    helper = tmp_path / "get-key"
    helper.write_text('#!/bin/sh\necho "$INSIDE" > asked\necho key\n')
    helper.chmod(0o755)
    (tmp_path / "notes.txt").write_text("needle\n")
    monkeypatch.chdir(tmp_path)
    options = Options(
        workspace=WorkspaceOptions(workspace=str(tmp_path)),
        settings=SettingsOptions(settings=json.dumps({"api_key_helper": str(helper)})),
    )
    sandbox = Sandbox()
    host = Host(environ={"PATH": "/usr/bin:/bin"}, runner=Runner(sandbox))

    async def use_all() -> list[str]:
        notices: list[Notice] = []
        async with open_app(options, notices.append, host) as app:
            by_name = {tool.spec.name: tool for tool in app.tools.tools()}
            context = ToolContext(session_id="s", turn=0, tool_use_id="t")
            calls = {
                "Bash": {"command": "echo $INSIDE"},
                "Glob": {"pattern": "*.txt"},
                "Grep": {"pattern": "needle"},
            }
            return [(await by_name[name].invoke(args, context)).text for name, args in calls.items()]

    bash, glob, grep = anyio.run(use_all)
    assert "\nyes\n" in bash and "notes.txt" in glob and "notes.txt:1:needle" in grep
    assert (tmp_path / "asked").read_text() == "yes\n"
    assert sandbox.programs == ["get-key", "bash", "rg", "rg"]
