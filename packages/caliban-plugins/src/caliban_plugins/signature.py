"""Signatures of archives, as minisign makes them: Ed25519, detached, in four lines.

A signature file is an untrusted comment, the signature (two bytes of algorithm, eight of the key's id, 64), a
trusted comment, and a signature of the signature with that comment. `Ed` signs the bytes themselves, `ED`
their BLAKE2b-512. Ed25519 itself is left to `cryptography`, the extra `signatures`.
"""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_plugins.errors import SignatureRefused

MAX_CHARS: Final = 4_000
SUFFIX: Final = ".minisig"
"""Where a signature lies that nobody names: beside the file, under its name with this."""
UNTRUSTED: Final = "untrusted comment:"
_TRUSTED: Final = "trusted comment: "
_LEGACY: Final = b"Ed"
_PREHASHED: Final = b"ED"
_KEY_BYTES: Final = 2 + 8 + 32
_SIGNATURE_BYTES: Final = 2 + 8 + 64
_TIME: Final = lazy_pattern(r"(?:^|[\t ])timestamp:(\d{1,15})(?:$|[\t ])", re.ASCII)


class PublicKey(Struct, frozen=True, kw_only=True):
    """A public key: its text in base64, as a person hands it on, its id, and its 32 bytes."""

    text: str
    key_id: str
    key: bytes


class SignedBy(Struct, frozen=True, kw_only=True):
    """What a signature that was verified says: by which key, in which form, and the comment that it covers.

    `signed_at` is in seconds since 1970, zero where the comment does not say.
    """

    key: str
    key_id: str
    prehashed: bool
    comment: str = ""
    signed_at: int = 0

    @property
    def words(self) -> str:
        """It for a person."""
        comment = f": {one_line(self.comment, max_chars=200)}" if self.comment else ""
        return f"minisign key {self.key_id}{comment}"


def read_public_key(text: str) -> PublicKey:
    """The key in `text`: base64, or the whole of a `.pub` file. Raises `SignatureRefused`."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) == 2 and lines[0].startswith(UNTRUSTED):
        lines = lines[1:]
    shown = repr(one_line(text, max_chars=80))
    if len(lines) != 1:
        raise SignatureRefused(f"{shown} is no public key of minisign", hint="one line that begins with RW")
    data = _decoded(lines[0], _KEY_BYTES, f"{shown} is no public key of minisign")
    if data[:2] != _LEGACY:
        raise SignatureRefused(f"{shown} is no public key of minisign", hint="one line that begins with RW")
    return PublicKey(text=lines[0], key_id=_key_id(data[2:10]), key=data[10:])


def verify_signature(data: bytes, text: str, keys: tuple[str, ...], what: str) -> SignedBy:
    """Who of `keys` has signed `data`, by the signature file `text`. `what` begins the errors.

    Raises `SignatureRefused` for one that is damaged, of another key, or of other bytes.
    """
    lines = text.removesuffix("\n").split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    if len(text) > MAX_CHARS or len(lines) != 4 or not lines[0].startswith(UNTRUSTED):
        raise _damaged(what, "it is no file of four lines that begins with an untrusted comment")
    if not lines[2].startswith(_TRUSTED):
        raise _damaged(what, "its trusted comment is missing")
    packed = _decoded(lines[1], _SIGNATURE_BYTES, f"{what}: its signature is damaged")
    whole = _decoded(lines[3], 64, f"{what}: the signature of its trusted comment is damaged")
    algorithm, key_id, signature = packed[:2], _key_id(packed[2:10]), packed[10:]
    if algorithm not in (_LEGACY, _PREHASHED):
        raise _damaged(what, f"the algorithm {one_line(repr(algorithm))} is not known here")
    pinned = [key for key in map(read_public_key, keys) if key.key_id == key_id]
    if not pinned:
        known = ", ".join(read_public_key(key).key_id for key in keys) or "none"
        raise SignatureRefused(
            f"{what}: it is signed by the key {key_id}, and what is pinned is {known}",
            hint="ask who signs it, by another way than this place, whether the key has changed",
        )
    key = pinned[0]
    signed = blake2b(data).digest() if algorithm == _PREHASHED else data
    comment = lines[2].removeprefix(_TRUSTED)
    if not _is_signed(key.key, signature, signed):
        raise SignatureRefused(
            f"{what}: it is not what the key {key_id} has signed",
            hint="whoever offers it has changed it, or somebody in between has: nothing is installed",
        )
    if not _is_signed(key.key, whole, signature + comment.encode("utf-8", "surrogateescape")):
        raise SignatureRefused(f"{what}: its trusted comment is not what the key {key_id} has signed")
    stamp = _TIME.search(comment)
    return SignedBy(
        key=key.text,
        key_id=key_id,
        prehashed=algorithm == _PREHASHED,
        comment=comment,
        signed_at=int(stamp[1]) if stamp is not None else 0,
    )


def refuse_downgrade(name: str, before: SignedBy | None, after: SignedBy | None) -> None:
    """Refuse what is less sure than what is there: unsigned, another key, an older form, an older signature.

    Raises `SignatureRefused`.
    """
    if before is None:
        return
    problem = ""
    if after is None:
        problem = "what is offered now is not signed"
    elif after.key != before.key:
        problem = f"what is offered now is signed by the key {after.key_id}"
    elif before.prehashed and not after.prehashed:
        problem = "what is offered now is signed in the older form, without a digest"
    elif after.signed_at < before.signed_at:
        problem = "what is offered now was signed before that"
    if problem:
        raise SignatureRefused(
            f"{name} is signed by the key {before.key_id}, and {problem}: nothing was changed",
            hint="where that is meant, remove it and install it again",
        )


def _is_signed(key: bytes, signature: bytes, data: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise SignatureRefused(
            "verifying a signature needs the package cryptography, which is not installed",
            hint="install it beside this program: the extra `signatures`",
        ) from None
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except InvalidSignature:
        return False
    except ValueError as error:
        raise SignatureRefused("the pinned key is no key of Ed25519") from error
    return True


def _decoded(text: str, size: int, words: str) -> bytes:
    """`text` as base64 of so many bytes, in the one way to write them. Raises `SignatureRefused`."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise SignatureRefused(f"{words}: no base64") from None
    if len(data) != size:
        raise SignatureRefused(f"{words}: {len(data)} bytes, where {size} are expected")
    if base64.b64encode(data).decode() != text:
        raise SignatureRefused(f"{words}: no base64 as it is written")
    return data


def _key_id(data: bytes) -> str:
    return data[::-1].hex().upper()


def _damaged(what: str, words: str) -> SignatureRefused:
    return SignatureRefused(
        f"{what}: its signature is damaged: {words}", hint="fetch it again, or ask who offers it"
    )
