"""Which certificates are trusted."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from caliban_provider import faults
from caliban_provider.errors import InvalidRequest


def default_context() -> ssl.SSLContext:
    """A context that verifies, from `SSL_CERT_FILE`, `SSL_CERT_DIR`, the system's store or the bundled one.

    Raises `InvalidRequest` for certificates that cannot be read.

    A hashed directory of the system is preferred to any bundle: it holds what the machine's owner trusts,
    and its certificates are read when they are needed instead of all at once (20 ms).
    """
    context = _trusting()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _trusting() -> ssl.SSLContext:
    cafile, capath = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if cafile or capath:
        try:
            return ssl.create_default_context(cafile=cafile or None, capath=capath or None)
        except OSError as error:  # an `SSLError` is one
            raise InvalidRequest(
                f"the certificates of SSL_CERT_FILE or SSL_CERT_DIR cannot be read: {faults.line(error)}",
                hint="name a file of certificates (PEM), or unset the variable",
            ) from None
    if (hashed := _hashed_directory()) is not None:
        return ssl.create_default_context(capath=hashed)
    import certifi

    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return context


def _hashed_directory() -> str | None:
    """The system's certificate directory, when it is one that OpenSSL can look names up in."""
    directory = ssl.get_default_verify_paths().capath
    if not directory:
        return None
    try:
        has_hashes = any(entry.suffix == ".0" for entry in Path(directory).iterdir())
    except OSError:
        return None
    return directory if has_hashes else None
