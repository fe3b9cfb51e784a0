"""`caliban mcp import`: servers of other programs, taken over into settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from caliban.cli.invocation import Invocation
from caliban.cli.tables.mcp import SOURCES
from caliban.commands.mcp.change import DEFAULT_SCOPE, IN_WORKSPACE, check_server, store_of
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, MissingError
from caliban.stdio import complain, print_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.near import did_you_mean
from caliban_common.paths import expand_user, home
from caliban_common.terminal import visible
from caliban_common.text import one_line
from caliban_settings.edit.servers import server_toml
from caliban_settings.errors import ServersNotWritten
from caliban_settings.parse import parse
from caliban_settings.server_files import servers_of

MAX_BYTES: Final = 32 << 20
_DESKTOP: Final[Mapping[str, str]] = {
    "darwin": "Library/Application Support/Claude/claude_desktop_config.json",
    "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
}
_CODE: Final[Mapping[str, str]] = {
    "darwin": "Library/Application Support/Code/User/mcp.json",
    "win32": "AppData/Roaming/Code/User/mcp.json",
}
_INPUT: Final = "${input:"


def import_servers(invocation: Invocation) -> int:
    """Write the servers of a source that are not there yet; 1 where one could not be taken.

    Raises `MissingError`, `CommandRefused`.
    """
    values = invocation.values
    workspace = build_workspace(invocation.options.workspace.workspace)
    found = _found(values["source"], workspace)
    wanted = values["names"] or sorted(found)
    for name in wanted:
        if name not in found:
            raise MissingError(
                f"there is no server {one_line(name, max_chars=80)!r} in it",
                hint=did_you_mean(name, found) or None,
            )
    if not wanted:
        raise MissingError(f"there are no MCP servers in {values['source']}")
    scope = values["scope"] or DEFAULT_SCOPE
    store = store_of(invocation, scope)
    failed = False
    for name in wanted:
        table = found[name]
        try:
            check_server(name, table)
            if values["dry_run"]:
                print_text(visible(server_toml(name, table)))
                continue
            path = store.add(name, table, replaces=values["replace"])
        except CalibanError as error:
            failed = True
            hint = " (--replace writes over it)" if isinstance(error, ServersNotWritten) else ""
            first = error.message.partition("\n")[0]
            complain(f"caliban: the server {one_line(name, max_chars=80)!r} is not taken: {first}{hint}\n")
            continue
        complain(f"caliban: the MCP server {name} is written to {path}\n")
        for note in _notes(table):
            complain(f"caliban: note: {name}: {note}\n")
    if scope in IN_WORKSPACE and not values["dry_run"]:
        complain("caliban: they lie in the workspace, and count once that is trusted: caliban trust add\n")
    return int(failed)


def _found(source: str, workspace: Path) -> dict[str, dict[str, Any]]:
    """The servers of a source in our own words. Raises `MissingError`, `CommandRefused`."""
    paths = _places(source, workspace) if source in SOURCES else (expand_user(source),)
    there = [path for path in paths if path.is_file()]
    if not there:
        named = ", ".join(map(str, paths))
        hint = did_you_mean(source, SOURCES) or f"SOURCE is one of {', '.join(SOURCES)}, or a file"
        raise MissingError(f"there is no file {named}", hint=None if source in SOURCES else hint)
    servers: dict[str, dict[str, Any]] = {}
    for path in there:
        try:
            raw = read_regular(path, max_bytes=MAX_BYTES)
            data = parse(
                _without_comments(raw) if path.suffix != ".toml" else raw,
                name=str(path),
                toml=path.suffix == ".toml",
            )[0]
        except CalibanError as error:
            raise CommandRefused(error.message, hint=error.hint) from error
        for name, table in _tables(data, workspace):
            servers.setdefault(name, table)
    return servers


def _places(source: str, workspace: Path) -> tuple[Path, ...]:
    base = home()
    match source:
        case "claude-code":
            return (base / ".claude.json", workspace / ".mcp.json")
        case "claude-desktop":
            return (base / _DESKTOP.get(sys.platform, ".config/Claude/claude_desktop_config.json"),)
        case "codex":
            return (base / ".codex" / "config.toml",)
        case _:
            return (
                workspace / ".vscode" / "mcp.json",
                base / _CODE.get(sys.platform, ".config/Code/User/mcp.json"),
            )


def _tables(data: Mapping[str, Any], workspace: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every server that a file of one of these programs has, those for this project first."""
    projects = data.get("projects")
    project = projects.get(str(workspace)) if isinstance(projects, Mapping) else None
    mcp = data.get("mcp")
    holders = (
        project.get("mcpServers") if isinstance(project, Mapping) else None,
        data.get("mcpServers"),
        data.get("mcp_servers"),
        data.get("servers"),
        mcp.get("servers") if isinstance(mcp, Mapping) else None,
    )
    for holder in holders:
        if isinstance(holder, Mapping):
            for name, table in holder.items():
                if isinstance(table, Mapping):
                    yield name, _renamed(table)


def _renamed(table: Mapping[str, Any]) -> dict[str, Any]:
    """A server in our own words, with what only another program knows left out."""
    codex = {"bearer_token_env_var": "bearer_token_env", "startup_timeout_sec": "start_timeout_s"}
    codex |= {"tool_timeout_sec": "tool_timeout_s", "http_headers": "headers"}
    other = (
        "dev",
        "gallery",
        "envFile",
        "sandbox",
        "sandboxEnabled",
        "env_vars",
        "env_http_headers",
        "scopes",
    )
    ours = servers_of({codex.get(name, name): value for name, value in table.items() if name not in other})
    env_headers = table.get("env_http_headers")
    if isinstance(env_headers, Mapping):
        more = {name: f"${{{variable}}}" for name, variable in env_headers.items()}
        ours["headers"] = {**(ours.get("headers") or {}), **more}
    return {name: _with_variables(value) for name, value in ours.items()}


def _with_variables(value: Any) -> Any:
    """`value` with the variables of an editor as ours are written."""
    if isinstance(value, str):
        return value.replace("${env:", "${").replace("${workspaceFolder}", "${CLAUDE_PROJECT_DIR}")
    if isinstance(value, list):
        return [_with_variables(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _with_variables(one) for name, one in value.items()}
    return value


def _notes(table: Mapping[str, Any]) -> Iterator[str]:
    if _INPUT in str(table):
        yield "nobody fills in its ${input:…} here: write ${NAME} of a variable instead"


def _without_comments(raw: bytes) -> bytes:
    """JSON as editors write it: without comments and without commas before a closing bracket."""
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    out: list[str] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char == '"':
            stop = at + 1
            while stop < end and text[stop] != '"':
                stop += 2 if text[stop] == "\\" else 1
            out.append(text[at : stop + 1])
            at = stop + 1
        elif text.startswith("//", at):
            stop = text.find("\n", at)
            at = end if stop < 0 else stop
        elif text.startswith("/*", at):
            stop = text.find("*/", at)
            skipped = text[at : end if stop < 0 else stop + 2]
            out.append("\n" * skipped.count("\n"))
            at += len(skipped)
        elif char == ",":
            rest = at + 1
            while rest < end and text[rest].isspace():
                rest += 1
            if rest >= end or text[rest] not in "]}":
                out.append(char)
            at += 1
        else:
            out.append(char)
            at += 1
    return "".join(out).encode("utf-8", "surrogateescape")
