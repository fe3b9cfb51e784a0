"""Who may log us in: descriptions of the protected server and of its authorisation server, in their orders.

RFC 9728 for the protected server, RFC 8414 and OpenID Connect Discovery for the authorisation server, and for
servers without any description the rules of the protocol's version 2025-03-26.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_common.text import one_line
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.challenge import Challenge
from caliban_mcp_client.oauth.endpoint import (
    canonical,
    check_endpoint,
    covers,
    origin_of,
    path_of,
    shown_url,
)
from caliban_mcp_client.oauth.fetch import Answer, MetadataFetcher, text_of, texts_of
from caliban_mcp_client.oauth.values import AuthServer, LoginOptions, Resource

PROTECTED: Final = "/.well-known/oauth-protected-resource"
SERVER: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"
MAX_ISSUERS: Final = 4
_RESOURCE_WORDS: Final = "the description of the server"
_SERVER_WORDS: Final = "the description of the authorisation server"


async def find_resource(url: str, challenge: Challenge, fetcher: MetadataFetcher) -> Resource:
    """What the server at `url` says of itself. Raises `LoginFailed` for what is another server's."""
    for place in _resource_places(url, challenge):
        answer = await fetcher.get(place, _RESOURCE_WORDS)
        data = _described(answer, place, _RESOURCE_WORDS)
        resource = "" if data is None else text_of(data, "resource")
        if data is None or not resource:
            continue
        if not covers(resource, url):
            raise LoginFailed(
                "metadata",
                f"the description at {shown_url(place)} is that of another server: {shown_url(resource)}",
                hint="check the server's address; nothing was sent anywhere",
            )
        return Resource(
            resource=resource,
            issuers=(texts_of(data, "authorization_servers") or ())[:MAX_ISSUERS],
            scopes=texts_of(data, "scopes_supported"),
        )
    return Resource(resource=canonical(url), is_described=False)


async def find_auth_server(
    resource: Resource, options: LoginOptions, fetcher: MetadataFetcher, *, known: str = ""
) -> AuthServer:
    """Who logs people in to the server; of several the issuer that is `known` before the others.

    Raises `LoginFailed`.
    """
    if options.token_url:
        return _settled(options, fetcher)
    if options.metadata_url:
        return await _at_settled_place(options, fetcher)
    issuers = resource.issuers or (origin_of(resource.resource),)
    if options.issuer:
        if resource.issuers and options.issuer not in issuers:
            raise _other_issuer(options.issuer, issuers)
        issuers = (options.issuer,)
    for issuer in sorted(issuers, key=lambda one: one != known):
        check_endpoint(issuer, "the issuer", fetcher.reach)
        server = await _described_server(issuer, options, fetcher, is_named=bool(resource.issuers))
        if server is not None:
            return server
    if resource.issuers:
        raise LoginFailed(
            "metadata",
            f"the authorisation server {shown_url(issuers[0])} does not describe itself",
            hint="give the addresses of its login and token endpoints yourself, if you know them",
        )
    return _before_descriptions(issuers[0])


def _resource_places(url: str, challenge: Challenge) -> list[str]:
    origin, path = origin_of(url), path_of(url)
    places = [challenge.resource_metadata] if challenge.resource_metadata else []
    places += [f"{origin}{PROTECTED}{path}", f"{origin}{PROTECTED}"]
    return list(dict.fromkeys(places))


def server_places(issuer: str) -> list[str]:
    """Where the description of an issuer may be, in the order of asking."""
    origin, path = origin_of(issuer), path_of(issuer)
    if not path:
        return [f"{origin}{SERVER}", f"{origin}{OPENID}"]
    return [f"{origin}{SERVER}{path}", f"{origin}{OPENID}{path}", f"{origin}{path}{OPENID}"]


async def _described_server(
    issuer: str, options: LoginOptions, fetcher: MetadataFetcher, *, is_named: bool
) -> AuthServer | None:
    for place in server_places(issuer):
        answer = await fetcher.get(place, _SERVER_WORDS)
        data = _described(answer, place, _SERVER_WORDS)
        if data is None:
            continue
        own = text_of(data, "issuer")
        # An origin that we made ourselves may be written with a slash at its end; one that was named may not.
        if own != issuer and (is_named or own != f"{issuer}/"):
            raise LoginFailed(
                "issuer",
                f"the description at {shown_url(place)} is that of another issuer: {shown_url(own)}",
                hint="nothing was sent there; the owner of the server has to mend it",
            )
        return _server(own, data, options, fetcher)
    return None


