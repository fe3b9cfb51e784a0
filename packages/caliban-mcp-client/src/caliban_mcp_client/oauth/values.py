"""What a login is made of: what somebody configured, what servers say of themselves, and what is kept."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.secret import masked_repr

TokenAuth: TypeAlias = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
"""How a client says at the token endpoint who it is."""

Grant: TypeAlias = Literal["authorization_code", "client_credentials", "enterprise_managed"]
"""Whether a person logs in, or a client for itself, or the identity provider of a company speaks for them."""

RENEW_BEFORE_S = 60.0
"""So long before its end a token counts as over: clocks differ, and requests take time."""


class IdentityProvider(Struct, frozen=True, kw_only=True):
    """Where a person is signed in already, and who we are there.

    `issuer` is whose ID tokens are taken, and what is asked for the token endpoint where `token_url` does not
    say that. Without a `token_auth` the client shows its secret in the way that the provider knows.
    """

    issuer: str = ""
    token_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    token_auth: TokenAuth | None = None

    def __repr__(self) -> str:
        return masked_repr(self, "client_secret")


class LoginOptions(Struct, frozen=True, kw_only=True):
    """What a person has settled of the logins of one server; what is empty is found out.

    `client_id` is a client that was registered beforehand, `client_metadata_url` the address of a document
    that describes one. `auth_url` and `token_url` together stand for all that would be found out,
    `metadata_url` for the place of the authorisation server's description. `issuer` binds the login to that
    one. `redirect_uri` is on loopback, and wins over `callback_port`, of which 0 is any that is free.
    `allows_missing_pkce`: log in also where the server does not say that it knows PKCE. With the `grant`
    `client_credentials` the client logs in for itself, by its secret or by its `private_key` (PEM). With
    `enterprise_managed` the `identity` provider says whether the person who is signed in there may log in.
    """

    grant: Grant = "authorization_code"
    client_id: str = ""
    client_secret: str = ""
    private_key: str = ""
    client_metadata_url: str = ""
    token_auth: TokenAuth | None = None
    auth_url: str = ""
    token_url: str = ""
    metadata_url: str = ""
    issuer: str = ""
    scopes: tuple[str, ...] | None = None
    callback_port: int = 0
    redirect_uri: str = ""
    allows_missing_pkce: bool = False
    identity: IdentityProvider = IdentityProvider()
    client_name: str = "Caliban"
    timeout_s: float = 300.0

    @property
    def needs_person(self) -> bool:
        """Whether somebody has to be there, with a browser."""
        return self.grant == "authorization_code"

    def __repr__(self) -> str:
        return masked_repr(self, "client_secret", "private_key")


class Resource(Struct, frozen=True, kw_only=True):
    """What a protected server says of itself (RFC 9728); one without a description is its own `resource`."""

    resource: str
    issuers: tuple[str, ...] = ()
    scopes: tuple[str, ...] | None = None
    is_described: bool = True


class AuthServer(Struct, frozen=True, kw_only=True):
    """An authorisation server, as far as a login needs it (RFC 8414, RFC 9207)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    scopes: tuple[str, ...] = ()
    token_auth_methods: tuple[str, ...] | None = None
    takes_metadata_documents: bool = False
    announces_iss: bool = False
    checks_iss: bool = True


class LoginClient(Struct, frozen=True, kw_only=True):
    """Who we are to one authorisation server. `secret_expires_at` is in seconds of the epoch, 0: never."""

    client_id: str
    client_secret: str = ""
    token_auth: TokenAuth = "none"
    redirect_uri: str = ""
    is_registered: bool = False
    secret_expires_at: float = 0.0

    def __repr__(self) -> str:
        return masked_repr(self, "client_secret")


class Tokens(Struct, frozen=True, kw_only=True):
    """What the token endpoint gave. Times are seconds of the epoch, `expires_at` where it is known."""

    access: str
    refresh: str = ""
    scopes: tuple[str, ...] | None = None
    obtained_at: float = 0.0
    expires_at: float | None = None

    def __repr__(self) -> str:
        return masked_repr(self, "access", "refresh")

    def is_over(self, now: float) -> bool:
        """Whether it should be renewed first. A clock that was put back proves nothing: the server says."""
        if self.expires_at is None or now < self.obtained_at - RENEW_BEFORE_S:
            return False
        life_s = max(0.0, self.expires_at - self.obtained_at)
        return now >= self.expires_at - min(RENEW_BEFORE_S, life_s / 2)


class ServerLogin(Struct, frozen=True, kw_only=True):
    """A login as it is kept: for one server entry at one address, from one issuer.

    Without `tokens` it holds who we are to that issuer, and the `wanted` scopes of the next login.
    """

    url: str
    resource: str
    issuer: str
    token_endpoint: str
    client: LoginClient
    tokens: Tokens | None = None
    requested: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
