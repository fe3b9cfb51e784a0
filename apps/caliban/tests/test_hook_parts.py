"""What hooks are given of the program: names of tools, patterns, and whose hooks count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caliban.compose.hooking.chosen import choose_hooks
from caliban.compose.hooking.conditions import Conditions
from caliban.compose.hooking.dialect import ClaudeDialect
from caliban.errors import ConfigError
from caliban_hooks import BadHook, HookSpec
from caliban_settings import load_settings


def fits(pattern: str, tool: str, args: dict[str, Any]) -> bool:
    spec = HookSpec(event="PreToolUse", kind="command", place="here", command="a", condition=pattern)
    return Conditions([spec], Path("/w"), ())(pattern, tool, args)


@pytest.mark.parametrize(
    ("line", "is_met"),
    [
        *((line, True) for line in ("rm x", "a && rm x", "bash -c 'rm x'", "find . | xargs rm", "sudo rm x")),
        *((line, True) for line in ("$(printf rm) x", "$X y", "r\\m x", "for i in 1; do rm x; done")),
        *((line, False) for line in ("ls", "touch x", "git push origin", "echo rm x", "npm publish")),
    ],
)
def test_a_condition_is_met_wherever_a_deny_rule_would_be(line: str, is_met: bool) -> None:
    assert fits("Bash(rm *)", "Bash", {"command": line}) is is_met
    assert fits("Bash:rm *", "Bash", {"command": line}) is is_met


def test_a_condition_about_files_is_met_by_those_and_one_about_others_is_not() -> None:
    assert fits("Write(*.py)", "Write", {"path": "a.py", "content": ""})
    assert not fits("Write(*.py)", "Write", {"path": "a.txt", "content": ""})
    assert not fits("Write(*.py)", "Bash", {"command": "ls"})
    assert fits("*", "other", {"x": 1})
    with pytest.raises(BadHook, match="no permission pattern"):
        fits("Bash((", "Bash", {})


@pytest.mark.parametrize(
    ("tool", "ours", "theirs"),
    [
        ("Read", {"path": "a/b"}, {"file_path": "/w/a/b"}),
        ("Write", {"path": "/x", "content": "c"}, {"file_path": "/x", "content": "c"}),
        ("NotebookEdit", {"path": "n", "action": "edit"}, {"notebook_path": "/w/n", "edit_mode": "edit"}),
        ("Bash", {"command": "ls", "timeout_seconds": 5}, {"command": "ls", "timeout": 5000}),
        ("Grep", {"pattern": "x", "include": "*.py"}, {"pattern": "x", "glob": "*.py"}),
        ("Glob", {"pattern": "x", "path": "a"}, {"pattern": "x", "path": "a"}),
        ("mine", {"path": "a"}, {"path": "a"}),
    ],
)
def test_inputs_are_translated_there_and_back(
    tool: str, ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    dialect = ClaudeDialect(Path("/w"))
    assert dialect.told(tool, ours) == theirs
    back = dialect.taken(tool, theirs)
    assert {**back, "path": "x"} == {**ours, "path": "x"}


def test_two_names_for_one_member_are_left_for_the_gate_to_refuse() -> None:
    both = {"path": "a", "file_path": "b"}
    assert ClaudeDialect(Path("/w")).taken("Read", both) == both


def test_names_of_agents_and_odd_values_pass() -> None:
    dialect = ClaudeDialect(Path("/w"))
    assert dialect.names("Agent") == ("Agent", "Task")
    assert dialect.told("Read", {"path": 3}) == {"file_path": 3}
    assert dialect.told("Bash", {"timeout_seconds": "x"}) == {"timeout": "x"}
    assert dialect.taken("Bash", {"timeout": 1}) == {"timeout_seconds": 1}


HOOK = {"Stop": [{"hooks": [{"command": "a"}]}]}


@pytest.fixture
def chosen(tmp_path: Path):
    def choose(*, no_hooks: bool = False, trusted: bool = False, **scopes: Any) -> list[str]:
        import json

        places = {
            "managed": tmp_path / "managed" / "managed-settings.json",
            "user": tmp_path / "config" / "settings.json",
            "project": tmp_path / "work" / ".caliban" / "settings.json",
        }
        for scope, data in scopes.items():
            places[scope].parent.mkdir(parents=True, exist_ok=True)
            table = {"Stop": [{"hooks": [{"command": scope}]}]}
            places[scope].write_text(json.dumps({"hooks": table, **data}))
        settings = load_settings(
            workspace=tmp_path / "work",
            config_dir=tmp_path / "config",
            managed_dir=tmp_path / "managed",
            trusted=trusted,
        )
        return [spec.command for spec in choose_hooks(settings, no_hooks=no_hooks).specs]

    return choose


OFF = {"disable_all_hooks": True}
ONLY = {"allow_managed_hooks_only": True}


def test_whose_hooks_count(chosen) -> None:
    assert chosen(managed={}, user={}, project={}) == ["managed", "user"]
    assert chosen(managed={}, user={}, project={}, trusted=True) == ["managed", "user", "project"]
    assert chosen(managed={}, user={}, project={}, no_hooks=True) == ["managed"]
    assert chosen(managed={}, user=OFF, project={}, trusted=True) == ["managed"]
    assert chosen(managed={}, user=ONLY, project={}, trusted=True) == ["managed"]
    assert chosen(managed={}, user={}, project=ONLY, trusted=True) == ["managed", "user"]
    assert chosen(managed={}, user={}, project=OFF, trusted=True) == ["managed", "user", "project"]
    assert chosen(managed=ONLY, user={}, project={}, trusted=True) == ["managed"]
    assert chosen(managed=OFF, user={"disable_all_hooks": False}, project={}, trusted=True) == []


def test_whose_mistake_it_is_is_said(chosen) -> None:
    with pytest.raises(ConfigError, match=r"managed-settings\.json") as error:
        chosen(managed={"hooks": {"Stap": []}})
    assert error.value.hint == "ask your administrator, whose hook it is"
