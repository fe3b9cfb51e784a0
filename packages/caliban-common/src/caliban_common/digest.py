"""SHA-256 and BLAKE2b for short texts, as the interpreter has them itself.

`hashlib` makes them with OpenSSL: to load that takes 1 to 3 ms, and a call of a tool would wait for it. It is
quicker from 10 KB on, so whole files are its business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    from _blake2 import blake2b

    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["blake2b", "sha256"]
