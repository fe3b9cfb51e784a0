"""A place with all the directories that settings are read from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from caliban_settings import Scope, Settings, load_settings

FILES: dict[Scope, str] = {
    "managed": "managed/managed-settings",
    "user": "config/settings",
    "project": "ws/.caliban/settings",
    "local": "ws/.caliban/settings.local",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPath:
    """Directories below `root`, and short ways to fill and to load them."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "ws"

    def file(self, scope: Scope, *, suffix: str = ".toml") -> Path:
        return self.root / (FILES[scope] + suffix)

    def write(self, scope: Scope, text: str | bytes, *, suffix: str = ".toml") -> Path:
        path = self.file(scope, suffix=suffix)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o644)
        return path

    def write_json(self, scope: Scope, data: Any) -> Path:
        return self.write(scope, json.dumps(data), suffix=".json")

    def load(
        self, *, sources: tuple[str, ...] | None = None, overlay: str | None = None, trusted: bool = False
    ) -> Settings:
        return load_settings(
            workspace=self.workspace,
            config_dir=self.root / "config",
            managed_dir=self.root / "managed",
            sources=sources,
            overlay=overlay,
            trusted=trusted,
        )


@pytest.fixture
def place(tmp_path: Path) -> KeyPath:
    for name in ("managed", "config", "ws/.caliban"):
        (tmp_path / name).mkdir(parents=True, mode=0o755)
    (tmp_path / "managed").chmod(0o755)
    return KeyPath(root=tmp_path)
