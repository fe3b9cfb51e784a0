"""The MCP servers of one scope as they are kept: in which file, and how that is changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_settings.edit.servers import SHARED, TABLE, with_server, with_switch, without_server
from caliban_settings.edit.store import EVERYBODY_READS, OWNERS_ONLY, _locked
from caliban_settings.errors import RulesNotWritten, ServersNotWritten, SettingsError
from caliban_settings.key import Scope
from caliban_settings.parse import MAX_BYTES, parse
from caliban_settings.source import refuse_foreign_policy


class ServerStore(Struct, frozen=True, kw_only=True):
    """The servers of one scope. `files` are those that may hold some, the one for new servers first.

    `workspace` bounds the links of its own scopes.
    """

    scope: Scope
    files: tuple[Path, ...]
    workspace: Path | None = None

    def holder(self, name: str) -> Path | None:
        """The file with a server of this name. Raises `SettingsError` for one that cannot be read."""
        return next((path for path in self.files if name in self._servers(path)), None)

    def table(self, name: str) -> Mapping[str, Any] | None:
        """The entry of this name as it is written. Raises `SettingsError`."""
        path = self.holder(name)
        return None if path is None else self._servers(path)[name]

    def add(self, name: str, table: Mapping[str, Any], *, replaces: bool = False) -> Path:
        """Write a server; where it is now. Raises `ServersNotWritten`, `SettingsError`."""
        holder = self.holder(name)
        if holder is not None and not replaces:
            raise ServersNotWritten(f"there is a server {name!r} in {holder} already")
        target = holder or self._target()
        toml = target.suffix == ".toml"

        def change(text: str) -> str:
            without = without_server(text, name, toml=toml) if holder is not None else text
            return with_server(without, name, table, toml=toml)

        self._rewrite(target, change)
        return target

    def remove(self, name: str) -> Path:
        """Take a server out; where it was. Raises `ServersNotWritten`, `SettingsError`."""
        path = self._held(name)
        self._rewrite(path, lambda text: without_server(text, name, toml=path.suffix == ".toml"))
        return path

    def switch(self, name: str, *, disabled: bool) -> Path:
        """Switch a server off or on; where that stands. Raises `ServersNotWritten`, `SettingsError`."""
        path = self.holder(name) or self._target()
        toml = path.suffix == ".toml"
        self._rewrite(path, lambda text: with_switch(text, name, disabled=disabled, toml=toml))
        return path

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
        data = parse(self._bytes(path), name=str(path), toml=path.suffix == ".toml")[0]
        tables = data.get(TABLE if path.suffix == ".toml" else SHARED, {})
        return tables if isinstance(tables, dict) else {}

    def _bytes(self, path: Path) -> bytes:
        if self.scope == "managed":
            refuse_foreign_policy(path)
        try:
            return read_regular(path, max_bytes=MAX_BYTES)
        except CalibanError as error:
            raise SettingsError(error.message, hint=error.hint) from error

    def _rewrite(self, path: Path, change: Callable[[str], str]) -> None:
        try:
            ensure_private_dir(path.parent)
            real = self._real(path)
            with _locked(real.with_name(f".{real.name}.lock")):
                exists = real.exists()
                raw = self._bytes(real) if exists else b""
                parse(raw, name=str(path), toml=path.suffix == ".toml")
                changed = change(raw.decode().removeprefix("\ufeff")).encode()
                if len(changed) > MAX_BYTES:
                    raise ServersNotWritten(f"{path} would have more than {MAX_BYTES:,} bytes")
                shared = self.scope in ("managed", "project")
                write_atomic(
                    real, changed, mode=None if exists else EVERYBODY_READS if shared else OWNERS_ONLY
                )
        except RulesNotWritten as error:
            raise ServersNotWritten(error.message, hint=error.hint) from error
        except SettingsError:
            raise
        except CalibanError as error:
            raise ServersNotWritten(error.message, hint=error.hint) from error

    def _real(self, path: Path) -> Path:
        real = Path(os.path.realpath(path))
        if self.workspace is not None and not real.is_relative_to(os.path.realpath(self.workspace)):
            raise ServersNotWritten(
                f"{path} is a link that leads out of the workspace: {real} is not written"
            )
        return real


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