async def _at_settled_place(options: LoginOptions, fetcher: MetadataFetcher) -> AuthServer:
    place = options.metadata_url
    data = _described(await fetcher.get(place, _SERVER_WORDS), place, _SERVER_WORDS)
    own = "" if data is None else text_of(data, "issuer")
    if data is None or not own:
        raise LoginFailed(
            "metadata", f"there is no description of an authorisation server at {shown_url(place)}"
        )
    if options.issuer and own != options.issuer:
        raise _other_issuer(options.issuer, (own,))
    return _server(own, data, options, fetcher)


def _server(
    issuer: str, data: Mapping[str, Any], options: LoginOptions, fetcher: MetadataFetcher
) -> AuthServer:
    """The server that describes itself so. Raises `LoginFailed` where PKCE or an endpoint is missing."""
    methods = texts_of(data, "code_challenge_methods_supported")
    needs_browser = options.needs_person
    if needs_browser and "S256" not in (methods or ()) and not options.allows_missing_pkce:
        lacks = "does not say that it knows PKCE" if methods is None else "does not know PKCE with S256"
        raise LoginFailed(
            "pkce",
            f"the authorisation server {shown_url(issuer)} {lacks}: what it sends to the browser could be "
            "used by whoever reads it",
            hint="its owner has to announce S256 in code_challenge_methods_supported; "
            "allow_missing_pkce in the server's oauth_config logs in all the same",
        )

    def endpoint(name: str) -> str:
        url = text_of(data, name)
        return check_endpoint(url, f"the {name} of {shown_url(issuer)}", fetcher.reach) if url else ""

    authorize, token = endpoint("authorization_endpoint"), endpoint("token_endpoint")
    if not token or (needs_browser and not authorize):
        lacking = "authorization_endpoint" if token else "token_endpoint"
        raise LoginFailed("metadata", f"the authorisation server {shown_url(issuer)} names no {lacking}")
    return AuthServer(
        issuer=issuer,
        authorization_endpoint=authorize,
        token_endpoint=token,
        registration_endpoint=endpoint("registration_endpoint"),
        scopes=texts_of(data, "scopes_supported") or (),
        token_auth_methods=texts_of(data, "token_endpoint_auth_methods_supported"),
        takes_metadata_documents=data.get("client_id_metadata_document_supported") is True,
        announces_iss=data.get("authorization_response_iss_parameter_supported") is True,
    )


def _settled(options: LoginOptions, fetcher: MetadataFetcher) -> AuthServer:
    """What a person has written down: no description is looked for."""
    return AuthServer(
        issuer=options.issuer or origin_of(options.token_url),
        authorization_endpoint=options.auth_url
        and check_endpoint(options.auth_url, "auth_url", fetcher.reach),
        token_endpoint=check_endpoint(options.token_url, "token_url", fetcher.reach),
        checks_iss=bool(options.issuer),
    )


def _before_descriptions(issuer: str) -> AuthServer:
    """The endpoints that version 2025-03-26 of the protocol gives to servers without descriptions."""
    return AuthServer(
        issuer=issuer,
        authorization_endpoint=f"{issuer}/authorize",
        token_endpoint=f"{issuer}/token",
        registration_endpoint=f"{issuer}/register",
        checks_iss=False,
    )


def _described(answer: Answer, place: str, what: str) -> dict[str, Any] | None:
    """The description in an answer; `None` where there is none. Raises `LoginFailed` for one that is no word.

    A server that cannot answer now may have one: taking it for one without would be a downgrade.
    """
    if answer.status >= 500 or answer.status == 429:
        raise LoginFailed(
            "unreachable", f"{what} is not there now: status {answer.status} of {shown_url(place)}"
        )
    return answer.data if answer.status == 200 else None


def _other_issuer(settled: str, named: tuple[str, ...]) -> LoginFailed:
    shown = ", ".join(one_line(issuer, max_chars=100) for issuer in named)
    return LoginFailed(
        "issuer",
        f"the server names another issuer than the settled one: {shown}, not {shown_url(settled)}",
        hint="check it with the server's owner, then change issuer in the server's oauth_config",
    )
