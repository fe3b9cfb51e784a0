"""The settings of logins to MCP servers: what a person has settled that else is found out by asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_settings.key import COUNT, FLAG, TEXT, TEXTS, Form, Key


def _key(name: str, doc: str, form: Form = TEXT, *aliases: str) -> Key:
    return Key(
        path=f"mcp_servers.*.oauth_config.{name}",
        form=form,
        guard="server",
        restart=True,
        aliases=aliases,
        doc=doc,
    )


_AUTH: Final[Mapping[str, Any]] = {
    "enum": ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
}
_GRANT: Final[Mapping[str, Any]] = {"enum": ["authorization_code", "client_credentials"]}

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
    _key("grant", "Who logs in: a person in the browser, or the client for itself.", _GRANT),
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
)
