"""A home of its own, settings from a text, inputs from settings, and what was reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from caliban.cli.options import ModelOptions, SettingsOptions
from caliban.compose.choice import ModelInputs, SessionModel
from caliban.compose.host import Host
from caliban.compose.project import open_project
from caliban_drive.notice import Notice
from caliban_process import Runner
from caliban_settings import Settings, load_settings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, without anybody's keys."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace that is a repository of its own."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def settings(tmp_path: Path, work: Path) -> Callable[..., Settings]:
    """Settings as the user's file would say them, in TOML."""

    def load(text: str = "", managed: str = "") -> Settings:
        for name, content in (("settings", text), ("managed-settings", managed)):
            (tmp_path / f"{name}.toml").write_text(content)
        return load_settings(workspace=work, config_dir=tmp_path, managed_dir=tmp_path)

    return load


@pytest.fixture
def inputs(settings: Callable[..., Settings], work: Path) -> Callable[..., ModelInputs]:
    """What the choice of a model goes by: `said` is the text of settings, the rest are flags."""

    def make(
        said: str = "",
        environ: Mapping[str, str] | None = None,
        session: SessionModel | None = None,
        trusted: bool = False,
        **flags: str,
    ) -> ModelInputs:
        return ModelInputs(
            options=ModelOptions(**flags),
            settings=settings(said),
            host=Host(environ=environ or {}, runner=Runner()),
            workspace=work,
            sources=SettingsOptions(trust_project=trusted),
            project=open_project(SettingsOptions(trust_project=trusted), work),
            session=session,
        )

    return make


@pytest.fixture
def notices() -> list[Notice]:
    """What was reported; its `append` is a `Report`."""
    return []
