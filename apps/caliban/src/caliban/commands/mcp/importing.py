"""`caliban mcp import`: servers of other programs, taken over into settings."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from caliban.cli.invocation import Invocation
from caliban.cli.tables.mcp import SOURCES
from caliban.commands.mcp.change import DEFAULT_SCOPE, IN_WORKSPACE, check_server, store_of
from caliban.commands.mcp.taken import taken_over
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, MissingError
from caliban.stdio import complain, print_text
from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.near import did_you_mean
from caliban_common.paths import expand_user, home
from caliban_common.terminal import visible
from caliban_common.text import one_line
from caliban_settings.edit.servers import server_toml
from caliban_settings.edit.serverstore import ServerStore
from caliban_settings.errors import ServersNotWritten
from caliban_settings.parse import kind_of, parse

MAX_BYTES: Final = 32 << 20
_DESKTOP: Final[Mapping[str, str]] = {
    "darwin": "Library/Application Support/Claude/claude_desktop_config.json",
    "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
}
_CODE: Final[Mapping[str, str]] = {
    "darwin": "Library/Application Support/Code/User/mcp.json",
    "win32": "AppData/Roaming/Code/User/mcp.json",
}


def import_servers(invocation: Invocation) -> int:
    """Write the servers of a source that are not there yet; 1 where one could not be taken.

    Raises `MissingError`, `CommandRefused`.
    """
    values = invocation.values
    workspace = build_workspace(invocation.options.workspace.workspace)
    servers, is_whole = _found(values["source"], workspace)
    wanted = values["names"] or sorted(servers)
    for name in wanted:
        if name not in servers:
            shown = one_line(name, max_chars=80)
            hint = (
                did_you_mean(name, servers) or f"there are: {', '.join(sorted(servers))}" if servers else None
            )
            raise MissingError(f"there is no server {shown!r} in {values['source']}", hint=hint)
    if not wanted and is_whole:
        raise MissingError(
            f"there are no MCP servers in {values['source']}",
            hint="they stand in a table mcpServers, mcp_servers or servers",
        )
    scope = values["scope"] or DEFAULT_SCOPE
    store = store_of(invocation, scope)
    done = [_take(store, name, servers[name], invocation.values) for name in wanted]
    if scope in IN_WORKSPACE and not values["dry_run"]:
        complain("caliban: they lie in the workspace, and count once that is trusted: caliban trust add\n")
    return int(not is_whole or not all(done))


def _take(store: ServerStore, name: str, table: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Write one server; False, and said why, where that cannot be."""
    shown = one_line(name, max_chars=80)
    try:
        plain = parse(json.dumps(table), name=f"the server {shown!r}", toml=False)[0]
        taken = taken_over(name, plain)
        check_server(taken.name, taken.table)
        if values["dry_run"]:
            print_text(visible(server_toml(taken.name, taken.table)))
        else:
            path = store.add(taken.name, taken.table, replaces=values["replace"])
            complain(f"caliban: the MCP server {taken.name} is written to {path}\n")
    except CalibanError as error:
        hint = " (--replace writes over it)" if isinstance(error, ServersNotWritten) else ""
        first = error.message.partition("\n")[0].removeprefix(f"the server {shown!r} ")
        first = first if first == error.message.partition("\n")[0] else f"it {first}"
        complain(f"caliban: the server {shown!r} is not taken: {first}{hint}\n")
        return False
    for note in taken.notes:
        complain(f"caliban: note: {taken.name}: {note}\n")
    return True


def _found(source: str, workspace: Path) -> tuple[dict[str, dict[str, Any]], bool]:
    """The servers of a source as they are written, and whether every file of it could be read.

    Raises `MissingError`, and `CommandRefused` where no file could.
    """
    paths = _places(source, workspace) if source in SOURCES else (expand_user(source),)
    there = [path for path in paths if path.is_file()]
    if not there:
        named = ", ".join(map(str, paths))
        hint = did_you_mean(source, SOURCES) or f"SOURCE is one of {', '.join(SOURCES)}, or a file"
        raise MissingError(f"there is no file {named}", hint=None if source in SOURCES else hint)
    servers: dict[str, dict[str, Any]] = {}
    errors: list[CalibanError] = []
    for path in there:
        try:
            data = _read(path)
        except CalibanError as error:
            errors.append(error)
            continue
        for name, table in _tables(data, workspace):
            servers.setdefault(name, table)
    if errors and len(errors) == len(there):
        raise CommandRefused(errors[0].message, hint=errors[0].hint) from errors[0]
    for problem in errors:
        complain(f"caliban: {problem.message}; its servers are left out\n")
    return servers, not errors


def _read(path: Path) -> Mapping[str, Any]:
    """What a file of another program says, of whom nothing but its servers has to be sound.

    Raises `CalibanError`.
    """
    raw = read_regular(path, max_bytes=MAX_BYTES)
    if path.suffix == ".toml":
        return parse(raw, name=str(path), toml=True)[0]
    try:
        data = json.loads(_without_comments(decode_text(raw)) or "{}")
    except (ValueError, RecursionError) as error:
        raise CommandRefused(f"{path}: no JSON: {one_line(str(error), max_chars=200)}") from error
    except CalibanError as error:
        raise CommandRefused(f"{path}: {error.message}", hint=error.hint) from error
    if not isinstance(data, dict):
        raise CommandRefused(f"{path}: it must be a JSON object, not {kind_of(data)}")
    return data


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
                    yield name, dict(table)


def _without_comments(text: str) -> str:
    """JSON as editors write it: without comments and without commas before a closing bracket."""
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
    return "".join(out)
