"""`caliban mcp login` and `logout`: a login to a server by the browser, and its end."""

from __future__ import annotations

import os
import stat
import sys
from typing import Final

import anyio

from caliban.cli.invocation import Invocation
from caliban.commands.mcp.list import ListedServers
from caliban.compose.host import Host
from caliban.compose.masked import mask_error
from caliban.compose.servers.browser import open_browser
from caliban.compose.servers.build import ServerInputs, build_connector
from caliban.compose.servers.keptlogins import KeptLogins, logins_of
from caliban.compose.servers.logins import login_of
from caliban.errors import CommandRefused, ConfigError, UsageError
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import complain, print_text
from caliban_common.errors import CalibanError
from caliban_common.paths import cache_dir
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_mcp import Connector, ListCache, ServerConfig
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth import LoginAgent, ServerLogin
from caliban_mcp_client.target import HttpTarget

PORT: Final = "CALIBAN_MCP_OAUTH_PORT"
MAX_LINE_BYTES: Final = 64 << 10


def login(invocation: Invocation) -> int:
    """Log in to a server, and say what it has then. Raises `AppError`."""
    listed = ListedServers(invocation.options)
    config = listed.find(invocation.values["name"])
    check_login(config)
    state = listed.state(config)
    if state and state != "disabled":
        raise CommandRefused(f"the MCP server {config.name} is not used: {state}")
    inputs = listed.inputs()
    port = login_port(invocation.values["mcp_oauth_port"], inputs.host)
    agent = TerminalAgent(inputs.host, opens=not invocation.values["no_browser"])
    try:
        words = run_cancellable(lambda: log_in(config, inputs, agent, port), invocation.signals)
    except LoginFailed as error:
        mask_error(error, inputs.host.masker)
        raise CommandRefused(
            f"no login to the MCP server {config.name}: {error.message}", hint=error.hint
        ) from None
    return print_text(visible(inputs.host.masker.text(words)))


def logout(invocation: Invocation) -> int:
    """Forget the logins of a server of this name, whatever its address was. Raises `ConfigError`."""
    name = invocation.values["name"]
    shown = one_line(name, max_chars=80)

    async def forget() -> int:
        keys, store = logins_of(name), KeptLogins(name)
        for key in keys:
            async with store.locked(key):
                await store.remove(key)
        return len(keys)

    try:
        count = run_cancellable(forget, invocation.signals)
    except LoginFailed as error:
        raise CommandRefused(error.message, hint=error.hint) from None
    _forget_list(name, invocation)
    outcome = f"removed the login to the MCP server {shown}" if count else f"there is no login to {shown}"
    return print_text(visible(f"{outcome}\n"))


def _forget_list(name: str, invocation: Invocation) -> None:
    """Keep nothing of what the server had for the login that is gone, where its entry can be read."""
    try:
        listed = ListedServers(invocation.options)
        config = listed.written.find(name)
        if config is not None:
            ListCache(cache_dir() / "mcp").forget(build_connector(listed.inputs()).key(config))
    except CalibanError:
        return  # the login itself is gone, which was asked for


class TerminalAgent:
    """The person at this terminal, who sees the address, may have a browser, and may paste the redirect."""

    def __init__(self, host: Host, *, opens: bool) -> None:
        self._host = host
        self._opens = opens
        self._reads = _can_wait_for_input()
        self._held = b""

    async def show(self, url: str, redirect_uri: str) -> None:
        """See `LoginAgent`."""
        opened = self._opens and open_browser(url, self._host.environ)
        lead = "Your browser opens this address, to log in:" if opened else "Open this address to log in:"
        complain(f"{lead}\n\n{url}\n\n")
        if self._reads:
            complain(
                "A browser on another machine ends at an address that it cannot open, beginning with "
                f"{redirect_uri}: paste that here.\n"
            )

    async def pasted(self) -> str | None:
        """See `LoginAgent`."""
        while self._reads:
            line, newline, rest = self._held.partition(b"\n")
            if newline:
                self._held = rest
                if line.strip():
                    return line.decode("utf-8", "replace").strip()
                continue
            await anyio.wait_readable(0)
            data = os.read(0, 4096)
            if not data or len(self._held) > MAX_LINE_BYTES:
                self._reads = False
                return self._held.decode("utf-8", "replace").strip() or None
            self._held += data
        return None

    async def refused(self, words: str) -> None:
        """See `LoginAgent`."""
        complain(f"caliban: {words}\n")


def check_login(config: ServerConfig) -> None:
    """Raises `ConfigError` where nobody can log in to a server."""
    if config.kind not in ("http", "sse"):
        raise ConfigError(
            f"the MCP server {config.name} is a program, and nobody logs in to a program",
            hint="give it what it needs by variables, in its env",
        )
    if config.oauth == "off":
        raise ConfigError(
            f'the MCP server {config.name} has oauth = "off"', hint="take that out of its entry"
        )
    if not config.may_log_in:
        raise ConfigError(
            f"the entry of the MCP server {config.name} says by a header who asks, which wins over a login",
            hint="take Authorization, bearer_token_env or headers_helper out of its entry",
        )


def login_port(given: int | None, host: Host) -> int:
    """The port that a person wants, 0 for any. Raises `UsageError`, `ConfigError`."""
    if given is not None:
        if given > 65535:
            raise UsageError(f"--mcp-oauth-port takes a port up to 65535, not {given}")
        return given
    text = host.environ.get(PORT, "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= 65535):
        raise ConfigError(f"{PORT} must be a port up to 65535, not {one_line(text, max_chars=40)!r}")
    return int(text or 0)


async def log_in(config: ServerConfig, inputs: ServerInputs, agent: LoginAgent, port: int) -> str:
    """Log in, and say what the server has then. Raises `LoginFailed`, `ConfigError`."""
    connector = build_connector(inputs)
    target = connector.target(config)
    if not isinstance(target, HttpTarget):
        raise ConfigError(f"nobody logs in to the MCP server {config.name}")
    settled = connector.login_settings(config)
    authorization = login_of(config, target.url, settled, inputs.host, agent, port)
    status, challenge = await authorization.probe(target.headers)
    if status not in (401, 403) and not await authorization.is_described(challenge):
        raise LoginFailed(
            "metadata", f"it asks for no login (status {status})", hint=f"caliban mcp doctor {config.name}"
        )
    if settled.get("allow_missing_pkce") is True:
        complain("caliban: warning: allow_missing_pkce is set: the login may be without PKCE's protection\n")
    credential = await authorization.log_in(challenge)
    ListCache(cache_dir() / "mcp").forget(connector.key(config))
    return await _told(config, connector, credential)


async def _told(config: ServerConfig, connector: Connector, credential: ServerLogin) -> str:
    """The result of the login, checked by asking the server with the stored credential."""
    lines = [f"logged in to the MCP server {config.name} with {credential.issuer}"]
    scopes = () if credential.tokens is None else credential.tokens.scopes or credential.requested
    if scopes:
        lines.append(f"scopes: {one_line(' '.join(scopes), max_chars=300)}")
    try:
        async with connector.open(config, None) as client:
            tools = await client.list_tools() if client.info.offers("tools") else ()
        lines.append(f"it has {plural(len(tools), 'tool')}")
    except CalibanError as error:
        complain(f"caliban: warning: it does not answer as it should: {error.message}\n")
    return "".join(f"{line}\n" for line in lines)


def _can_wait_for_input() -> bool:
    """Whether somebody may still write to standard input: a terminal, or a pipe."""
    if sys.stdin is None or sys.platform == "win32":
        return False
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return os.isatty(0) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
