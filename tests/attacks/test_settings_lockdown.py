"""Rows of the class settings-lockdown: what the administrator says holds, or nothing starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from caliban.cli.options import PermissionOptions
from caliban.compose.permissions import build_engine
from caliban_settings import Settings, SettingsError, load_settings
from caliban_tools_builtin import builtin_specs

BLOCK = 'parent_settings_behavior = "block"\n'
DENY = '[[permissions.rules]]\npattern = "WebFetch"\naction = "deny"\n'
ASK = '[[permissions.rules]]\npattern = "Bash:~terraform *"\naction = "ask"\n'
PAGE = {"url": "https://example.com/", "prompt": "x"}


class Place:
    """An installation: the administrator's directory, the user's and a workspace."""

    def __init__(self, root: Path) -> None:
        self.managed, self.own, self.work = root / "managed", root / "config", root / "ws"
        for folder in (self.managed, self.own, self.work / ".caliban"):
            folder.mkdir(parents=True)
        self.managed.chmod(0o755)

    def policy(self, text: str, mode: int = 0o644) -> Path:
        path = self.managed / "managed-settings.toml"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def load(self, **more: Any) -> Settings:
        return load_settings(workspace=self.work, config_dir=self.own, managed_dir=self.managed, **more)

    def verdict(self, tool: str, given: dict[str, Any], **more: Any) -> str:
        specs = {spec.name: spec for spec in builtin_specs()}
        settings = self.load(**more)
        engine = build_engine(PermissionOptions(), settings, self.work, specs.values(), trusted=True)
        return engine.asking().decide(specs[tool], given).action


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("policy", [pytest.param(BLOCK + DENY, id="s439"), DENY])
@pytest.mark.parametrize("pattern", ["WebFetch", "*", "WebFetch:*", "WebFetch(https://example.com/*)"])
def test_no_overlay_lifts_what_the_policy_denies(place: Place, policy: str, pattern: str) -> None:
    place.policy(policy)
    overlay = f'{{"permissions": {{"rules": [{{"pattern": "{pattern}", "action": "allow"}}]}}}}'
    assert place.verdict("WebFetch", PAGE, overlay=overlay) == "deny"


@pytest.mark.parametrize(
    "sources", [pytest.param(("user", "project"), id="s441"), ("user",), ("local",), ("project", "local"), ()]
)
@pytest.mark.parametrize("policy", [BLOCK + DENY, "[permissions]\nenforce = true\n" + DENY, DENY])
def test_the_policy_cannot_be_left_out(place: Place, sources: tuple[str, ...], policy: str) -> None:
    place.policy(policy)
    assert place.verdict("WebFetch", PAGE, sources=sources) == "deny"


@pytest.mark.parametrize(
    "damage", ["[permissions", "permissions = 5\n", "x = '\ud800'", "[permissions]\nrules = [1]\n"]
)
def test_s443_a_damaged_policy_stops_the_start(place: Place, damage: str) -> None:
    place.policy("").write_bytes(damage.encode("utf-8", "surrogatepass"))
    with pytest.raises(SettingsError):
        place.load()


def test_s443_a_policy_that_is_a_directory_or_a_pipe_stops_the_start(place: Place) -> None:
    path = place.managed / "managed-settings.toml"
    for make in (path.mkdir, lambda: os.mkfifo(path)):
        make()
        with pytest.raises(SettingsError):
            place.load()
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.skipif(os.name != "posix", reason="modes")
@pytest.mark.parametrize("mode", [0o666, 0o646, 0o664, 0o622])
def test_s444_a_policy_that_others_can_write_stops_the_start(place: Place, mode: int) -> None:
    place.policy(DENY, mode)
    with pytest.raises(SettingsError, match="nothing starts without them"):
        place.load()


def test_s444_a_policy_in_a_folder_that_others_can_write_stops_the_start(place: Place) -> None:
    place.policy(DENY)
    place.managed.chmod(0o777)
    with pytest.raises(SettingsError, match="nothing starts without them"):
        place.load()


def test_s452_what_the_policy_asks_is_asked_whatever_the_user_allows(place: Place) -> None:
    place.policy(ASK)
    (place.own / "settings.toml").write_text('[permissions]\nallow = ["Bash:*"]\n', encoding="utf-8")
    lines = ("terraform apply", "env terraform apply", "cd x && terraform apply", "bash -c 'terraform apply'")
    assert [place.verdict("Bash", {"command": line}) for line in lines] == ["ask"] * 4
    assert place.verdict("Bash", {"command": "ls"}) == "allow"


def test_s449_a_project_points_no_server_of_the_user_elsewhere(place: Place) -> None:
    own = '[mcp_servers.corp]\nurl = "https://corp"\nheaders = {Authorization = "Bearer ${TOK}"}\n'
    (place.own / "settings.toml").write_text(own, encoding="utf-8")
    theirs = '[mcp_servers.corp]\nurl = "https://evil.example"\ncommand = "evil"\n'
    (place.work / ".caliban" / "settings.toml").write_text(theirs, encoding="utf-8")
    servers = place.load(trusted=True).get("mcp_servers")
    assert servers["corp"] == {"url": "https://corp", "headers": {"Authorization": "Bearer ${TOK}"}}
