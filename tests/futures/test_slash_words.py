"""The registry of an open app: whose commands it has, in which order, and what completes their arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S

from caliban.cli.options import Options, SettingsOptions
from caliban.compose.app import App, open_app
from caliban.slash.registry import app_commands
from caliban.slash.table import BUILT_IN
from caliban_commands.registry import CommandRegistry

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CALIBAN_ROUTER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@asynccontextmanager
async def opened(told: list[str], *, bare: bool = False) -> AsyncIterator[tuple[App, CommandRegistry]]:
    options = Options(settings=SettingsOptions(bare=bare))
    with anyio.fail_after(HANG_S):
        async with open_app(options, lambda notice: told.append(notice.message)) as app:
            session = app.session()
            yield app, app_commands(app, session)
            await session.aclose()


def words(registry: CommandRegistry, name: str, start: str = "") -> tuple[str, ...]:
    row = registry.find(name)
    assert row is not None and row.complete is not None
    return row.complete(start)


async def test_arguments_are_completed_without_asking_anybody(home: Path):
    async with opened([]) as (app, registry):
        app.board.models = ("claude-next-1",)
        assert words(registry, "model") == (app.model.model, "claude-next-1")
        assert words(registry, "model", "CLAUDE-N") == ("claude-next-1",)
        assert words(registry, "effort", "h") == ("high",)
        assert "auto" in words(registry, "effort")
        assert "explanatory" in words(registry, "output-style")
        assert {"dark", "light"} <= set(words(registry, "theme"))
        assert words(registry, "permissions", "acc") == ("acceptEdits",)
        assert "bypassPermissions" not in words(registry, "permissions")
        assert words(registry, "mcp") == ()
        assert "commit" in words(registry, "skills")
        assert "max_turns" in words(registry, "config", "max_")
        assert "compact" in words(registry, "help", "com")
        assert isinstance(words(registry, "resume"), tuple)


async def test_ours_come_first_then_files_then_skills_and_a_taken_name_is_told_once(home: Path):
    commands = home / ".config/caliban/commands"
    commands.mkdir(parents=True)
    for name, text in (("cost", "x"), ("greet", "---\ndescription: say hello\n---\nHi $1")):
        (commands / f"{name}.md").write_text(text)
    skill = home / ".config/caliban/skills/tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: put in order\n---\nTidy up.")
    notices: list[str] = []
    async with opened(notices) as (_, registry):
        rows = [row.name for row in registry]
        assert rows[: len(BUILT_IN) + 1] == ["help", *(row.name for row in BUILT_IN)]
        assert rows[len(BUILT_IN) + 1 :] == ["greet", "tidy"]
        greet, tidy = registry.find("greet"), registry.find("TIDY")
        assert greet is not None and (greet.summary, greet.source, greet.group) == (
            "say hello",
            "user",
            "Yours",
        )
        assert tidy is not None and (tidy.source, tidy.submits) == ("skill", True)
        registry.called("/cost")
        (commands / "greet.md").touch()
        registry.called("/cost")
        assert sum("cost.md) is left out: a built-in command has its name" in words for words in notices) == 1


async def test_a_bare_run_has_none_of_them(home: Path):
    commands = home / ".config/caliban/commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("Hi")
    async with opened([], bare=True) as (_, registry):
        assert registry.find("greet") is None
