"""Logins without a browser: the client shows who it is, by a secret or by what it signs."""

from __future__ import annotations

from msgspec.structs import replace

from caliban_mcp_client.oauth.assertion import Assertion
from caliban_mcp_client.oauth.registration import client_for
from caliban_mcp_client.oauth.tokens import TokenEndpoint
from caliban_mcp_client.oauth.values import AuthServer, LoginClient, Resource, ServerLogin, Tokens
from caliban_mcp_client.oauth.work import LoginWork


async def by_client(
    work: LoginWork, resource: Resource, server: AuthServer, scopes: tuple[str, ...]
) -> ServerLogin:
    """The client logs in for itself (RFC 6749, section 4.4). Raises `LoginFailed`."""
    client = await client_for(server, "", work)
    proof = proof_of(server, client, work)
    tokens = await endpoint_of(server, client, work).grant(scopes, resource.resource, proof)
    return login_with(tokens, work, resource, server, client, scopes)


def endpoint_of(server: AuthServer, client: LoginClient, work: LoginWork) -> TokenEndpoint:
    """The token endpoint of the server, for a client of it."""
    return TokenEndpoint(server.token_endpoint, client, work.fetcher, work.clock, work.learn)


def proof_of(server: AuthServer, client: LoginClient, work: LoginWork) -> Assertion | None:
    """What a client signs with that shows no secret."""
    signs = client.token_auth == "private_key_jwt"
    return Assertion(key=work.options.private_key, audience=server.issuer) if signs else None


def login_with(
    tokens: Tokens,
    work: LoginWork,
    resource: Resource,
    server: AuthServer,
    client: LoginClient,
    scopes: tuple[str, ...],
) -> ServerLogin:
    """What is kept of such a login: no refresh token, for whoever gave the first one is asked again."""
    return ServerLogin(
        url=work.url,
        resource=resource.resource,
        issuer=server.issuer,
        token_endpoint=server.token_endpoint,
        client=client,
        tokens=replace(tokens, refresh=""),
        requested=scopes,
    )
