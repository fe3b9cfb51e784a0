"""Logins that the identity provider of a company manages: who is signed in there needs no browser here.

An ID token is exchanged there for a word to the authorisation server of the MCP server (RFC 8693, an ID-JAG),
and that one gives tokens for it (RFC 7523): the extension `enterprise-managed-authorization` of MCP.
"""

from __future__ import annotations

from typing import Final

from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.discovery import server_places
from caliban_mcp_client.oauth.endpoint import check_endpoint, shown_url
from caliban_mcp_client.oauth.fetch import MetadataFetcher, text_of, texts_of
from caliban_mcp_client.oauth.idtoken import check_id_token
from caliban_mcp_client.oauth.itself import endpoint_of, login_with, proof_of
from caliban_mcp_client.oauth.registration import METHODS, client_for
from caliban_mcp_client.oauth.tokens import TokenEndpoint
from caliban_mcp_client.oauth.values import (
    AuthServer,
    IdentityProvider,
    LoginClient,
    Resource,
    ServerLogin,
    TokenAuth,
)
from caliban_mcp_client.oauth.work import LoginWork

PROVIDER: Final = "the identity provider"
DESCRIBED: Final = "the description of the identity provider"


async def by_identity(
    work: LoginWork, resource: Resource, server: AuthServer, scopes: tuple[str, ...]
) -> ServerLogin:
    """Log in as the person whom the identity provider knows, as far as it lets them. Raises `LoginFailed`."""
    identity, options = work.options.identity, work.options
    if not identity.client_id or not (identity.issuer or identity.token_url) or work.id_token is None:
        raise LoginFailed(
            "identity",
            "an enterprise-managed login needs the client_id that the identity provider knows us by, its "
            "issuer or token endpoint, and an ID token",
        )
    if not (resource.issuers or options.issuer or options.token_url or options.metadata_url):
        raise LoginFailed(
            "metadata",
            "the server names no authorisation server that its identity provider could be asked for",
            hint="give issuer in the server's oauth_config, if you know which one it is",
        )
    client = await client_for(server, "", work)
    id_token = await work.id_token()
    work.learn(id_token)
    check_id_token(id_token, identity, work.clock())
    async with work.elsewhere(identity.token_url or identity.issuer) as fetcher:
        asked = await _provider_endpoint(identity, fetcher, work)
        jag, granted = await asked.exchange(id_token, server.issuer, resource.resource, scopes)
    proof = proof_of(server, client, work)
    tokens = await endpoint_of(server, client, work).bear(jag, granted, resource.resource, proof)
    return login_with(tokens, work, resource, server, client, scopes)


async def _provider_endpoint(
    identity: IdentityProvider, fetcher: MetadataFetcher, work: LoginWork
) -> TokenEndpoint:
    """The token endpoint of the identity provider, for us as its client."""
    url, offered = identity.token_url, None
    if not url:
        url, offered = await _described(identity.issuer, fetcher)
    auth: TokenAuth = "none"
    if identity.token_auth is not None:
        auth = identity.token_auth
    elif identity.client_secret:
        known = (one for one in METHODS[1:] if offered is None or one in offered)
        auth = next(known, "client_secret_basic")
    client = LoginClient(client_id=identity.client_id, client_secret=identity.client_secret, token_auth=auth)
    return TokenEndpoint(url, client, fetcher, work.clock, work.learn, what=PROVIDER)


async def _described(issuer: str, fetcher: MetadataFetcher) -> tuple[str, tuple[str, ...] | None]:
    """The token endpoint of an issuer, and how its clients may say who they are. Raises `LoginFailed`."""
    check_endpoint(issuer, "the issuer of the identity provider", fetcher.reach)
    for place in reversed(server_places(issuer)):
        answer = await fetcher.get(place, DESCRIBED)
        if answer.status >= 500 or answer.status == 429:
            raise LoginFailed(
                "unreachable", f"{DESCRIBED} is not there now: status {answer.status} of {shown_url(place)}"
            )
        if answer.status != 200 or answer.data is None:
            continue
        own = text_of(answer.data, "issuer")
        if own != issuer:
            raise LoginFailed(
                "issuer",
                f"the description at {shown_url(place)} is that of another issuer: {shown_url(own)}",
                hint="write idp_issuer in the server's oauth_config as the provider itself writes it",
            )
        url = text_of(answer.data, "token_endpoint")
        if not url:
            raise LoginFailed("metadata", f"{PROVIDER} {shown_url(issuer)} names no token_endpoint")
        check_endpoint(url, f"the token_endpoint of {shown_url(issuer)}", fetcher.reach)
        return url, texts_of(answer.data, "token_endpoint_auth_methods_supported")
    raise LoginFailed(
        "metadata",
        f"{PROVIDER} {shown_url(issuer)} does not describe itself",
        hint="give its token endpoint by idp_token_url in the server's oauth_config",
    )
