"""PowerShell by a platform that tests name and a program that stands in for it: nothing of Windows is run."""

from __future__ import annotations

import base64
import sys

import pytest

from caliban_common.tool import ToolContext
from caliban_permissions import Engine, RuleSet, parse_rules
from caliban_tools_builtin import ToolOptions, builtin_specs, builtin_tools
from caliban_tools_builtin.shell.powershell import MAX_CHARS, find_powershell

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")
SPEC = next(spec for spec in builtin_specs() if spec.name == "PowerShell")
WINDOWS = {"Path": r".;bin;C:\Windows\System32;\\host\share\x;C:\Program Files\PowerShell\7"}


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ((r"C:\Windows\System32\powershell.exe",), r"C:\Windows\System32\powershell.exe"),
        (
            (r"C:\Windows\System32\powershell.exe", r"C:\Program Files\PowerShell\7\pwsh.exe"),
            r"C:\Program Files\PowerShell\7\pwsh.exe",
        ),
        ((r".\pwsh.exe", r"bin\pwsh.exe"), None),
        ((), None),
    ],
)
def test_on_windows_it_is_found_on_the_path_and_never_in_the_workspace(there, wanted):
    assert find_powershell("win32", WINDOWS, there.__contains__) == wanted
    assert find_powershell("linux", WINDOWS, there.__contains__) is None
    assert find_powershell("win32", {}, there.__contains__) is None


def test_without_the_program_there_is_no_such_tool(ws):
    names = [tool.spec.name for tool in builtin_tools(ToolOptions(workspace=ws))]
    assert "PowerShell" not in names
    names = [tool.spec.name for tool in builtin_tools(ToolOptions(workspace=ws, powershell="x"))]
    assert "PowerShell" in names


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script of sh")
@pytest.mark.anyio
async def test_what_was_judged_is_what_the_program_is_given(ws, tmp_path):
    stand_in = tmp_path / "pwsh"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"; pwd -P; echo "$TOKEN"; exit 3\n')
    stand_in.chmod(0o755)
    options = ToolOptions(
        workspace=ws, powershell=str(stand_in), host_environment={"TOKEN": "ghp_" + "a" * 36}
    )
    tool = next(tool for tool in builtin_tools(options) if tool.spec.name == "PowerShell")
    (ws / "sub").mkdir()
    command = 'Write-Output "a\'b" | % { $_ }; é'
    output = await tool.invoke({"command": command, "cwd": "sub"}, CONTEXT)
    lines = output.text.splitlines()
    assert output.is_error and lines[0] == f"→ PowerShell command: {command}" and lines[1] == "→ Exit code: 3"
    assert lines[3:6] == ["-NoLogo", "-NoProfile", "-NonInteractive"]
    assert base64.b64decode(lines[7]).decode("utf-16-le") == command
    assert lines[8] == str((ws / "sub").resolve()) and "ghp_" not in output.text
    for wrong in ({"command": " "}, {"command": "x" * (MAX_CHARS + 1)}, {"command": "x", "cwd": ".."}, {}):
        refused = await tool.invoke(wrong, CONTEXT)
        assert refused.is_error and "→" not in refused.text


@pytest.mark.parametrize(
    ("allow", "deny", "command", "verdict"),
    [
        ([], [], "Get-ChildItem", "ask"),
        (["PowerShell:Get-ChildItem *", "Bash"], [], "Get-ChildItem src", "ask"),
        (["PowerShell:*"], [], "Get-ChildItem src", "ask"),
        (["PowerShell:Get-ChildItem src"], [], "Get-ChildItem src", "allow"),
        (["PowerShell:Get-ChildItem src"], [], "Get-ChildItem src; rm x", "ask"),
        (["PowerShell"], [], "Get-ChildItem src", "allow"),
        (["PowerShell"], ["PowerShell:remove-item *"], "cd x;  REMOVE-Item  -Recurse y", "deny"),
        (["PowerShell"], ["PowerShell"], "Get-ChildItem src", "deny"),
    ],
)
def test_a_call_asks_unless_a_rule_is_the_whole_command(ws, allow, deny, command, verdict):
    rules = RuleSet(user=parse_rules({"allow": allow, "deny": deny}, source="user"))
    for mode in ("default", "acceptEdits"):
        engine = Engine(rules, mode=mode, workspace=ws, interactive=True, vouched=builtin_specs())
        assert engine.decide(SPEC, {"command": command}).action == verdict
