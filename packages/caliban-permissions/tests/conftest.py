"""Shared by the tests of this package: tool specs, and a scratch workspace with a home beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from caliban_common.permission import Decision, PermissionMode
from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Explanation, RemedyWords, Rule, RuleSet
from caliban_permissions.names import guide_spec

AS_FLAGS = RemedyWords(
    rule="--allow {}",
    joint=" ",
    anything="--auto-allow (dangerous: every ask becomes an allow)",
    edits="--permission-mode acceptEdits",
)
"""Words that a shell can take apart again."""

NOW = datetime(2026, 11, 27, tzinfo=UTC)

VOUCHED = (
    "Read",
    "Grep",
    "Glob",
    "TodoWrite",
    "EnterPlanMode",
    "ExitPlanMode",
    "WebFetch",
    "Bash",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
)
"""The tools that the engines of these tests believe."""


def spec(name: str) -> ToolSpec:
    """The spec of a tool as the engine needs it; an unknown name is a tool of kind other."""
    return guide_spec(name) or ToolSpec(name=name, description="", input_schema={})


@dataclass(frozen=True)
class Scene:
    """A workspace and a home in one temporary directory."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "ws"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def spec(self, name: str) -> ToolSpec:
        """The spec of a tool."""
        return spec(name)

    def fill(self, text: str) -> str:
        """The text with `{ws}`, `{home}` and `{tmp}` replaced by the paths."""
        for mark, path in (("{ws}", self.workspace), ("{home}", self.home), ("{tmp}", self.root)):
            text = text.replace(mark, str(path))
        return text

    def add(self, *names: str) -> None:
        """Create files below the workspace; a name that ends in a slash is a directory."""
        for name in names:
            path = self.workspace / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("x")

    def link(self, name: str, target: str) -> None:
        """Create a symbolic link."""
        Path(self.fill(name)).symlink_to(self.fill(target))

    def engine(
        self,
        *rules: tuple[str, str] | Rule,
        mode: PermissionMode = "default",
        interactive: bool = True,
        **more: Any,
    ) -> Engine:
        """An engine with user rules, given as rules or as pairs of action and pattern."""
        layers = {
            name: self.rules(*more.pop(name))
            for name in ("cli", "project", "managed", "runtime")
            if name in more
        }
        trusted = more.pop("project_trusted", False)
        return Engine(
            RuleSet(user=self.rules(*rules), project_trusted=trusted, **layers),
            mode=mode,
            workspace=self.workspace,
            interactive=interactive,
            clock=lambda: NOW,
            home=self.home,
            words=more.pop("words", AS_FLAGS),
            vouched=more.pop("vouched", [spec(name) for name in VOUCHED]),
            **more,
        )

    def rules(self, *rules: Any) -> tuple[Rule, ...]:
        """Rules from rules, from pairs, or from tables."""
        return tuple(self._rule(rule) for rule in rules)

    def _rule(self, rule: Any) -> Rule:
        if isinstance(rule, Rule):
            return rule
        if isinstance(rule, Mapping):
            return Rule(**{**rule, "pattern": self.fill(rule["pattern"])})
        action, pattern = rule
        return Rule(pattern=self.fill(pattern), action=action)

    def decide(self, tool: str, args: Mapping[str, Any], *rules: Any, **more: Any) -> Decision:
        """One decision."""
        return self.engine(*rules, **more).decide(spec(tool), args)

    def explain(self, tool: str, args: Mapping[str, Any], *rules: Any, **more: Any) -> Explanation:
        """One explanation."""
        return self.engine(*rules, **more).explain(spec(tool), args)

    def verdict(self, command: str, *rules: Any, **more: Any) -> str:
        """The verdict on a shell command, before interactivity."""
        return self.explain("Bash", {"command": command}, *rules, **more).verdict


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A fresh scene."""
    made = Scene(Path(os.path.realpath(tmp_path)))
    made.workspace.mkdir()
    made.home.mkdir()
    return made
