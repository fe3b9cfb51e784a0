"""Each setting that a running session takes over is changed in one, and what goes by it sees the change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from caliban.cli.options import Options, WorkspaceOptions
from caliban.compose.app import App, open_app
from caliban.compose.plugins.policy import trust_message
from caliban.compose.sessionstore import cleanup_days
from caliban.compose.terminal import files_command, status_script, terminal_values
from caliban_common.tool import ToolSpec
from caliban_settings import SCHEMA
from caliban_tools_builtin import builtin_specs

pytestmark = pytest.mark.anyio

BASH = next(spec for spec in builtin_specs() if spec.name == "Bash")
HOOK = 'hooks.Stop = [{handlers = [{type = "command", command = "true"}]}]\n'
ASKS = 'hooks.Stop = [{handlers = [{type = "http", url = "https://a.example/x"}]}]\n'
Look = Callable[[App], Any]


def limit(name: str) -> Look:
    def look(app: App) -> Any:
        session = app.board.session
        assert session is not None
        return getattr(session.agent.options, name)

    return look


def verdict(command: str) -> Look:
    return lambda app: app.permissions.decide(BASH, {"command": command}).action


def hooked(app: App) -> bool:
    return not app.live.hooks.is_idle


def http(app: App) -> Any:
    hooks = app.live.hooks.current
    assert hooks is not None
    asker: Any = hooks._parts.askers["http"]
    return sorted(asker.env)


def hosts(app: App) -> Any:
    return sorted(app.permissions.engine._place.web_hosts)


def of_server(rules: str) -> str:
    """The settings of a server that is switched off, with rules for its tools."""
    return f'[mcp_servers.desk]\ncommand = "true"\ndisabled = true\n{rules}'


def served(app: App) -> str:
    spec = ToolSpec(name="mcp__desk__note", description="", input_schema={})
    return app.permissions.decide(spec, {}).action


def screen(name: str) -> Look:
    return lambda app: terminal_values(app.live.now, {})[name]


CASES: dict[str, tuple[str, str, Look, Any, Any]] = {
    "effort": ('effort = "low"', 'effort = "high"', limit("effort"), "low", "high"),
    "cleanup_period_days": (
        "cleanup_period_days = 3",
        "cleanup_period_days = 4",
        lambda app: cleanup_days(app.live.now, {}),
        3,
        4,
    ),
    "max_turns": ("max_turns = 3", "max_turns = 4", limit("max_turns"), 3, 4),
    "max_tokens": ("max_tokens = 3", "max_tokens = 4", limit("max_tokens"), 3, 4),
    "max_tool_calls_per_reply": (
        "max_tool_calls_per_reply = 3",
        "max_tool_calls_per_reply = 4",
        limit("max_calls_per_reply"),
        3,
        4,
    ),
    "no_edit_nudge_turns": ("", "no_edit_nudge_turns = 4", limit("no_edit_nudge_turns"), 10, 4),
    "tool_result_cap_chars": ("", "tool_result_cap_chars = 4", limit("tool_result_cap_chars"), 50000, 4),
    "min_cache_block_tokens": ("", "min_cache_block_tokens = 4", limit("min_cache_tokens"), 1024, 4),
    "permissions.allow": ("", 'permissions.allow = ["Bash:make"]', verdict("make"), "deny", "allow"),
    "permissions.ask": (
        'permissions.allow = ["Bash"]',
        'permissions.allow = ["Bash"]\npermissions.ask = ["Bash:make"]',
        verdict("make"),
        "allow",
        "deny",
    ),
    "permissions.deny": (
        'permissions.allow = ["Bash"]',
        'permissions.allow = ["Bash"]\npermissions.deny = ["Bash:make"]',
        verdict("make"),
        "allow",
        "deny",
    ),
    "permissions.rules": (
        "",
        'permissions.rules = [{pattern = "Bash:make", action = "allow"}]',
        verdict("make"),
        "deny",
        "allow",
    ),
    "permissions.auto_allow_read_only": (
        "",
        "permissions.auto_allow_read_only = false",
        verdict("ls"),
        "allow",
        "deny",
    ),
    "hooks.*": ("", HOOK, hooked, False, True),
    "disable_all_hooks": (HOOK, f"{HOOK}disable_all_hooks = true", hooked, True, False),
    "allow_managed_hooks_only": (HOOK, f"{HOOK}allow_managed_hooks_only = true", hooked, True, False),
    "allowed_http_hook_urls": (
        f'allowed_http_hook_urls = ["https://a.example/*"]\n{ASKS}',
        f'allowed_http_hook_urls = ["https://a.example/*", "https://b.example/*"]\n{ASKS}',
        lambda app: len(app.live.hooks.current._parts.askers["http"].allowed),
        1,
        2,
    ),
    "http_hook_allowed_env_vars": (
        f'allowed_http_hook_urls = ["https://a.example/*"]\n{ASKS}',
        f'allowed_http_hook_urls = ["https://a.example/*"]\nhttp_hook_allowed_env_vars = ["HOME"]\n{ASKS}',
        http,
        [],
        ["HOME"],
    ),
    "images.max_bytes": ("", "images.max_bytes = 20000", lambda app: app.media().max_bytes, 3750000, 20000),
    "images.downscale_target": (
        "",
        "images.downscale_target = 100",
        lambda app: app.media().target_side,
        1568,
        100,
    ),
    "parent_settings_behavior": (
        "",
        'parent_settings_behavior = "block"',
        lambda app: [item.key for item in app.live.now.withheld],
        [],
        ["parent_settings_behavior"],
    ),
    "web_fetch_hosts": ("", 'web_fetch_hosts = ["a.example"]', hosts, [], ["a.example"]),
    "mcp_servers.*.permissions.allow": (
        of_server(""),
        of_server('permissions.allow = ["note"]'),
        served,
        "deny",
        "allow",
    ),
    "mcp_servers.*.permissions.ask": (
        of_server('permissions.allow = ["note"]'),
        of_server('permissions.allow = ["*"]\npermissions.ask = ["note"]'),
        served,
        "allow",
        "deny",
    ),
    "mcp_servers.*.permissions.deny": (
        of_server('permissions.allow = ["note"]'),
        of_server('permissions.allow = ["note"]\npermissions.deny = ["note"]'),
        served,
        "allow",
        "deny",
    ),
    "plugins.trust_message": (
        "",
        'plugins.trust_message = "Ask first."',
        lambda app: trust_message(app.live.now),
        "",
        "Ask first.",
    ),
    "editor_mode": ("", 'editor_mode = "vim"', screen("editor"), "emacs", "vim"),
    "view_mode": ("", 'view_mode = "compact"', screen("detail"), "normal", "brief"),
    "statusLine": (
        "",
        'statusLine = {type = "command", command = "echo hi"}',
        lambda app: getattr(status_script(app.live.now), "command", None),
        None,
        "echo hi",
    ),
    "tui.detail": ("", 'tui.detail = "full"', screen("detail"), "normal", "full"),
    "tui.files_command": (
        "",
        'tui.files_command = ["fd"]',
        lambda app: files_command(app.live.now),
        (),
        ("fd",),
    ),
    "tui.keys.*": ("", 'tui.keys.send = "c-m"', screen("keys"), {}, {"send": ("c-m",)}),
    "tui.mouse": ("", "tui.mouse = true", screen("mouse"), False, True),
    "tui.notifications": ("", 'tui.notifications = "off"', screen("notify"), "both", "off"),
    "tui.painter": ("", 'tui.painter = "full"', screen("painter"), "inline", "full"),
    "tui.reduce_motion": ("", "tui.reduce_motion = true", screen("reduces_motion"), False, True),
    "tui.showCostInStatusline": ("", "tui.showCostInStatusline = false", screen("shows_cost"), True, False),
    "tui.theme": ("", 'tui.theme = "light"', screen("theme"), "", "light"),
    "tui.title": ("", "tui.title = true", lambda app: bool(screen("title")(app)), False, True),
    "tui.wrap": ("", 'tui.wrap = "terminal"', screen("wraps"), True, False),
    "env.*": ("", 'env.A = "1"', lambda app: dict(app.live.env), {}, {"A": "1"}),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CALIBAN_ROUTER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    yield


def write(text: str, age: int) -> Path:
    """The user's settings, quiet for so many seconds: no test waits."""
    path = Path(os.environ["HOME"]) / ".config" / "caliban" / "settings.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    moment = path.stat().st_mtime - age
    os.utime(path, (moment, moment))
    return path


