"""An ID token, as far as somebody who only passes it on has to look at it (OpenID Connect Core, section 2).

Its signature is for the provider to check, which has made it; what is checked here keeps the token of another
provider, or of another program, from being sent, and says plainly that one is over.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from binascii import Error
from typing import Any, Final

from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.endpoint import shown_url
from caliban_mcp_client.oauth.fetch import json_object, text_of
from caliban_mcp_client.oauth.values import IdentityProvider

MAX_CHARS: Final = 64 * 1024
LEEWAY_S: Final = 60.0
_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_ANEW: Final = "sign in there again, so that there is a new one"


def check_id_token(token: str, identity: IdentityProvider, now: float) -> None:
    """Raises `LoginFailed` for what is no ID token of this provider for this client, or is over."""
    claims = _claims(token)
    issuer = text_of(claims, "iss")
    if identity.issuer and issuer != identity.issuer:
        raise _refused(f"is from another issuer: {shown_url(issuer)}, not {shown_url(identity.issuer)}")
    audience = claims.get("aud")
    if identity.client_id not in (audience if isinstance(audience, list) else [audience]):
        raise _refused("was made for another client than idp_client_id")
    ends = claims.get("exp")
    if isinstance(ends, bool) or not isinstance(ends, int | float) or not 0 < ends < 1e11:
        raise _refused("does not say until when it counts")
    if ends + LEEWAY_S < now:
        over = time.strftime("%Y-%m-%d %H:%M", time.localtime(ends))
        raise _refused(f"is over since {over}", _ANEW)


def _claims(token: str) -> dict[str, Any]:
    parts = token.split(".") if len(token) <= MAX_CHARS else []
    if len(parts) != 3 or not all(part and set(part) <= _ALPHABET for part in parts):
        raise _refused("is no signed JWT")
    head, claims = (_decoded(part) for part in parts[:2])
    if head is None or claims is None:
        raise _refused("is no signed JWT")
    return claims


def _decoded(part: str) -> dict[str, Any] | None:
    try:
        return json_object(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (Error, ValueError):
        return None


def _refused(
    what: str, hint: str = "get the one that the identity provider made for this program"
) -> LoginFailed:
    return LoginFailed("identity", f"the ID token {what}; it was sent nowhere", hint=hint)
