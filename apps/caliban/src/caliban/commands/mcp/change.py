"""`caliban mcp add`, `add-json`, `remove`, `enable` and `disable`: servers in the files of settings."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from caliban.cli.invocation import Invocation
from caliban.commands.mcp.list import ListedServers
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, MissingError, UsageError
from caliban.stdio import complain
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_common.text import one_line
from caliban_mcp.config import fetched_package, is_address
from caliban_mcp.entry import entry_problem
from caliban_mcp.names import name_problem
from caliban_settings import Scope
from caliban_settings.edit.serverstore import ServerStore, server_store
from caliban_settings.errors import ServersNotWritten, SettingsError
from caliban_settings.leaves import read_leaves, schema_tree
from caliban_settings.parse import parse
from caliban_settings.schema import SCHEMA
from caliban_settings.server_files import servers_of
from caliban_settings.source import Source

SCOPES: Final = ("user", "project", "local", "managed")
DEFAULT_SCOPE: Final = "user"
IN_WORKSPACE: Final = ("project", "local")


def add(invocation: Invocation) -> int:
    """Write a server that is given by words. Raises `UsageError`, `CommandRefused`."""
    values = invocation.values
    words = list(values["words"] or ())
    if not words:
        raise UsageError(
            "mcp add names no command and no URL", hint="caliban mcp add NAME -- COMMAND, or NAME URL"
        )
    kind = values["transport"] or ("http" if words[0].startswith(("http://", "https://")) else "stdio")
    table: dict[str, Any] = {} if kind == "stdio" else {"type": kind}
    if kind == "stdio":
        table["command"], *args = words
        if args:
            table["args"] = args
        if values["header"]:
            raise UsageError("--header is for servers with a URL", hint="--env gives a program its variables")
    else:
        if len(words) > 1:
            raise UsageError(f"a server with a URL takes no arguments: {one_line(words[1], max_chars=80)}")
        if values["env"]:
            raise UsageError(
                "--env is for servers that are programs", hint="--header gives an address its headers"
            )
        table["url"] = words[0]
    env = _pairs(values["env"], "=", "--env")
    headers = _pairs(values["header"], ":", "--header")
    table |= ({"env": env} if env else {}) | ({"headers": headers} if headers else {})
    return write_server(invocation, values["name"], table)


def add_json(invocation: Invocation) -> int:
    """Write a server that is given as JSON. Raises `UsageError`, `CommandRefused`."""
    values = invocation.values
    try:
        data, _ = parse(values["text"], name="the JSON of mcp add-json", toml=False)
    except SettingsError as error:
        raise UsageError(error.message, hint=error.hint) from None
    return write_server(invocation, values["name"], servers_of(data))


def remove(invocation: Invocation) -> int:
    """Take a server out. Raises `MissingError`, `CommandRefused`."""
    name = invocation.values["name"]
    path = _only(invocation, name).remove(name)
    complain(f"caliban: the MCP server {name} is taken out of {path}\n")
    return 0


def enable(invocation: Invocation) -> int:
    """Switch a server on. Raises `MissingError`, `CommandRefused`."""
    return _switch(invocation, disabled=False)


def disable(invocation: Invocation) -> int:
    """Switch a server off. Raises `MissingError`, `CommandRefused`."""
    return _switch(invocation, disabled=True)


def write_server(invocation: Invocation, name: str, table: Mapping[str, Any]) -> int:
    """Check a server and write it; what its scope means is told. Raises `UsageError`, `CommandRefused`."""
    scope = invocation.values["scope"] or DEFAULT_SCOPE
    check_server(name, table)
    store = store_of(invocation, scope)
    try:
        path = store.add(name, table, replaces=invocation.values["replace"])
    except ServersNotWritten as error:
        hint = "--replace writes over it" if "already" in error.message else error.hint
        raise CommandRefused(error.message, hint=hint) from error
    complain(f"caliban: the MCP server {name} is written to {path}\n")
    fetched = fetched_package(str(table.get("command", "")), tuple(map(str, table.get("args") or ())))
    if fetched is not None:
        complain(f"caliban: note: {fetched}\n")
    for note in _doubts(table):
        complain(f"caliban: note: {note}\n")
    if scope in IN_WORKSPACE:
        complain("caliban: it lies in the workspace, and counts once that is trusted: caliban trust add\n")
    return 0


def _doubts(table: Mapping[str, Any]) -> Iterator[str]:
    """What is probably not meant so, and can be all the same: the program may come later."""
    command = str(table.get("command", ""))
    if not command or "$" in command or shutil.which(command) is not None:
        return
    shown = one_line(command, max_chars=80)
    if re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?(/.*)?", command) and not table.get("args"):
        yield f"{shown} is taken for a program; an address begins with https://"
    elif re.search(r"\s", command):
        yield f"there is no program {shown}: its arguments stand in words of their own"
    elif "/" not in command and "\\" not in command:
        yield f"there is no program {shown} on the PATH yet"


def check_server(name: str, table: Mapping[str, Any]) -> None:
    """Raises `UsageError` for a server that no run could use."""
    shown = one_line(name, max_chars=80)
    problem = name_problem(name)
    if problem is not None:
        raise UsageError(f"{shown!r} is no name for a server: {problem}")
    if not ("command" in table or "url" in table):
        raise UsageError(f"the server {shown!r} has neither a command nor a url")
    unusable = entry_problem(table)
    if unusable is not None:
        raise UsageError(f"the server {shown!r} {unusable}")
    url = table.get("url")
    if isinstance(url, str) and "$" not in url and not is_address(url):
        raise UsageError(
            f"the url of the server {shown!r} is no http or https address: {one_line(url, max_chars=80)}",
            hint="write it as https://HOST/PATH; ${VARIABLE} may stand in it",
        )
    data = {"mcp_servers": {name: dict(table)}}
    source = Source(scope="cli", path=None, name="the server", data=data, text="", toml=False)
    read_leaves(source, schema_tree(SCHEMA))


def store_of(invocation: Invocation, scope: str) -> ServerStore:
    """The servers of a scope."""
    return server_store(
        cast(Scope, scope),
        workspace=build_workspace(invocation.options.workspace.workspace),
        config_dir=config_dir(),
        managed_dir=managed_settings_dir(),
    )


def _only(invocation: Invocation, name: str) -> ServerStore:
    """The scope that is named, or the only one that has the server. Raises `MissingError`, `UsageError`."""
    scope = invocation.values["scope"]
    if scope is not None:
        store = store_of(invocation, scope)
        if store.holder(name) is None:
            raise MissingError(
                f"no file of the scope {scope} has an MCP server {one_line(name, max_chars=80)!r}"
            )
        return store
    holding = [
        store for store in (store_of(invocation, each) for each in SCOPES) if store.holder(name) is not None
    ]
    if not holding:
        raise MissingError(
            f"no file has an MCP server {one_line(name, max_chars=80)!r}",
            hint="caliban mcp list shows those that there are",
        )
    if len(holding) > 1:
        scopes = ", ".join(store.scope for store in holding)
        raise UsageError(f"several scopes have the MCP server {name}: {scopes}", hint="--scope names one")
    return holding[0]


def _switch(invocation: Invocation, *, disabled: bool) -> int:
    name, scope = invocation.values["name"], invocation.values["scope"]
    if disabled and scope is None and ":" in name:
        ListedServers(invocation.options).find(name)  # that of a plugin is in no file
        scope = DEFAULT_SCOPE
    store = store_of(invocation, scope) if disabled and scope is not None else _only(invocation, name)
    try:
        path: Path = store.switch(name, disabled=disabled)
    except ServersNotWritten as error:
        raise CommandRefused(error.message, hint=error.hint) from error
    complain(f"caliban: the MCP server {name} is {'disabled' if disabled else 'enabled'} in {path}\n")
    return 0


def _pairs(texts: Sequence[str] | None, mark: str, flag: str) -> dict[str, str]:
    """Names and values of a flag that may stand there more than once. Raises `UsageError`."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, has_mark, value = text.partition(mark)
        name = name.strip()
        if not has_mark or not name:
            raise UsageError(f"{flag} takes NAME{mark}VALUE")
        known = pairs if mark == "=" else {other.lower() for other in pairs}  # a header's name has no case
        if (name if mark == "=" else name.lower()) in known:
            raise UsageError(f"{flag} names {one_line(name, max_chars=60)} twice")
        pairs[name] = value.strip() if mark == ":" else value
    return pairs