@asynccontextmanager
async def opened(said: list[str]):
    workspace = Path(os.environ["HOME"]) / "work"
    workspace.mkdir()
    options = Options(workspace=WorkspaceOptions(workspace=str(workspace)))
    async with open_app(options, lambda notice: said.append(notice.message)) as app:
        session = app.session()
        await app.live.refresh(app)
        yield app
        await session.aclose()


def test_every_setting_without_a_badge_is_changed_here() -> None:
    # What is not built has no effect, live or not.
    assert set(CASES) == {key.path for key in SCHEMA if not key.restart and not key.later}


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("name", CASES)
async def test_a_setting_that_changes_counts_from_then_on(name: str) -> None:
    before, after, look, old, new = CASES[name]
    notices: list[str] = []
    write(before, 20)
    async with opened(notices) as app:
        assert look(app) == old
        write(after, 10)
        await app.live.refresh(app)
        assert look(app) == new
        assert not any("restart required" in words for words in notices)


@pytest.mark.long(keep=5)
@pytest.mark.parametrize(
    "key", [key for key in SCHEMA if key.restart and not key.later], ids=lambda key: key.path
)
def test_a_setting_with_a_badge_is_kept_as_the_run_began(key: Any) -> None:
    from caliban_settings.key import Key
    from caliban_settings.leaves import SettingValue, ValueOrigin
    from caliban_settings.settings import Settings, keeping

    assert isinstance(key, Key)
    path = tuple(part.replace("*", "name") for part in key.path.split("."))

    def settings(value: Any) -> Settings:
        origin = ValueOrigin(scope="user", path=None)
        leaves = {path: SettingValue(key=key, value=value, origins=(origin,))}
        return Settings(merged={}, leaves=leaves, layers={}, rules={}, raw={}, withheld=(), warnings=())

    assert keeping(settings("new"), settings("old")).get(".".join(path)) == "old"


