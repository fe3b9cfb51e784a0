"""`caliban mcp list` and `get`: the servers that settings and plugins name. None is started or asked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.compose.host import this_host
from caliban.compose.permissions import build_permissions
from caliban.compose.plugins.run import with_plugins
from caliban.compose.project import Project, open_project
from caliban.compose.servers.build import ServerInputs, build_connector, pins_dir, unusable
from caliban.compose.servers.logins import login_state
from caliban.compose.servers.written import TABLE, WrittenServers, written_servers
from caliban.compose.workspace import build_workspace
from caliban.errors import MissingError
from caliban.stdio import complain, print_lines, print_text
from caliban_common.codec import dumps
from caliban_common.paths import cache_dir
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_drive.notice import Notice
from caliban_mcp import ListCache, PinStore, PinsUnusable, ServerConfig
from caliban_mcp.config import download_words
from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp_client.target import HttpTarget
from caliban_permissions.audit.redact import redacted
from caliban_process.environ import SECRET_NAMES, SECRET_VALUES

HIDDEN: Final = "[secret]"
_NAMES: Final = rf"(?i)({'|'.join(SECRET_NAMES)})|authorization"
_VARIABLE: Final = r"\$\{[^}]*\}"


class ListedServers:
    """The servers of a project and of the person, and what a run would make of each."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.workspace: Path = build_workspace(options.workspace.workspace)
        self.told: list[str] = []
        self.project: Project = with_plugins(
            open_project(options.settings, self.workspace),
            options,
            self.workspace,
            os.environ,
            lambda notice: self.told.append(notice.message),
        )
        self.written: WrittenServers = written_servers(
            self.project.settings, () if options.settings.strict_mcp_config else self.project.plugins
        )
        settings = self.project.settings
        self._permissions = build_permissions(
            options.permissions, settings, self.workspace, trusted=self.project.trust.counts
        )

    def inputs(self) -> ServerInputs:
        """What runs start servers from; notices are dropped."""
        return ServerInputs(
            options=self.options,
            settings=self.project.settings,
            workspace=self.workspace,
            host=this_host(),
            permissions=self._permissions,
            report=_quiet,
            plugins=self.project.plugins,
        )

    def state(self, config: ServerConfig) -> str:
        """Why a run would not use a server; empty where it would."""
        if config.disabled:
            return "disabled"
        return unusable(config, self.inputs()) or ""

    def waiting(self) -> dict[str, tuple[str, str]]:
        """Servers that are withheld, some until the project is trusted: where they are written, and why."""
        withheld: dict[str, tuple[str, str]] = {}
        for item in self.project.settings.withheld:
            parts = item.key.split(".")
            if parts[0] == TABLE and len(parts) > 2 and self.written.find(parts[1]) is None:
                why = "waits for trust: caliban trust add" if item.waits else item.reason
                withheld.setdefault(parts[1], (str(item.path or ""), why))
        return withheld

    def find(self, name: str) -> ServerConfig:
        """The server of this name. Raises `MissingError`."""
        config = self.written.find(name)
        if config is not None:
            return config
        waiting = self.waiting().get(name)
        shown = one_line(name, max_chars=80)
        if waiting is not None:
            raise MissingError(f"the MCP server {shown!r} ({waiting[0]}) {waiting[1]}")
        hint = self.written.meant(name) or "caliban mcp list shows those that there are"
        raise MissingError(f"there is no MCP server {shown!r}", hint=hint)

    def warn(self) -> None:
        """Say what is wrong with settings, on standard error."""
        for problem in (*self.project.settings.warnings, *self.told, *self.written.problems):
            complain(f"caliban: {problem}\n")


def list_servers(invocation: Invocation) -> int:
    """Print every server; what is wrong with entries is told on standard error."""
    listed = ListedServers(invocation.options)
    rows = [*_rows(listed)]
    listed.warn()
    if invocation.values["json"]:
        lines = [dumps(row).decode() for row in rows]
    else:
        lines = [_line(row) for row in rows] or ["no MCP servers: caliban mcp add writes one"]
    return print_lines(lines)


def show_server(invocation: Invocation) -> int:
    """Print one server, and what is remembered of its tools. Raises `MissingError`."""
    listed = ListedServers(invocation.options)
    config = listed.find(invocation.values["name"])
    row = whole_row(listed, config)
    if invocation.values["json"]:
        return print_text(f"{dumps(row).decode()}\n")
    return print_text(visible("".join(f"{line}\n" for line in described(config, row))))


def whole_row(listed: ListedServers, config: ServerConfig) -> dict[str, Any]:
    """Everything known about one server, without secrets."""
    return server_facts(listed, config) | {
        "env": {name: shown_value(name, text) for name, text in config.env.items()},
        "headers": {name: shown_value(name, text) for name, text in config.headers.items()},
        "headers_helper": None if config.headers_helper is None else shown_argument(config.headers_helper),
        "oauth_config": {
            name: shown_value(name, text) if isinstance(text, str) else text
            for name, text in config.oauth_config.items()
        },
        "tools": list(tools_of(listed, config)),
    }


