"""The identity provider of a company beside an `OAuthWorld`, for tests of logins that it manages.

    world = IdentityWorld("http://127.0.0.1:1234", OAuthRules(clients={"mine": "hush"}))
    token = world.signed_in()  # an ID token, as a person has it who is signed in

The provider is the issuer `/idp`; it gives an ID-JAG for an ID token that it has made (RFC 8693), and the
authorisation server takes one once, for its own name, the client and the MCP server that it was made for.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct, field

from caliban_mcp_client.oauth.tokens import EXCHANGE, ID_JAG, ID_TOKEN, JWT_BEARER
from caliban_mcp_client.testing.oauth import OAuthRules, OAuthWorld, Reply, client_of, json_reply

IDP_PATH = "/idp"
IDP_CLIENT = "harness"
IDP_SECRET = "quiet-quiet-quiet-1"


class IdentityRules(Struct, frozen=True, kw_only=True):
    """How the provider is. `raw` answers each exchange; `given` and `metadata` change members of answers."""

    denies: str = ""
    scope: str | None = None
    secret: str = IDP_SECRET
    given: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    raw: Reply | None = None


class IdentityWorld(OAuthWorld):
    """All three servers below one origin; `exchanges` are the forms that the provider was sent."""

    def __init__(
        self, base: str, rules: OAuthRules | None = None, identity: IdentityRules | None = None
    ) -> None:
        super().__init__(base, rules)
        self.identity = identity or IdentityRules()
        self.exchanges: list[dict[str, str]] = []
        self.made: dict[str, dict[str, str]] = {}
        self._signed_in: set[str] = set()

    @property
    def idp(self) -> str:
        """The identity provider."""
        return f"{self.base}{IDP_PATH}"

    def signed_in(self, **claims: Any) -> str:
        """An ID token of the provider; `claims` change those that it has."""
        payload = {"iss": self.idp, "aud": IDP_CLIENT, "sub": "ada", "exp": 4_000_000_000, **claims}
        token = ".".join(
            _coded(part) for part in ({"alg": "ES256", "typ": "JWT"}, payload, self._next("sig"))
        )
        self._signed_in.add(token)
        return token

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """See `OAuthWorld`."""
        path = target.partition("?")[0]
        if not path.startswith(f"{IDP_PATH}/"):
            return super().answer(method, target, headers, body)
        with self._lock:
            self.log.append((method, path))
            if path == f"{IDP_PATH}/.well-known/openid-configuration":
                metadata = {
                    "issuer": self.idp,
                    "token_endpoint": f"{self.idp}/token",
                    **self.identity.metadata,
                }
                return json_reply(200, {name: value for name, value in metadata.items() if value is not None})
            if path == f"{IDP_PATH}/token":
                return self._exchange(headers, body)
            return 404, {"content-type": "text/plain"}, b"there is nothing here"

    def _exchange(self, headers: Mapping[str, str], body: bytes) -> Reply:
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        client_id, secret, method = client_of(form, headers)
        self.exchanges.append({**form, "authenticated_by": method})
        rules = self.identity
        if rules.raw is not None:
            return rules.raw
        if (client_id, secret) != (IDP_CLIENT, rules.secret):
            return json_reply(401, {"error": "invalid_client"})
        kinds = (form.get("grant_type"), form.get("requested_token_type"), form.get("subject_token_type"))
        if kinds != (EXCHANGE, ID_JAG, ID_TOKEN) or form.get("subject_token") not in self._signed_in:
            return json_reply(400, {"error": "invalid_request"})
        if rules.denies:
            return json_reply(400, {"error": rules.denies, "error_description": "not for this person"})
        scope = form.get("scope", "") if rules.scope is None else rules.scope
        jag = self._next("jag")
        self.made[jag] = {"aud": form["audience"], "resource": form.get("resource", ""), "scope": scope}
        answer = {
            "issued_token_type": ID_JAG,
            "access_token": jag,
            "token_type": "N_A",
            "expires_in": 300,
            **({"scope": scope} if scope else {}),
            **rules.given,
        }
        return json_reply(200, {name: value for name, value in answer.items() if value is not None})

    def _redeemed(self, form: Mapping[str, str], client_id: str) -> Reply:
        if form.get("grant_type") != JWT_BEARER:
            return super()._redeemed(form, client_id)
        claims = self.made.pop(form.get("assertion", ""), None)
        if claims is None or (claims["aud"], claims["resource"]) != (self.issuer, self.url):
            return json_reply(400, {"error": "invalid_grant"})
        scope = " ".join(word for word in form.get("scope", "").split() if word in claims["scope"].split())
        return json_reply(200, self._tokens(scope))


def _coded(part: object) -> str:
    data = part.encode() if isinstance(part, str) else json.dumps(part).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()
