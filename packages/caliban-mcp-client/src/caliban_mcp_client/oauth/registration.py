"""Who we are to an authorisation server: settled beforehand, described by a document, or registered now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from caliban_common.text import one_line
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.endpoint import path_of, shown_url, split
from caliban_mcp_client.oauth.fetch import Answer, text_of
from caliban_mcp_client.oauth.values import AuthServer, LoginClient, LoginOptions, ServerLogin, TokenAuth
from caliban_mcp_client.oauth.work import LoginWork

METHODS: Final[tuple[TokenAuth, ...]] = ("none", "client_secret_basic", "client_secret_post")
_WHAT: Final = "the registration endpoint"


async def client_for(server: AuthServer, redirect_uri: str, work: LoginWork) -> LoginClient:
    """The client to log in as. What was registered with another issuer is not shown to this one.

    Raises `LoginFailed`.
    """
    options, before = work.options, work.before
    if options.client_id or options.grant == "client_credentials":
        return _settled(server, options, redirect_uri, before)
    if options.client_metadata_url and server.takes_metadata_documents:
        return _by_document(options.client_metadata_url, redirect_uri)
    if options.grant == "enterprise_managed":
        raise LoginFailed(
            "client",
            "an enterprise-managed login needs the client_id that the authorisation server "
            f"{shown_url(server.issuer)} knows us by, or a client_metadata_url where it takes one",
            hint="register a client there, and put its client_id into the server's oauth_config",
        )
    known = None if before is None or before.issuer != server.issuer else before.client
    if known is not None and known.is_registered and known.redirect_uri == redirect_uri:
        is_over = 0 < known.secret_expires_at <= work.clock()
        if not is_over:
            return known
    if not server.registration_endpoint:
        raise LoginFailed(
            "client",
            f"the authorisation server {shown_url(server.issuer)} registers no clients by itself",
            hint="register one there, and put its client_id into the server's oauth_config",
        )
    return await _registered(server, redirect_uri, work)


def _settled(
    server: AuthServer, options: LoginOptions, redirect_uri: str, before: ServerLogin | None
) -> LoginClient:
    """A client that was registered beforehand. Its secret is for the issuer that it was first shown to."""
    if options.client_secret and not options.issuer and before is not None and before.issuer != server.issuer:
        raise LoginFailed(
            "issuer",
            f"the server names another issuer than before: {shown_url(server.issuer)}, not "
            f"{shown_url(before.issuer)}; the client's secret is not shown to it",
            hint="check it with the server's owner, then put issuer into the server's oauth_config",
        )
    if options.grant == "client_credentials" and not (
        options.client_id and (options.client_secret or options.private_key)
    ):
        raise LoginFailed(
            "client", "a client that logs in for itself needs client_id, and client_secret or private_key"
        )
    auth: TokenAuth = "none"
    if options.token_auth is not None:
        auth = options.token_auth
    elif options.private_key:
        auth = "private_key_jwt"
    elif options.client_secret:
        offered = server.token_auth_methods
        auth = next((one for one in METHODS[1:] if offered is None or one in offered), "client_secret_basic")
    return LoginClient(
        client_id=options.client_id,
        client_secret=options.client_secret,
        token_auth=auth,
        redirect_uri=redirect_uri,
    )


def _by_document(url: str, redirect_uri: str) -> LoginClient:
    parts = split(url)
    if parts is None or parts.scheme != "https" or not path_of(url):
        raise LoginFailed(
            "client", f"client_metadata_url must be an https address with a path: {shown_url(url)}"
        )
    return LoginClient(client_id=url, redirect_uri=redirect_uri)


async def _registered(server: AuthServer, redirect_uri: str, work: LoginWork) -> LoginClient:
    offered = server.token_auth_methods
    known: TokenAuth = next((one for one in METHODS if offered is None or one in offered), "none")
    wanted = work.options.token_auth or known
    body: dict[str, Any] = {
        "client_name": work.options.client_name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
        "application_type": "native",
    }
    headers = {"content-type": "application/json"}
    answer = await work.fetcher.post(server.registration_endpoint, _WHAT, headers, msgspec.json.encode(body))
    return _read(answer, wanted, redirect_uri, work.learn)


def _read(answer: Answer, wanted: TokenAuth, redirect_uri: str, learn: Callable[[str], None]) -> LoginClient:
    data = answer.data or {}
    client_id, secret = text_of(data, "client_id"), text_of(data, "client_secret")
    learn(secret)
    if answer.status not in (200, 201) or not client_id:
        code = one_line(text_of(data, "error"), max_chars=60)
        why = one_line(text_of(data, "error_description") or text_of(data, "message"), max_chars=200)
        reason = ", ".join(filter(None, (code, why)))
        raise LoginFailed(
            "client",
            f"the authorisation server registered no client: status {answer.status}"
            f"{f' ({reason})' if reason else ''}",
            hint="register one by hand, and put its client_id into the server's oauth_config",
            code=code,
        )
    auth = text_of(data, "token_endpoint_auth_method") or ("client_secret_basic" if secret else wanted)
    if auth in METHODS and not secret:
        auth = "none"  # whatever it repeats: who was given no secret is a public client, and PKCE proves it
    if auth not in METHODS:
        raise LoginFailed(
            "client",
            f"the authorisation server knows clients by a way of its own: {one_line(auth, max_chars=60)}",
            hint="register a client by hand, and put its client_id into the server's oauth_config",
        )
    expires = data.get("client_secret_expires_at")
    until = float(expires) if isinstance(expires, int | float) and not isinstance(expires, bool) else 0.0
    client = LoginClient(
        client_id=client_id, client_secret=secret, redirect_uri=redirect_uri, is_registered=True
    )
    return replace(
        client,
        token_auth=next(one for one in METHODS if one == auth),
        secret_expires_at=max(until, 0.0),
    )