def shown_value(name: str, text: str) -> str:
    """A value as a person may see it: what names a variable stays, what may be a secret does not."""
    rest = re.sub(_VARIABLE, "", text)
    rest = re.sub(r"(?i)^\s*(bearer|basic|token)\s*", "", rest).strip()
    if not rest:
        return text
    is_secret = re.search(_NAMES, name) is not None or re.search("|".join(SECRET_VALUES), text) is not None
    return HIDDEN if is_secret else text


def _rows(listed: ListedServers) -> Iterator[dict[str, Any]]:
    for config in listed.written.configs:
        yield server_facts(listed, config)
    for name, (place, why) in sorted(listed.waiting().items()):
        yield {
            "name": name,
            "scope": "project",
            "kind": "",
            "target": "",
            "state": why,
            "place": place,
            "tools": None,
            "login": "",
        }


def server_facts(listed: ListedServers, config: ServerConfig) -> dict[str, Any]:
    """What a list shows of one server."""
    entry = ListCache(cache_dir() / "mcp").load(build_connector(listed.inputs()).key(config))
    known = None if entry is None or entry.info is None else len(entry.tools)
    words = shown_words((config.command, *config.args))
    return {
        "name": config.name,
        "scope": config.scope,
        "kind": config.kind,
        "target": " ".join(words) if config.kind == "stdio" else shown_argument(config.url),
        "state": listed.state(config),
        "place": config.place,
        "tools": known,
        "login": login_of_row(listed, config),
    }


def login_of_row(listed: ListedServers, config: ServerConfig) -> str:
    """The state of the login to a server; empty where it needs none."""
    if not config.may_log_in:
        return ""
    try:
        target = build_connector(listed.inputs()).target(config)
    except ServerMisconfigured:
        return ""
    return login_state(config, target.url) if isinstance(target, HttpTarget) else ""


def shown_words(words: Sequence[str]) -> list[str]:
    """A command without what looks like a secret, also where its option stands in the word before."""
    before = ("", *words)
    return [
        shown_value(flag, word) if flag[:1] == "-" and "=" not in flag else shown_argument(word)
        for flag, word in zip(before, map(shown_argument, words), strict=False)
    ]


def shown_argument(word: str) -> str:
    """A word of a command, or an address, without what looks like a secret."""
    return redacted(re.sub(rf"({'|'.join(SECRET_VALUES)})[^\s\"']*", HIDDEN, word))


def tools_of(listed: ListedServers, config: ServerConfig) -> Iterator[dict[str, str]]:
    """The tools that the server had last, and what is known of each."""
    entry = ListCache(cache_dir() / "mcp").load(build_connector(listed.inputs()).key(config))
    if entry is None or entry.info is None:
        return
    try:
        pins = PinStore(pins_dir()).load(config.identity)
    except PinsUnusable:
        pins = None
    for tool in entry.tools:
        state = "waits for review" if pins is not None and tool.name in pins.seen else ""
        state = state if config.takes(tool.name) else "not enabled"
        yield {"name": tool.name, "state": state, "description": tool.description}


def described(config: ServerConfig, row: Mapping[str, Any]) -> Iterator[str]:
    """One server in lines."""
    yield f"{config.name} ({config.scope}{f', {config.place}' if config.place else ''})"
    yield f"  {config.kind}: {row['target']}"
    fetched = download_words(config)
    if fetched is not None:
        yield f"  note: {fetched}"
    if row["state"]:
        yield f"  {row['state']}"
    if row["login"]:
        yield f"  {one_line(row['login'], max_chars=300)}"
    for what in ("env", "headers"):
        for name, text in row[what].items():
            yield f"  {what}: {name} = {one_line(text, max_chars=200)}"
    if row["headers_helper"]:
        yield f"  headers by: {one_line(row['headers_helper'], max_chars=300)}"
    if row["oauth_config"]:
        yield f"  logs in with {one_line(dumps(row['oauth_config']).decode(), max_chars=300)}"
    if config.cwd:
        yield f"  cwd: {config.cwd}"
    for tool in row["tools"]:
        state = f" [{tool['state']}]" if tool["state"] else ""
        words = one_line(tool["description"], max_chars=100)
        yield f"  tool: {one_line(tool['name'], max_chars=80)}{state} {words}".rstrip()
    if not row["tools"]:
        yield f"  its tools are not known yet: caliban mcp doctor {config.name} asks for them"


def _line(row: Mapping[str, Any]) -> str:
    state = f" [{row['state']}]" if row["state"] else ""
    state += f" [{one_line(row['login'], max_chars=200)}]" if row["login"] else ""
    tools = "" if row["tools"] is None else f" ({plural(row['tools'], 'tool')})"
    target = one_line(f"{row['kind']} {row['target']}".strip() or row["place"], max_chars=100)
    return visible(f"{row['scope']!s:8} {one_line(str(row['name']), max_chars=64):24}{state} {target}{tools}")


def _quiet(notice: Notice) -> None:
    """Drop a notice: these commands report what they find themselves."""
    del notice
