"""The head of a request to the proxy: one meaning, or none (RFC 9112).

Stricter than libraries are, which read leniently what others may read otherwise: that is how requests are
smuggled. Pure; the oracle of the fuzzing tests is that it never raises.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_sandbox.egress.hosts import plain_host, shown
from caliban_sandbox.egress.values import Refusal

MAX_FIELDS: Final = 100
_LINE: Final = lazy_pattern(r"([A-Za-z]{1,20}) ([\x21-\x7e]+) (HTTP/1\.[01])", re.ASCII)
_FIELD: Final = lazy_pattern(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)", re.ASCII)
_PORT: Final = lazy_pattern(r"[0-9]{1,5}", re.ASCII)
_LENGTH: Final = lazy_pattern(r"[0-9]{1,15}", re.ASCII)
_HTTP_PORT: Final = 80
_HOP_BY_HOP: Final = frozenset(
    (
        *("connection", "keep-alive", "te", "trailer", "upgrade", "http2-settings", "proxy-connection"),
        *("proxy-authorization", "proxy-authenticate", "proxy-authentication-info"),
    )
)
_FRAMING: Final = frozenset(("host", "content-length", "transfer-encoding"))


class RequestHead(Struct, frozen=True, kw_only=True):
    """A request that has one meaning. `host` is in the spelling of `plain_host`.

    `path` is what is asked of the server, empty for a tunnel. `fields` are as they came. `length` is that
    of the body in bytes, `None` for one in chunks.
    """

    method: str
    host: str
    port: int
    path: str
    version: str
    fields: tuple[tuple[str, str], ...]
    length: int | None = 0

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes are to be passed on as they are."""
        return self.method == "CONNECT"

    def field(self, name: str) -> str | None:
        """The value of the first field with that lower-case name."""
        return next((value for key, value in self.fields if key.lower() == name), None)

    def onward(self) -> bytes:
        """The head as the server is sent it: for one request, without what is between client and proxy."""
        named = {word.strip().lower() for key, value in self.fields if key.lower() == "connection"
                 for word in value.split(",")}  # fmt: skip
        dropped = (_HOP_BY_HOP | named) - _FRAMING
        lines = [f"{self.method} {self.path} {self.version}"]
        lines += [f"{key}: {value}" for key, value in self.fields if key.lower() not in dropped]
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


def is_hopeless(head: bytes | bytearray) -> bool:
    """Whether what begins so can be no head: it holds a NUL, or half of an end of line."""
    return re.search(rb"\x00|(?<!\r)\n|\r(?=[^\n])", head) is not None


def parse_head(raw: bytes) -> RequestHead | Refusal:
    """`raw` is all before the empty line, without the end of the last line."""
    if is_hopeless(raw + b"\r\n"):
        return _bad("lines must end with CR LF, and hold no NUL")
    first, *lines = raw.decode("latin-1").split("\r\n")
    if (line := _LINE.fullmatch(first)) is None:
        return _bad("the first line is no request of HTTP/1.1")
    if len(lines) > MAX_FIELDS:
        return _bad(f"the request has more than {MAX_FIELDS} header fields")
    fields = [_FIELD.fullmatch(text) for text in lines]
    pairs = tuple((match[1], match[2].strip(" \t")) for match in fields if match is not None)
    if len(pairs) != len(lines):
        return _bad("a header field is malformed or continued on a second line")
    method, target, version = line.groups()
    place = _place(method, target)
    if isinstance(place, Refusal):
        return place
    length = _body_length(pairs, version)
    if isinstance(length, Refusal):
        return length
    host, port, path = place
    head = RequestHead(
        method=method, host=host, port=port, path=path, version=version, fields=pairs, length=length
    )
    return _odd_host(head) or head


def _place(method: str, target: str) -> tuple[str, int, str] | Refusal:
    """Host, port and path of the target."""
    if method == "CONNECT":
        parsed = _authority(target, None)
        if isinstance(parsed, Refusal):
            return parsed
        return (*parsed, "")
    if target[:7].lower() != "http://":
        return _bad("a request to this proxy is CONNECT host:port, or names a URL with http://")
    if "#" in target:
        return _bad("the URL has a fragment, which is not sent")
    rest = target[7:]
    end = next((place for place, char in enumerate(rest) if char in "/?"), len(rest))
    parsed = _authority(rest[:end], _HTTP_PORT)
    if isinstance(parsed, Refusal):
        return parsed
    path = rest[end:]
    return (*parsed, path if path.startswith("/") else f"/{path}")


def _authority(text: str, default_port: int | None) -> tuple[str, int] | Refusal:
    """Host and port of `host:port`; where both have no port, it is refused."""
    if "@" in text:
        return _bad("the URL carries user information, which is not sent on")
    name, _, number = text.rpartition(":")
    if text.endswith("]") or _PORT.fullmatch(number) is None:
        name, number = text, ""
    host = plain_host(name)
    port = int(number or default_port or 0)
    if host is None:
        line = f"{shown(name)} is no host that can be compared with sandbox.network.allowed_domains"
        return Refusal(status=403, line=line, host=shown(name), port=port)
    if not 0 < port < 1 << 16:
        return _bad(f"{shown(text)} names no port")
    return host, port


def _body_length(fields: tuple[tuple[str, str], ...], version: str) -> int | Refusal | None:
    lengths = [value for key, value in fields if key.lower() == "content-length"]
    codings = [value for key, value in fields if key.lower() == "transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        return _bad("the length of the body is said twice")
    if codings:
        if codings[0].lower() != "chunked" or version == "HTTP/1.0":
            return _bad("the transfer coding of the body is not chunked")
        return None
    if lengths and _LENGTH.fullmatch(lengths[0]) is None:
        return _bad("the length of the body is no number")
    return int(lengths[0]) if lengths else 0


def _odd_host(head: RequestHead) -> Refusal | None:
    """What is wrong with the field `Host`, if anything."""
    named = [value for key, value in head.fields if key.lower() == "host"]
    if len(named) > 1 or (not named and head.version == "HTTP/1.1"):
        return _bad("the request must have one field Host")
    if head.is_tunnel and head.length != 0:
        return _bad("a request for a tunnel has no body")
    default_port = head.port if head.is_tunnel else _HTTP_PORT
    if named and _authority(named[0], default_port) != (head.host, head.port):
        return _bad(f"the field Host is not that of the request, {head.host}:{head.port}")
    return None


def _bad(line: str) -> Refusal:
    return Refusal(status=400, line=line)
