"""AWS Signature Version 4 over one request, pure: the clock and the keys are given.

Source: "Create a signed AWS API request" in the AWS IAM user guide. The path is encoded once more than it is
sent, as every service but S3 wants it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from urllib.parse import SplitResult, quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.secret import masked_repr
from caliban_provider.call import Prepared

ALGORITHM = "AWS4-HMAC-SHA256"

_DEFAULT_PORTS = (("http", ":80"), ("https", ":443"))


class AwsKeys(Struct, frozen=True, kw_only=True):
    """What signs: `session_token` belongs to keys that pass."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return masked_repr(self, "secret_access_key", "session_token")


def signed(request: Prepared, *, keys: AwsKeys, region: str, service: str, at: datetime) -> Prepared:
    """`request` with the headers that sign it; every header that it has is signed. `at` is in UTC."""
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    parts = urlsplit(request.url)
    headers = {name.lower(): value for name, value in request.headers.items()} | {"x-amz-date": stamp}
    if keys.session_token:
        headers["x-amz-security-token"] = keys.session_token
    names, canonical = _canonical(request, parts, {"host": _host(parts), **headers})
    scope = (stamp[:8], region, service, "aws4_request")
    string_to_sign = "\n".join([ALGORITHM, stamp, "/".join(scope), sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, string_to_sign.encode(), "sha256").hex()
    credential = "/".join((keys.access_key_id, *scope))
    headers["authorization"] = (
        f"{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    )
    return replace(request, headers=headers)


def _canonical(request: Prepared, parts: SplitResult, headers: Mapping[str, str]) -> tuple[str, str]:
    """The names of the signed headers, and the form of the request that both sides hash."""
    canonical_headers = sorted((name, " ".join(value.split())) for name, value in headers.items())
    names = ";".join(name for name, _ in canonical_headers)
    lines = [
        request.method.upper(),
        quote(_plain(parts.path), safe="/~"),
        _query(parts.query),
        *[f"{name}:{value}" for name, value in canonical_headers],
        "",
        names,
        sha256(request.body).hexdigest(),
    ]
    return names, "\n".join(lines)


def _plain(path: str) -> str:
    """`path` without empty segments and dots."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    end = "/" if kept and path.endswith("/") else ""
    return f"/{'/'.join(kept)}{end}"


def _query(query: str) -> str:
    pairs = (pair.partition("=") for pair in query.split("&")) if query else ()
    return "&".join(f"{name}={value}" for name, value in sorted((name, value) for name, _, value in pairs))


def _host(parts: SplitResult) -> str:
    """The host header: the port only where it is not the scheme's own."""
    host = parts.netloc.rpartition("@")[2]
    for scheme, port in _DEFAULT_PORTS:
        if parts.scheme == scheme:
            host = host.removesuffix(port)
    return host
