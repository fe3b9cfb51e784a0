"""The MCP servers of one scope as they are kept: in which file, and how that is changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from caliban_settings.edit.file import SettingsFile
from caliban_settings.edit.servers import SHARED, TABLE, with_server, with_switch, without_server
from caliban_settings.errors import ServersNotWritten, SettingsNotWritten
from caliban_settings.key import Scope
from caliban_settings.parse import parse
from caliban_settings.server_names import written_name


class ServerStore(Struct, frozen=True, kw_only=True):
    """The servers of one scope. `files` are those that may hold some, the one for new servers first.

    `workspace` bounds the links of its own scopes.
    """

    scope: Scope
    files: tuple[Path, ...]
    workspace: Path | None = None

    def holder(self, name: str) -> Path | None:
        """The file with a server of this name. Raises `SettingsError` for one that cannot be read."""
        return next((path for path in self.files if self._name(path, name) is not None), None)

    def table(self, name: str) -> Mapping[str, Any] | None:
        """The entry of this name as it is written. Raises `SettingsError`."""
        path = self.holder(name)
        return None if path is None else self._servers(path)[self._name(path, name) or name]

    def add(self, name: str, table: Mapping[str, Any], *, replaces: bool = False) -> Path:
        """Write a server; where it is now. Raises `ServersNotWritten`, `SettingsError`."""
        holder = self.holder(name)
        if holder is not None and not replaces:
            raise ServersNotWritten(f"there is a server {name!r} in {holder} already")
        target = holder or self._target()
        toml, written = target.suffix == ".toml", self._name(target, name) or name

        def change(text: str) -> str:
            without = without_server(text, written, toml=toml) if holder is not None else text
            return with_server(without, name, table, toml=toml)

        self._rewrite(target, change)
        return target

    def remove(self, name: str) -> Path:
        """Take a server out; where it was. Raises `ServersNotWritten`, `SettingsError`."""
        path = self._held(name)
        written = self._name(path, name) or name
        self._rewrite(path, lambda text: without_server(text, written, toml=path.suffix == ".toml"))
        return path

    def switch(self, name: str, *, disabled: bool) -> Path:
        """Switch a server off or on; where that stands. Raises `ServersNotWritten`, `SettingsError`."""
        path = self.holder(name) or self._target()
        toml, written = path.suffix == ".toml", self._name(path, name) or name
        self._rewrite(path, lambda text: with_switch(text, written, disabled=disabled, toml=toml))
        return path

    def _name(self, path: Path, name: str) -> str | None:
        """What the file calls the server `name`: files that others write too may have names of theirs."""
        servers = self._servers(path)
        return written_name(servers if path.suffix != ".toml" else servers.keys() & {name}, name)

    def _held(self, name: str) -> Path:
        path = self.holder(name)
        if path is None:
            raise ServersNotWritten(f"no file of the scope {self.scope} has a server {name!r}")
        return path

    def _target(self) -> Path:
        """Where a new server goes: to other servers, or else into the first file."""
        return next((path for path in self.files if self._servers(path)), self.files[0])

    def _servers(self, path: Path) -> dict[str, Any]:
        if not os.path.lexists(path):
            return {}
        data = parse(self._file(path).read(), name=str(path), toml=path.suffix == ".toml")[0]
        tables = data.get(TABLE if path.suffix == ".toml" else SHARED, {})
        return tables if isinstance(tables, dict) else {}

    def _file(self, path: Path) -> SettingsFile:
        shared = self.scope == "project"
        return SettingsFile(scope=self.scope, path=path, workspace=self.workspace, shared=shared)

    def _rewrite(self, path: Path, change: Callable[[str], str]) -> None:
        try:
            self._file(path).rewrite(lambda text: change(text.removeprefix("\ufeff")))
        except SettingsNotWritten as error:
            raise ServersNotWritten(error.message, hint=error.hint) from error


def server_store(scope: Scope, *, workspace: Path, config_dir: Path, managed_dir: Path) -> ServerStore:
    """The servers of a scope. Those of a project stand where other harnesses read them too.

    Raises `ServersNotWritten` for the command line, which has no file.
    """
    own = workspace / ".caliban"
    match scope:
        case "managed":
            files: tuple[Path, ...] = (managed_dir / "managed-settings.toml",)
            return ServerStore(scope=scope, files=files)
        case "user":
            return ServerStore(scope=scope, files=(config_dir / "settings.toml", config_dir / "mcp.toml"))
        case "project":
            files = (workspace / ".mcp.json", own / "settings.toml", own / "mcp.toml")
            return ServerStore(scope=scope, files=files, workspace=workspace)
        case "local":
            return ServerStore(scope=scope, files=(own / "settings.local.toml",), workspace=workspace)
        case "cli":
            raise ServersNotWritten(
                "servers of the command line stand in no file", hint="say them with each run"
            )
