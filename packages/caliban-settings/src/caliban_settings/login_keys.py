"""The settings of logins to MCP servers: what a person has settled that else is found out by asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_settings.key import COUNT, FLAG, PERSON, TEXT, TEXTS, Form, Key


def _key(name: str, doc: str, form: Form = TEXT, *aliases: str) -> Key:
    return Key(
        path=f"mcp_servers.*.oauth_config.{name}",
        form=form,
        guard="server",
        restart=True,
        aliases=aliases,
        doc=doc,
    )


def _identity(name: str, doc: str, form: Form = TEXT) -> Key:
    """No repository says to whom an ID token goes, and where it is."""
    return Key(
        path=f"mcp_servers.*.oauth_config.idp_{name}",
        form=form,
        scopes=PERSON,
        guard="server",
        restart=True,
        doc=doc,
    )


_IDP_AUTH: Final[Mapping[str, Any]] = {"enum": ["none", "client_secret_basic", "client_secret_post"]}
_AUTH: Final[Mapping[str, Any]] = {
    "enum": ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
}
_GRANT: Final[Mapping[str, Any]] = {
    "enum": ["authorization_code", "client_credentials", "enterprise_managed"]
}

_WORDS: Final[Mapping[str, Any]] = {"anyOf": [TEXT, TEXTS]}

LOGIN_KEYS: Final[tuple[Key, ...]] = (
    _key(
        "client_id",
        "A client that was registered with the authorisation server beforehand.",
        TEXT,
        "clientId",
    ),
    _key("client_secret", "Its secret; write a variable such as ${NAME}.", TEXT, "clientSecret"),
    _key(
        "client_metadata_url",
        "The https address of a document that describes a client of yours.",
        TEXT,
        "clientMetadataUrl",
    ),
    _key(
        "token_auth",
        "How the client says at the token endpoint who it is (default: what the server knows).",
        _AUTH,
    ),
    _key(
        "grant",
        "Who logs in: a person in the browser, the client for itself, or a company's identity provider.",
        _GRANT,
    ),
    _key("private_key", "The key that a client signs with instead of a secret: PEM, by a variable."),
    _key("auth_url", "Where the browser logs in (manual)."),
    _key("token_url", "Where tokens are given (manual)."),
    _key(
        "metadata_url",
        "Where the authorisation server describes itself, instead of the usual places.",
        TEXT,
        "authServerMetadataUrl",
    ),
    _key("issuer", "The only authorisation server that may log in to it."),
    _key("scopes", "What to ask for, instead of what the server names.", _WORDS),
    _key(
        "callback_port",
        "The port of this machine that the browser comes back to (default: any).",
        COUNT,
        "callbackPort",
    ),
    _key(
        "redirect_uri",
        "The address on this machine that the browser comes back to, as it was registered.",
        TEXT,
        "redirectUri",
    ),
    _key("allow_missing_pkce", "Log in although the server does not say that it knows PKCE.", FLAG),
    _identity("issuer", "The identity provider that you are signed in to (enterprise_managed)."),
    _identity("token_url", "Its token endpoint, instead of the one that it says itself."),
    _identity("client_id", "The client that it knows us as, and that its ID tokens are for."),
    _identity("client_secret", "Its secret there; write a variable such as ${NAME}."),
    _identity("token_auth", "How that client says who it is (default: what the provider knows).", _IDP_AUTH),
    _identity("id_token_file", "The file with your ID token, which only you may read."),
    _identity("id_token_env", "The variable with your ID token."),
    _identity("id_token_helper", "A command line, run without a shell, that prints your ID token."),
)
