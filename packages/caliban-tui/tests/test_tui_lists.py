"""The lists of servers and of settings, as values over a fake app."""

from __future__ import annotations

import random
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from caliban_tui.errors import TerminalError
from caliban_tui.line import text_of
from caliban_tui.overlay.overlay import Choose, Overlay, OverlayStep, Stay, Work
from caliban_tui.overlay.picker import PickerOverlay
from caliban_tui.overlay.servers import server_list
from caliban_tui.overlay.settings import next_choice, settings_list
from caliban_tui.overlay.views import ServerRow, SettingRow
from caliban_tui.screen import ScreenSize

SIZE = ScreenSize(90, 20)


class FakeApp:
    """What the two lists ask of an app, from memory; `done` are the things that were asked of it."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.states = {"good": "connected", "bad": "failed", "odd\u202e": "disabled"}
        self.rows = [
            SettingRow(
                name="tui.mouse", value="true", origin="user /h.toml", choices=("true", "false"), now="true"
            ),
            SettingRow(name="effort", choices=("low", "high"), about="How hard."),
            SettingRow(name="max_turns", value="7", now="7", text="7", about="Bound."),
            SettingRow(name="api", value='"[secret]"', origin="user"),
        ]

    def servers(self) -> tuple[ServerRow, ...]:
        about = ("command: x\x1b[2J",)
        rows = (
            ServerRow(name=name, state=state, tools=2, about=about) for name, state in self.states.items()
        )
        return tuple(rows)

    async def reconnect_server(self, name: str) -> str:
        self.done.append(("reconnect", name))
        if name == "bad":
            raise TerminalError("it is not there\x1b[2J", hint="look at its log")
        return f"{name} is connected"

    async def toggle_server(self, name: str) -> str:
        self.states[name] = "disabled"
        return f"{name} is off"

    def settings(self) -> tuple[SettingRow, ...]:
        return tuple(self.rows)

    def setting_files(self) -> tuple[tuple[str, str], ...]:
        return (("user", "/h/settings.toml"), ("project", "/w/settings.toml"))

    async def write_setting(self, name: str, text: str, scope: str) -> str:
        self.done.append((name, text, scope))
        if text == "no number":
            raise TerminalError("it must be a number")
        self.rows = [
            replace(row, value=text, now=text, origin=scope) if row.name == name else row for row in self.rows
        ]
        return f"{name} is set"

    async def unset_setting(self, name: str, scope: str) -> str:
        self.done.append((name, None, scope))
        return f"{name} is no longer set"


async def pressed(overlay: Overlay, *keys: str) -> OverlayStep:
    """The step of the last key, work done."""
    step: OverlayStep = Stay(overlay)
    for key in keys:
        assert isinstance(step, Stay), step
        step = step.overlay.key(key, SIZE)
        if isinstance(step, Work):
            step = await step.run()
    return step


def after(overlay: Overlay, *keys: str) -> Any:
    return anyio.run(pressed, overlay, *keys)


def seen(overlay: Overlay, size: ScreenSize = SIZE) -> str:
    return "\n".join(text_of(line) for line in overlay.lines(size))


def servers(app: Any) -> PickerOverlay:
    return server_list(app)


def settings(app: Any) -> PickerOverlay:
    return settings_list(app)


def test_a_server_is_connected_anew_switched_off_and_logged_in_to_where_one_stands() -> None:
    app = FakeApp()
    shown = after(servers(app), "r").overlay
    assert "good is connected" in seen(shown)
    step = after(servers(app), "down", "r")
    assert app.done == [("reconnect", "good"), ("reconnect", "bad")]
    assert "it is not there\\x1b[2J look at its log" in seen(step.overlay) and step.overlay.row.value == "bad"
    shown = after(servers(app), "/", *"good", "enter", "escape", "d").overlay
    assert app.states["good"] == "disabled" and "good is off" in seen(shown)
    assert after(servers(app), "down", "l") == Choose("/mcp login bad")
    app.states["new"] = "pending"
    assert "new" in seen(after(servers(app), "u").overlay)
    waiting = servers(app).key("r", SIZE)
    assert isinstance(waiting, Work) and "connecting" in seen(waiting.overlay)


def test_without_servers_the_keys_do_nothing_and_a_line_says_how_one_is_written() -> None:
    app = FakeApp()
    app.states = {}
    for key in ("r", "d", "l", "enter"):
        assert "caliban mcp add" in seen(after(servers(app), key).overlay)
    assert app.done == []


def test_a_boolean_and_a_word_go_on_to_the_next_one_in_the_file_that_is_named() -> None:
    app = FakeApp()
    assert "changes go to: user, /h/settings.toml" in seen(settings(app))
    shown = after(settings(app), "enter").overlay
    assert "tui.mouse is set" in seen(shown) and "tui.mouse = false" in seen(shown)
    shown = after(shown, "tab").overlay
    assert "changes go to: project, /w/settings.toml" in seen(shown)
    after(shown, "down", "enter", "enter", "enter")
    assert app.done == [
        ("tui.mouse", "false", "user"),
        ("effort", "low", "project"),
        ("effort", "high", "project"),
        ("effort", "low", "project"),
    ]
    assert next_choice(SettingRow(name="x", choices=("a", "b"), now="gone")) == "a"


def test_a_value_is_typed_over_the_one_of_before_and_taken_out_again() -> None:
    app = FakeApp()
    step = after(settings(app), "down", "down", "e", "0", "enter")
    assert app.done == [("max_turns", "70", "user")] and step.overlay.row.value == "max_turns"
    step = after(settings(app), "/", *"turns", "enter", "c-u", *"no number", "enter")
    assert "it must be a number" in seen(step.overlay) and step.overlay.search.text == "turns"
    after(step.overlay, "u") if not step.overlay.searches else after(step.overlay, "escape", "u")
    assert isinstance(after(settings(app), "down", "down", "e", "escape"), Stay)
    secret = after(settings(app), "end", "e").overlay
    assert "[secret]" not in seen(secret)
    after(settings(app), "u")
    assert app.done[-1] == ("tui.mouse", None, "user")


@pytest.mark.parametrize("seed", range(6))
def test_any_keys_at_any_size_leave_lists_that_fit_and_steer_nothing(seed: int) -> None:
    keys = random.Random(seed)
    for make in (servers, settings):
        overlay: Overlay = make(FakeApp())
        for _ in range(80):
            size = ScreenSize(keys.choice([1, 10, 60, 120]), keys.choice([1, 3, 24]))
            lines = overlay.lines(size)
            assert len(lines) <= size.rows
            assert not {"\x1b", "\u202e"} & set("".join(map(text_of, lines)))
            step = after(
                overlay, keys.choice(["up", "down", "tab", "r", "d", "u", "e", "/", "x", "enter", "end"])
            )
            overlay = step.overlay if isinstance(step, Stay) else make(FakeApp())
