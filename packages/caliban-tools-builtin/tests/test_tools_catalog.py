"""The set as a whole: small, quick to import, one ledger, keys for what conflicts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import cast

from anyio.abc import TaskGroup

import caliban_tools_builtin
from caliban_common.tool import Tool
from caliban_tools_builtin import ToolOptions, builtin_specs, builtin_tools
from caliban_tools_builtin.session.ports import TopicStore
from caliban_tools_builtin.web.ports import SearchService, WebClient


class Board:
    """A session that nobody looks at."""

    plan_mode = False

    def set_plan_mode(self, on):
        raise NotImplementedError

    def set_todos(self, todos):
        raise NotImplementedError


def test_the_tools_are_what_they_say(ws):
    tasks = cast(TaskGroup, object())
    options = ToolOptions(
        workspace=ws,
        board=Board(),
        tasks=tasks,
        web=lambda: cast(WebClient, object()),
        search=lambda: cast(SearchService, object()),
        topics=cast(TopicStore, object()),
        powershell="pwsh",
    )
    tools: tuple[Tool, ...] = builtin_tools(options)
    assert [(tool.spec.name, tool.spec.kind, tool.spec.main_argument) for tool in tools] == [
        ("Read", "read", "path"),
        ("Write", "edit", "path"),
        ("Edit", "edit", "path"),
        ("MultiEdit", "edit", "path"),
        ("NotebookEdit", "edit", "path"),
        ("Glob", "read", "pattern"),
        ("Grep", "read", "pattern"),
        ("Bash", "execute", "command"),
        ("BashOutput", "session", "shell_id"),
        ("KillShell", "session", "shell_id"),
        ("PowerShell", "execute", "command"),
        ("WebFetch", "network", "url"),
        ("WebSearch", "network", "query"),
        ("TodoWrite", "session", None),
        ("EnterPlanMode", "session", None),
        ("ExitPlanMode", "session", "plan"),
        ("AskUser", "session", None),
        ("ReadMemoryTopic", "read", "name"),
        ("WriteMemoryTopic", "session", "name"),
    ]
    assert tuple(tool.spec for tool in tools) == builtin_specs()
    assert all(tool.spec is tool.spec and len(tool.spec.description) > 40 for tool in tools)


def test_all_specs_together_stay_below_nine_and_a_half_kilobytes():
    specs = builtin_specs()
    sent = [{"name": s.name, "description": s.description, "input_schema": s.input_schema} for s in specs]
    assert len(json.dumps(sent, separators=(",", ":")).encode()) < 9_500


def test_importing_and_building_the_tools_loads_nothing_heavy(ws):
    code = (
        "import sys; from pathlib import Path; from caliban_tools_builtin import ToolOptions, builtin_tools; "
        f"builtin_tools(ToolOptions(workspace=Path({str(ws)!r}))); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {
        "anyio",
        "asyncio",
        "subprocess",
        "pathspec",
        "sysconfig",
        "json",
        "hashlib",
        "difflib",
        "base64",
    }
    assert heavy & set(loaded) == set()


def test_writers_of_one_file_share_a_key_by_any_name(ws):
    (ws / "a.txt").write_text("x")
    (ws / "link").symlink_to("a.txt")
    read, write, edit, multi_edit, notebook_edit, glob, grep, bash = builtin_tools(ToolOptions(workspace=ws))
    keys = {
        tool.conflict_key({"path": path})
        for tool in (write, edit, multi_edit, notebook_edit)
        for path in ("a.txt", "./x/../a.txt", "link")
    }
    assert len(keys) == 1 and None not in keys
    assert write.conflict_key({"path": "b.txt"}) not in keys
    assert [tool.conflict_key({"path": "a.txt"}) for tool in (read, glob, grep, bash)] == [None] * 4
    assert [write.conflict_key(args) for args in ({}, {"path": 3}, {"path": "/etc/x"}, {"path": "a\0"})] == [
        None
    ] * 4


def test_one_set_remembers_across_its_tools_and_two_sets_do_not(make, ws):
    (ws / "f").write_text("a")
    first, second = make(), make()
    first("Read", path="f")
    (ws / "f").write_text("b")
    assert "stale" in first("Write", path="f", content="c").text
    assert not second("Write", path="f", content="c").is_error


def test_the_public_names_are_sorted_and_exist():
    names = caliban_tools_builtin.__all__
    assert names == sorted(names) and all(hasattr(caliban_tools_builtin, name) for name in names)
