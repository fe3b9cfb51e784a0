"""Keys and signatures of minisign, made here: for tests of what verifies them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import blake2b

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass
class Signer:
    """One key, and what it signs."""

    secret: Ed25519PrivateKey
    key_id: bytes

    @property
    def public(self) -> str:
        """The public key as it is handed on."""
        return _coded(b"Ed" + self.key_id + self.secret.public_key().public_bytes_raw())

    def sign(self, data: bytes, *, prehashed: bool = True, at: int = 1_700_000_000, name: str = "x") -> str:
        """The signature file of `data`."""
        comment = f"timestamp:{at}\tfile:{name}" + ("\thashed" if prehashed else "")
        signature = self.secret.sign(blake2b(data).digest() if prehashed else data)
        whole = self.secret.sign(signature + comment.encode())
        lines = (
            "untrusted comment: signature from minisign secret key",
            _coded((b"ED" if prehashed else b"Ed") + self.key_id + signature),
            f"trusted comment: {comment}",
            _coded(whole),
        )
        return "\n".join(lines) + "\n"


def signer(seed: int = 1) -> Signer:
    """A key that is the same for each number."""
    return Signer(Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32), bytes([seed]) * 8)


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode()
