"""SHA-256 and BLAKE2b of short texts, by what the interpreter has of its own.

`hashlib` makes them with OpenSSL: to load that takes 1 to 3 ms, and a call of a tool would wait for it. It is
quicker from 10 KB on, so whole files are its business. Nothing is loaded before the first digest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hashlib


def sha256(data: bytes) -> hashlib._Hash:
    """SHA-256 of `data`, as `hashlib.sha256` gives it."""
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as own  # type: ignore[import-not-found,unused-ignore]
        else:
            from _sha256 import sha256 as own  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256 as own
    made: hashlib._Hash = own(data)
    return made


def blake2b(data: bytes, *, digest_size: int) -> hashlib.blake2b:
    """BLAKE2b of `data` in `digest_size` bytes, as `hashlib.blake2b` gives it."""
    from _blake2 import blake2b as own

    return own(data, digest_size=digest_size)
