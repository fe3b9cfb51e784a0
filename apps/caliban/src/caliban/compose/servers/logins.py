"""Logins to MCP servers: what settings say of them, as the parts of the package that makes them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from caliban.compose.host import Host
from caliban.compose.servers.keptlogins import KeptLogin, KeptLogins, kept_login
from caliban.compose.servers.reach import ReachGuard
from caliban.errors import ConfigError
from caliban_mcp import ServerConfig
from caliban_mcp.identity import id_token_source
from caliban_mcp_client.oauth import IdentityProvider, LoginOptions, LoginParts, OAuthAuthorization, login_key
from caliban_mcp_client.oauth.challenge import split_scopes
from caliban_provider.http import HttpClient

if TYPE_CHECKING:
    from caliban_mcp_client.oauth import LoginAgent, Reach

CONNECT_S: Final = 10.0
READ_S: Final = 30.0


def login_of(
    config: ServerConfig,
    url: str,
    settled: Mapping[str, Any],
    host: Host,
    agent: LoginAgent | None = None,
    callback_port: int = 0,
) -> OAuthAuthorization:
    """The login of one server; without an `agent` nobody is asked to log in."""
    parts = LoginParts(
        store=KeptLogins(config.name),
        open_client=open_client,
        learn=host.masker.add,
        agent=agent,
        id_token=id_token_source(settled, host.runner, host.environ),
        advice=f"caliban mcp login {config.name}",
    )
    return OAuthAuthorization(config.name, url, login_options(config, settled, callback_port), parts)


def login_options(config: ServerConfig, settled: Mapping[str, Any], callback_port: int = 0) -> LoginOptions:
    """What settings say of the logins of a server; `callback_port` wins over theirs where it is not 0."""
    scopes = settled.get("scopes")
    if isinstance(scopes, str):
        scopes = split_scopes(scopes)
    is_manual = config.oauth == "manual"

    def text(name: str) -> str:
        value = settled.get(name)
        return value if isinstance(value, str) else ""

    return LoginOptions(
        grant=settled.get("grant") or "authorization_code",
        private_key=text("private_key"),
        client_id=text("client_id"),
        client_secret=text("client_secret"),
        client_metadata_url=text("client_metadata_url"),
        auth_url=text("auth_url") if is_manual else "",
        token_url=text("token_url") if is_manual else "",
        metadata_url=text("metadata_url"),
        issuer=text("issuer"),
        redirect_uri=text("redirect_uri"),
        token_auth=settled.get("token_auth"),
        scopes=None if scopes is None else tuple(scopes),
        callback_port=callback_port or settled.get("callback_port") or 0,
        identity=IdentityProvider(
            issuer=text("idp_issuer"),
            token_url=text("idp_token_url"),
            client_id=text("idp_client_id"),
            client_secret=text("idp_client_secret"),
            token_auth=settled.get("idp_token_auth"),
        ),
        allows_missing_pkce=settled.get("allow_missing_pkce") is True,
    )


def open_client(reach: Reach) -> HttpClient:
    """A client for the requests of a login, which dials no address further in than `reach`."""
    return HttpClient(connect_s=CONNECT_S, read_s=READ_S, guard=ReachGuard(reach=reach))


def login_state(config: ServerConfig, url: str) -> str:
    """How it stands with the login of a server, in words; empty where there is none.

    The keyring is not opened, and nobody is asked.
    """
    if not config.may_log_in:
        return ""
    try:
        kept = kept_login(login_key(config.name, url))
    except ConfigError as error:
        return f"its login cannot be read: {error.message}"
    if kept is None:
        return ""
    if kept.credential.wanted:
        scopes = " ".join(kept.credential.wanted)
        return f"its login does not reach far enough ({scopes}): caliban mcp login {config.name}"
    if kept.credential.tokens is None:
        return f"its login is over: caliban mcp login {config.name}"
    is_repeated = not login_options(config, config.oauth_config).needs_person
    return f"logged in with {kept.credential.issuer}{_until(kept, is_repeated)}"


def _until(kept: KeptLogin, is_repeated: bool) -> str:
    tokens = kept.credential.tokens
    if tokens is None or tokens.expires_at is None:
        return ""
    goes_on = is_repeated or bool(tokens.refresh) or kept.in_keyring
    if tokens.expires_at > time.time():
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(tokens.expires_at))
        return f", until {until}" + (", then renewed" if goes_on else "")
    return ", to be renewed" if goes_on else ", which is over"