async def test_a_change_that_waits_for_a_start_is_told_with_its_line_and_once() -> None:
    notices: list[str] = []
    write("max_turns = 3\n", 30)
    async with opened(notices) as app:
        path = write('max_turns = 3\n\nmodel = "other"\n', 20)
        await app.live.refresh(app)
        await app.live.refresh(app)
        write('max_turns = 3\n\nmodel = "other"\n', 10)
        await app.live.refresh(app)
        assert notices == [
            f"model was changed in {path}:3 and counts from the next start on: restart required"
        ]
        assert app.live.now.get("model") is None


@pytest.mark.parametrize("text", ["max_turns = ", "max_turns = 'x'", "\0", "[[[", 'audit.path = "/x"'])
async def test_garbage_leaves_everything_as_it_was(text: str) -> None:
    notices: list[str] = []
    write('permissions.deny = ["Bash:make"]\npermissions.allow = ["Bash"]\n', 30)
    async with opened(notices) as app:
        write(text, 20)
        await app.live.refresh(app)
        await app.live.refresh(app)
        assert verdict("make")(app) == "deny" and verdict("touch x")(app) == "allow"
        assert len(notices) == 1 and "those of before go on" in notices[0]


async def test_a_file_that_goes_away_takes_its_settings_with_it() -> None:
    notices: list[str] = []
    path = write("max_turns = 3\n", 30)
    async with opened(notices) as app:
        path.unlink()
        await app.live.refresh(app)
        assert limit("max_turns")(app) == 50
