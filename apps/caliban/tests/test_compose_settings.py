"""What is wrong with settings is said with the flags that a person at the command knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban.cli.options import SettingsOptions
from caliban.compose.project import ALLOWED, build_settings
from caliban.compose.settings import unbuilt_words
from caliban_settings import SettingsError


def test_a_fault_of_the_inline_settings_is_one_of_their_flag(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        build_settings(SettingsOptions(settings='{"max_turns": }'), tmp_path)
    assert caught.value.message.startswith("--settings:1:15: not JSON")


def test_what_waits_for_trust_names_the_flag_that_gives_it(tmp_path: Path) -> None:
    file = tmp_path / ".caliban" / "settings.toml"
    file.parent.mkdir()
    file.write_text('model = "m"\n')
    settings = build_settings(SettingsOptions(), tmp_path)
    assert settings.warnings == (f"{file}: `model`: no effect {ALLOWED}",)


def test_a_setting_of_a_later_version_is_said_to_be_of_the_flag(tmp_path: Path) -> None:
    settings = build_settings(SettingsOptions(settings='{"enable_telemetry": true}'), tmp_path)
    assert [unbuilt_words(item).partition(" has")[0] for item in settings.unbuilt] == [
        "--settings: `enable_telemetry`"
    ]
