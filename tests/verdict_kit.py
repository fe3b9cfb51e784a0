"""Judges calls as `caliban perms test` does, in one process: a person's rules, a workspace, calls.

`Verdicts.by_command` asks the shipped command itself.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starts_kit import run_command

from caliban.cli.commands import COMMANDS, find_command
from caliban.cli.invocation import Invocation
from caliban.cli.parser import parse_command
from caliban.commands.perms.verdict import _Judge
from caliban.early_signals import EarlySignals
from caliban_permissions import Explanation

UNASKED = ("--permission-mode", "dontAsk")
"""The flags of a run in which nobody is asked."""


class Row(NamedTuple):
    """A call under rules, each an action, a blank and a pattern, and what must become of it.

    In rules and in the arguments of file tools `/ws` and `/home/u` stand for the workspace and the home,
    `/t/` for a directory outside of both.
    """

    rules: tuple[str, ...]
    args: Mapping[str, Any]
    expect: str
    tool: str = "Bash"
    flags: tuple[str, ...] = ()


def lines(
    rules: tuple[str, ...], expect: str, commands: Iterable[str], *, flags: tuple[str, ...] = ()
) -> Iterator[Any]:
    """Commands that one verdict is due to, as parameters of a test."""
    for command in dict.fromkeys(commands):
        name = ascii(command)[1:-1][:70]
        yield pytest.param(Row(rules, {"command": command}, expect, flags=flags), id=name)


def rows(table: Mapping[str, Row]) -> list[Any]:
    """Rows by their ids, as parameters of a test."""
    return [pytest.param(row, id=name) for name, row in table.items()]


class Verdicts:
    """A workspace and a home in one temporary directory."""

    def __init__(self, root: Path) -> None:
        self.work = root / "ws"
        self.home = root / "home"
        self.outside = root / "out"
        self._judges: dict[tuple[tuple[str, ...], tuple[str, ...]], _Judge] = {}
        for folder in (self.work, self.home, self.outside):
            folder.mkdir(parents=True)

    def add(self, *names: str) -> None:
        """Create files below the workspace; a name that ends in a slash is a directory."""
        for name in names:
            path = self.work / name
            folder = path if name.endswith("/") else path.parent
            folder.mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text("x\n")

    def link(self, name: str, target: str) -> None:
        """Create a symbolic link below the workspace."""
        (self.work / name).symlink_to(self.placed(target))

    def placed(self, text: str) -> str:
        """The text with the real directories in the place of `/ws`, `/home/u` and `/t/`."""
        for name, folder in (("/ws", self.work), ("/home/u", self.home), ("/t/", self.outside)):
            text = text.replace(name, f"{folder}/" if name.endswith("/") else str(folder))
        return text

    def check(self, row: Row) -> None:
        """Fail unless the verdict is the one that is due; "not allow" is any other than that."""
        explained = self.explain(row)
        due = explained.verdict != "allow" if row.expect == "not allow" else explained.verdict == row.expect
        assert due, (explained.verdict, explained.reason)

    def explain(self, row: Row) -> Explanation:
        """What the command would say."""
        key = (row.rules, row.flags)
        if key not in self._judges:
            self._write(row.rules)
            words = ["perms", "test", "Bash", "{}", "--workspace", str(self.work), *row.flags]
            command, arguments = find_command(words, COMMANDS) or pytest.fail("no such command")
            with self._environment():
                options, values = parse_command(command, arguments, os.environ)
                signals = EarlySignals(None)
                self._judges[key] = _Judge(Invocation(options=options, values=values, signals=signals))
        with self._environment():
            return self._judges[key](row.tool, self._placed_arguments(row))

    def verdict(self, row: Row) -> str:
        """allow, ask or deny."""
        return self.explain(row).verdict

    def by_command(self, row: Row) -> str:
        """The verdict of the shipped command, by its exit code."""
        self._write(row.rules)
        done = self.run("perms", "test", row.tool, json.dumps(self._placed_arguments(row)), *row.flags)
        return {0: "allow", 1: "deny", 2: "ask"}.get(done.returncode, done.stderr)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command in the workspace."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        ended = run_command(words, environ, self.work)
        return subprocess.CompletedProcess(words, ended.code, ended.out.decode(), ended.err.decode())

    def _placed_arguments(self, row: Row) -> Mapping[str, Any]:
        return {
            name: self.placed(value) if isinstance(value, str) and row.tool != "Bash" else value
            for name, value in row.args.items()
        }

    def _write(self, rules: tuple[str, ...]) -> None:
        settings = self.home / ".config" / "caliban" / "settings.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        tables = []
        for rule in rules:
            action, _, pattern = self.placed(rule).partition(" ")
            tables.append(f"[[permissions.rules]]\npattern = {json.dumps(pattern)}\naction = '{action}'\n")
        settings.write_text("\n".join(tables))

    @contextmanager
    def _environment(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(self.home))
            for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CALIBAN_CONFIG"):
                patch.delenv(name, raising=False)
            yield


def usual(root: Path) -> Verdicts:
    """A workspace with a few files of every kind that the rows name."""
    made = Verdicts(Path(os.path.realpath(root)))
    made.add("a.txt", "build/x", "app/.env", "src/a.py", "p.sh", "h/", "README.md", "secret/f", "nb/")
    made.add(".git/HEAD", ".git/objects/", ".git/refs/", ".git/config", ".git/hooks/x", "other/")
    made.add("private/x", "pub/")
    for name, target in (
        ("link", "app/.env"),
        ("alias", "secret"),
        ("deep", "alias"),
        ("pub/p", "/ws/private"),
    ):
        made.link(name, target)
    made.link("nb/x.ipynb", "/ws/.git/config")
    made.link("d", "/home/u/other")
    return made
