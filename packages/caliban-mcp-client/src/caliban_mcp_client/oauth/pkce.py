"""Proof that whoever brings the code is whoever asked for it (RFC 7636), and the mark of one login."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256

from msgspec import Struct


class Proof(Struct, frozen=True, kw_only=True):
    """What one login is known by: used once, and never stored. `state` and `verifier` are secrets."""

    state: str
    verifier: str

    def __repr__(self) -> str:
        return "Proof()"

    @property
    def challenge(self) -> str:
        """What of the verifier the browser may see: S256."""
        digest = sha256(self.verifier.encode("ascii")).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def new_proof() -> Proof:
    """A fresh one, of 256 bits each."""
    return Proof(state=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(48))
