"""MCP servers as other harnesses write them: `{"mcpServers": {NAME: {...}}}`, read as our own settings.

A file of a project is shared with other programs, which may know more: what cannot be used of it is named and
left out, and costs nobody the rest. What a person names on the command line is an error instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from caliban_common.paths import expand_user
from caliban_common.text import one_line
from caliban_settings.errors import SettingsError
from caliban_settings.key import Scope
from caliban_settings.leaves import Node, read_leaves
from caliban_settings.parse import kind_of, parse
from caliban_settings.server_names import server_name
from caliban_settings.source import INLINE_SERVERS, Source, read_file

MEMBER: Final = "mcpServers"
_TYPES: Final[Mapping[str, str]] = {
    "local": "stdio",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "remote": "http",
}
_OTHER: Final[Mapping[str, str]] = {"command": "url", "url": "command"}
MAX_SERVERS: Final = 256


def read_project_servers(workspace: Path, tree: Node) -> Source | None:
    """The servers of `.mcp.json` in `workspace`; `None` where there is none. What is wrong is a warning.

    One whose name no server of ours has is called as `server_name` says.
    """
    path = workspace / ".mcp.json"
    try:
        given = read_file(path, "project", parsed=False)
        if given is None:
            return None
        source = _as_servers(_parsed(given))
    except SettingsError as error:
        return _empty(path, f"{error.message}; its servers are left out")
    kept: dict[str, Any] = {}
    warnings: list[str] = []
    for written, table in source.data["mcp_servers"].items():
        name = server_name(written) or written
        if name in kept or (name != written and name in source.data["mcp_servers"]):
            shown = one_line(written, max_chars=80)
            warnings.append(f"{path}: the server {shown!r} is left out: another one is called {name} here")
            continue
        one = _with_data(source, {"mcp_servers": {name: table}})
        try:
            read_leaves(one, tree)
        except SettingsError as error:
            first = error.message.partition("\n")[0]
            warnings.append(f"{first}; the server {one_line(name, max_chars=80)} is left out")
            continue
        kept[name] = table
    return _with_data(source, {"mcp_servers": kept} if kept else {}, (*source.warnings, *warnings))


def read_given_servers(text: str) -> Source:
    """The servers of the command line: a JSON object, or the path of a file. Raises `SettingsError`."""
    if text.lstrip().startswith("{"):
        data, plain = parse(text, name=INLINE_SERVERS, toml=False)
        given = Source(scope="cli", path=None, name=INLINE_SERVERS, data=data, text=plain, toml=False)
        return _as_servers(given)
    path = expand_user(text)
    source = read_file(path, "cli", parsed=False)
    if source is None:
        raise SettingsError(f"{INLINE_SERVERS}: there is no file {path}")
    return _as_servers(_parsed(source))


def servers_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """One server of another harness in our own words; what is unknown stays as it is."""
    ours: dict[str, Any] = {}
    for name, value in table.items():
        match name:
            case "type" | "transport" if isinstance(value, str):
                ours["type"] = _TYPES.get(value, value)
            case "timeout" if isinstance(value, int | float) and not isinstance(value, bool):
                ours["tool_timeout_s"] = value / 1000
            case "enabled" if isinstance(value, bool):
                ours["disabled"] = not value
            case "alwaysLoad" if isinstance(value, bool):
                ours["lazy"] = not value
            case "serverUrl" | "httpUrl" if "url" not in table:
                ours["url"] = value
            case "oauth" if isinstance(value, dict):
                ours["oauth_config"] = value
            case "env" | "headers" | "args" if value is None:
                continue
            case "command" | "url" if value in ("", None) and table.get(_OTHER[name]):
                continue  # a form of another program leaves the field that does not apply empty
            case "name" | "instance" if table.get("type") == "sdk":
                continue  # it is called by its key
            case _:
                ours[name] = value
    if "type" not in ours and "url" in ours and "command" not in ours:
        ours["type"] = "http"
    return ours


def _parsed(given: Source) -> Source:
    data, text = parse(given.text.encode("utf-8", "surrogateescape"), name=given.name, toml=given.toml)
    return _with_data(given, data, text=text)


def _as_servers(source: Source) -> Source:
    """`source` with its servers under the name that they have in settings. Raises `SettingsError`."""
    if source.toml:  # the one file of ours that may stand here
        tables = source.data.get("mcp_servers", {})
    else:
        tables = source.data.get(MEMBER, source.data.get("mcp_servers"))
        if tables is None:
            if source.data:
                raise SettingsError(f"{source.name}: there is no `{MEMBER}` in it")
            tables = {}
    if not isinstance(tables, dict):
        raise SettingsError(f"{source.name}: `{MEMBER}` must be a table, got {kind_of(tables)}")
    if len(tables) > MAX_SERVERS:
        raise SettingsError(f"{source.name}: there are more than {MAX_SERVERS} servers in it")
    ours = {
        name: servers_of(table) if isinstance(table, dict) and not source.toml else table
        for name, table in tables.items()
    }
    text = source.text.replace(f'"{MEMBER}"', '"mcp_servers"', 1)
    return _with_data(source, {"mcp_servers": ours}, text=text)


def _empty(path: Path, warning: str) -> Source:
    scope: Scope = "project"
    return Source(scope=scope, path=path, name=str(path), data={}, text="", toml=False, warnings=(warning,))


def _with_data(
    source: Source,
    data: dict[str, Any],
    warnings: tuple[str, ...] | None = None,
    *,
    text: str | None = None,
) -> Source:
    return Source(
        scope=source.scope,
        path=source.path,
        name=source.name,
        data=data,
        text=source.text if text is None else text,
        toml=source.toml,
        warnings=source.warnings if warnings is None else warnings,
    )
