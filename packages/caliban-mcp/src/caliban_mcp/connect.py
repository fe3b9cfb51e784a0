"""From an entry to a conversation: variables filled in, and every part of a client chosen."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from caliban_mcp.cache import cache_key
from caliban_mcp.config import ServerConfig, is_address
from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp.variables import expanded
from caliban_mcp_client.target import (
    HostedTarget,
    HttpTarget,
    ServerOptions,
    StdioTarget,
    Target,
    Verdict,
    WebSocketTarget,
)

if TYPE_CHECKING:
    from caliban_mcp_client import McpClient
    from caliban_mcp_client.authorization import Authorization
    from caliban_mcp_client.hosted import HostPipe
    from caliban_mcp_client.http import HttpClientLike
    from caliban_mcp_client.ports import ClientHandler
    from caliban_process import Runner

CLIENT: Final = "caliban"
ENTERPRISE: Final = "enterprise_managed"
"""The grant of logins that an identity provider manages."""
EXTENSION: Final = "io.modelcontextprotocol/enterprise-managed-authorization"


class Connector(Struct, frozen=True, kw_only=True):
    """What all conversations of a run share.

    `value_of` looks up variables, `learn` is told what of them may be a secret. `handler` answers the
    questions of the server of that name. `login` gives the login of a server at an address, with what is
    settled of it, its variables filled in. `hosted` gives the way to a server of the host. `start_timeout_s`
    and `tool_timeout_s` hold where a server's entry says nothing.
    """

    workspace: Path
    environ: Mapping[str, str]
    added_env: Mapping[str, str]
    runner: Runner
    client: Callable[[], HttpClientLike]
    value_of: Callable[[str], str | None]
    learn: Callable[[str], None]
    handler: Callable[[str], ClientHandler]
    version: str
    login: Callable[[ServerConfig, str, Mapping[str, Any]], Authorization] | None = None
    hosted: Callable[[str], HostPipe] | None = None
    start_timeout_s: float = 60.0
    tool_timeout_s: float = 300.0

    def open(self, config: ServerConfig, verdict: Verdict | None) -> AbstractAsyncContextManager[McpClient]:
        """A conversation for the length of a block. Raises `ServerMisconfigured`."""
        from caliban_mcp_client import ClientParts, McpClient

        target = self.target(config)
        is_program, is_hosted = isinstance(target, StdioTarget), isinstance(target, HostedTarget)
        parts = ClientParts(
            runner=self.runner if is_program else None,
            host=self.hosted(config.name) if is_hosted and self.hosted is not None else None,
            http=None if is_program else self.client,
            authorization=None if is_program or is_hosted else self._authorization(config),
            handler=self.handler(config.name),
            verdict=verdict,
        )
        return McpClient(target, self.options(config), parts)

    def target(self, config: ServerConfig) -> Target:
        """Where the server is, every variable filled in. Raises `ServerMisconfigured`."""
        if config.kind == "sdk":
            return HostedTarget(name=config.name)
        if config.kind == "stdio":
            if not config.command:
                raise ServerMisconfigured("it has neither a command nor a url")
            cwd = self._fill(config.cwd, "cwd") if config.cwd else None
            return StdioTarget(
                command=self._fill(config.command, "command"),
                args=tuple(self._fill(word, "args") for word in config.args),
                env={**self.added_env, **self._filled(config.env, "env")},
                cwd=str(self.workspace / cwd) if cwd else str(self.workspace),
                host_env=self.environ,
            )
        url = self._fill(config.url, "url")
        if not is_address(url):
            raise ServerMisconfigured("its url is no http or https address")
        headers = self._filled(config.headers, "headers")
        if config.bearer_env is not None:
            headers["authorization"] = f"Bearer {self._token(config.bearer_env)}"
        if config.kind == "ws":
            return WebSocketTarget(url=url, headers=headers)
        return HttpTarget(url=url, headers=headers, kind="sse" if config.kind == "sse" else "auto")

    def options(self, config: ServerConfig) -> ServerOptions:
        """How the server is spoken to."""
        is_hosted = config.kind == "sdk"  # it speaks the legacy way, and may not ask
        return ServerOptions(
            protocol="legacy" if is_hosted else config.protocol,
            elicitation=() if is_hosted else ServerOptions().elicitation,
            start_timeout_s=config.start_timeout_s or self.start_timeout_s,
            call_timeout_s=config.tool_timeout_s or self.tool_timeout_s,
            roots=config.roots,
            extensions=(EXTENSION,) if config.oauth_config.get("grant") == ENTERPRISE else (),
            trusts_hints=config.is_from_person,
            client_name=CLIENT,
            client_version=self.version,
        )

    def key(self, config: ServerConfig) -> str:
        """What the list of the server may depend on, as the key of what is remembered of it."""
        try:
            target = self.target(config)
        except ServerMisconfigured:
            target = StdioTarget(command="")
        options = self.options(config)
        parts: dict[str, Any] = {
            "identity": config.identity,
            "version": self.version,
            "protocol": config.protocol,
            "offered": [options.elicitation, options.roots, options.sampling, *options.extensions],
        }
        match target:
            case StdioTarget(command=command, args=args, env=env, cwd=cwd):
                parts |= {
                    "args": args,
                    "env": sorted(env),
                    "cwd": cwd,
                    "program": _changed_at(command, self.environ),
                }
            case HttpTarget(url=url, headers=headers) | WebSocketTarget(url=url, headers=headers):
                # Whoever asks as somebody else may be told of other tools.
                parts |= {"url": url, "headers": cache_key(headers), "helper": config.headers_helper}
        return cache_key(parts)

    def _authorization(self, config: ServerConfig) -> Authorization | None:
        """Who is asked for headers: a program, else a login, unless a header of settings says who asks."""
        if config.headers_helper is not None:
            from caliban_mcp.headers import HelperAuthorization

            return HelperAuthorization(config.headers_helper, self.runner, self.environ, self.learn)
        if self.login is None or not config.may_log_in:
            return None
        return self.login(config, self._fill(config.url, "url"), self.login_settings(config))

    def login_settings(self, config: ServerConfig) -> Mapping[str, Any]:
        """What is settled of the logins of a server, filled in. Raises `ServerMisconfigured`."""
        filled = {
            name: self._fill(value, f"oauth_config.{name}") if isinstance(value, str) else value
            for name, value in config.oauth_config.items()
        }
        for name in ("client_secret", "private_key", "idp_client_secret"):
            secret = filled.get(name)
            if isinstance(secret, str):
                self.learn(secret)
        if filled.get("grant") == ENTERPRISE or any(name.startswith("idp_") for name in filled):
            from caliban_mcp.identity import check_identity

            check_identity(config, filled)
            self.learn(self.value_of(str(filled.get("idp_id_token_env") or "")) or "")
        needs_browser = filled.get("grant", "authorization_code") == "authorization_code"
        is_lacking = not filled.get("token_url") or (needs_browser and not filled.get("auth_url"))
        if config.oauth == "manual" and is_lacking:
            raise ServerMisconfigured("oauth is manual, and its oauth_config lacks auth_url or token_url")
        return filled

    def _token(self, name: str) -> str:
        value = self.value_of(name)
        if not value:
            raise ServerMisconfigured(
                f"bearer_token_env names {name}, which is not set", hint=f"export {name}=…"
            )
        self.learn(value)
        return value

    def _filled(self, table: Mapping[str, str], what: str) -> dict[str, str]:
        """A table with its variables filled in; what that adds may be a secret."""
        filled = {name: self._fill(text, f"{what}.{name}") for name, text in table.items()}
        for name, text in filled.items():
            if text != table[name] or what == "headers":
                self.learn(text.removeprefix("Bearer ").strip())
        if what == "env" and filled:
            from caliban_process.environ import secret_variables

            for text in secret_variables(filled).values():
                self.learn(text)
        return filled

    def _fill(self, text: str, what: str) -> str:
        try:
            return expanded(text, self.value_of)
        except ServerMisconfigured as error:
            raise ServerMisconfigured(f"{what}: {error.message}", hint=error.hint) from error


def _changed_at(command: str, environ: Mapping[str, str]) -> str:
    """Which file the program is, and when it was changed."""
    folders = [""] if "/" in command else environ.get("PATH", "").split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, command)  # noqa: PTH118 - a path object for each folder costs more
        try:
            status = os.stat(path)  # noqa: PTH116 - the same
        except (OSError, ValueError):
            continue
        if status.st_mode & 0o111 and not stat.S_ISDIR(status.st_mode):
            return f"{path} {status.st_mtime_ns}"
    return ""
