"""One login from its beginning to its end: who may log us in, as whom, by the browser, for which token."""

from __future__ import annotations

from urllib.parse import urlencode

from caliban_mcp_client.oauth.callback import Callback, listening
from caliban_mcp_client.oauth.challenge import Challenge
from caliban_mcp_client.oauth.discovery import find_auth_server, find_resource
from caliban_mcp_client.oauth.endpoint import canonical
from caliban_mcp_client.oauth.identity import by_identity
from caliban_mcp_client.oauth.itself import by_client
from caliban_mcp_client.oauth.pkce import Proof, new_proof
from caliban_mcp_client.oauth.registration import client_for
from caliban_mcp_client.oauth.tokens import TokenEndpoint
from caliban_mcp_client.oauth.values import AuthServer, LoginClient, LoginOptions, Resource, ServerLogin
from caliban_mcp_client.oauth.work import LoginWork

OFFLINE = "offline_access"


async def log_in(work: LoginWork, challenge: Challenge) -> ServerLogin:
    """Let a person log in, and give what is to be kept. Raises `LoginFailed`."""
    options, before = work.options, work.before
    if options.token_url:
        resource = Resource(resource=canonical(work.url), is_described=False)
    else:
        resource = await find_resource(work.url, challenge, work.fetcher)
    known = "" if before is None else before.issuer
    server = await find_auth_server(resource, options, work.fetcher, known=known)
    if options.grant == "client_credentials":
        return await by_client(
            work, resource, server, choose_scopes(challenge, resource, server, options, before)
        )
    if options.grant == "enterprise_managed":
        return await by_identity(
            work, resource, server, choose_scopes(challenge, resource, server, options, before)
        )
    is_known = before is not None and before.issuer == server.issuer and before.client.is_registered
    preferred = before.client.redirect_uri if is_known and before is not None else ""
    async with listening(options.redirect_uri, options.callback_port, preferred=preferred) as callback:
        client = await client_for(server, callback.redirect_uri, work)
        scopes = choose_scopes(challenge, resource, server, options, before)
        return await _by_browser(work, resource, server, client, scopes, callback)


def choose_scopes(
    challenge: Challenge,
    resource: Resource,
    server: AuthServer,
    options: LoginOptions,
    before: ServerLogin | None,
) -> tuple[str, ...]:
    """What to ask for: what the person settled, what the server asks for, what it has, or nothing.

    Where a login did not reach far enough, what was asked for before is asked for too.
    """
    scopes = options.scopes
    if scopes is None:
        scopes = challenge.scopes or resource.scopes or ()
    if before is not None and before.issuer == server.issuer:
        if challenge.wants_scope:
            scopes = (*before.requested, *scopes)
        scopes = (*scopes, *before.wanted)
    # Without a person there is no refresh token to be had: who gave the first token is asked again.
    if options.scopes is None and options.needs_person and scopes and OFFLINE in server.scopes:
        scopes = (*scopes, OFFLINE)
    return tuple(dict.fromkeys(scopes))


def login_url(
    server: AuthServer, client: LoginClient, scopes: tuple[str, ...], resource: Resource, proof: Proof
) -> str:
    """What the browser opens."""
    params = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "state": proof.state,
        "code_challenge": proof.challenge,
        "code_challenge_method": "S256",
        "resource": resource.resource,
    }
    if scopes:
        params["scope"] = " ".join(scopes)
    if OFFLINE in scopes:
        params["prompt"] = "consent"
    endpoint = server.authorization_endpoint
    return endpoint + ("&" if "?" in endpoint else "?") + urlencode(params)


async def _by_browser(
    work: LoginWork,
    resource: Resource,
    server: AuthServer,
    client: LoginClient,
    scopes: tuple[str, ...],
    callback: Callback,
) -> ServerLogin:
    proof = new_proof()
    for secret in (proof.state, proof.verifier):
        work.learn(secret)
    assert work.agent is not None
    await work.agent.show(login_url(server, client, scopes, resource, proof), callback.redirect_uri)
    answer = await callback.answer(work.agent, work.options.timeout_s)
    code = answer.code(proof.state, server)
    endpoint = TokenEndpoint(server.token_endpoint, client, work.fetcher, work.clock, work.learn)
    tokens = await endpoint.redeem(code, proof.verifier, callback.redirect_uri, resource.resource)
    return ServerLogin(
        url=work.url,
        resource=resource.resource,
        issuer=server.issuer,
        token_endpoint=server.token_endpoint,
        client=client,
        tokens=tokens,
        requested=scopes,
    )
