"""A signed word of a client about itself, in the place of a secret (RFC 7521, 7523)."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from typing import Any, Final

import msgspec
from msgspec import Struct

from caliban_mcp_client.errors import LoginFailed

LIFE_S: Final = 300


class Assertion(Struct, frozen=True, kw_only=True):
    """What is signed with: a private key as PEM (P-256, or RSA), for the issuer `audience`."""

    key: str
    audience: str

    def __repr__(self) -> str:
        return f"Assertion(audience={self.audience!r})"

    def signed(self, client_id: str, now: float) -> str:
        """A word that counts for five minutes, and once. Raises `LoginFailed` for a key that cannot sign."""
        key = _loaded(self.key)
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": self.audience,
            "jti": secrets.token_urlsafe(24),
            "iat": int(now),
            "exp": int(now) + LIFE_S,
        }
        algorithm = _algorithm(key)
        head = _coded(msgspec.json.encode({"alg": algorithm, "typ": "JWT"}))
        signing = head + b"." + _coded(msgspec.json.encode(claims))
        return (signing + b"." + _coded(_signature(key, algorithm, signing))).decode("ascii")


def _loaded(pem: str) -> Any:
    try:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise LoginFailed(
            "client",
            "signing needs the package cryptography, which is not installed",
            hint="install it beside this program, or give the client a secret instead of a key",
        ) from None
    try:
        return load_pem_private_key(pem.encode("utf-8", "replace"), password=None)
    except (ValueError, TypeError) as error:
        raise LoginFailed("client", "private_key is no private key in PEM without a password") from error


def _algorithm(key: Any) -> str:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if isinstance(key, RSAPrivateKey):
        return "RS256"
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1):
        return "ES256"
    raise LoginFailed("client", "private_key is neither RSA nor P-256, and nothing else is signed with")


def _signature(key: Any, algorithm: str, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    if algorithm == "RS256":
        return bytes(key.sign(data, PKCS1v15(), SHA256()))
    r, s = decode_dss_signature(key.sign(data, ECDSA(SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def _coded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
