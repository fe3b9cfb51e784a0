"""URL rules: the host is matched label by label, the rest as text.

In a host, a leading `*` label stands for one or more labels, a trailing one for at most two, so that
`https://docs.*` means a site named docs and not any host that begins with it. Nothing here opens anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.characters import hidden_character
from caliban_permissions.rules.glob import TextGlob, compile_text

_URL = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*):(?://)?(.*)", re.DOTALL)
_AUTHORITY_END = lazy_pattern(r"[/?#]")
_TRAILING_LABELS = 2
_DEFAULT_PORTS: Mapping[str, str] = {"http": "80", "https": "443", "ws": "80", "wss": "443"}
_DOMAIN = "domain:"
_INWARD = ("localhost", "local", "internal", "intranet", "lan", "home.arpa")
"""Ends of names that no public host has."""


class Url(Struct, frozen=True):
    """A URL cut into what rules compare; `refused` says why it is not one that can be fetched safely."""

    given: str
    scheme: str = ""
    host: str = ""
    port: str = ""
    rest: str = ""
    userinfo: bool = False
    refused: str | None = None

    @property
    def normal(self) -> str:
        """The URL in its normal spelling, without user information."""
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{self.host}{port}{self.rest}"


class UrlGlob(Struct, frozen=True):
    """A compiled URL pattern. Without `labels` the whole pattern is matched as text."""

    text: TextGlob
    scheme: TextGlob | None = None
    labels: tuple[TextGlob | None, ...] = ()
    port: str = ""
    rest: TextGlob | None = None

    def allows(self, url: Url) -> bool:
        """Whether the pattern covers the URL, narrowly."""
        if url.refused or url.userinfo or _has_dot_segments(url.rest):
            return False
        if self.scheme is None:
            return self.text.matches(url.normal)
        return (
            self.scheme.matches(url.scheme)
            and url.port == self.port
            and _labels_match(self.labels, tuple(url.host.split(".")), _TRAILING_LABELS)
            and (self.rest is None or self.rest.matches(url.rest))
        )

    def touches(self, url: Url) -> bool:
        """Whether a deny or ask rule with this pattern means the URL, in any spelling."""
        if any(self.text.matches(spelled) for spelled in (url.given, url.given.lower(), url.normal)):
            return True
        if self.scheme is None or url.refused:
            return False
        return (
            self.scheme.matches(url.scheme)
            and (not self.port or url.port == self.port)
            and _labels_match(self.labels, tuple(url.host.split(".")), len(url.host))
            and (self.rest is None or self.rest.matches(url.rest) or self.rest.matches(url.rest.lower()))
        )


def parse_url(text: str) -> Url:
    """Cut a URL without the leniency of URL libraries: what two readers could read differently is refused."""
    if hidden_character(text) is not None or any(char.isspace() for char in text):
        return Url(text, refused="it contains a blank or a character that does not show")
    if "\\" in text:
        return Url(text, refused="it contains a backslash")
    parsed = _URL.fullmatch(text)
    if parsed is None:
        return Url(text, refused="it has no scheme")
    scheme, after = parsed.group(1).lower(), parsed.group(2)
    cut = _AUTHORITY_END.search(after)
    authority = after[: cut.start()] if cut else after
    rest = after[cut.start() :] if cut else ""
    userinfo, at, hostport = authority.rpartition("@")
    host, port = _split_port(hostport)
    host = host.lower().rstrip(".")
    refused = _refused_host(host, port)
    if refused is None and not host.isascii():
        host = _punycode(host)
        refused = None if host else "its host is not a valid international name"
    if port == _DEFAULT_PORTS.get(scheme):
        port = ""
    rest = rest if rest.startswith("/") else "/" + rest
    return Url(text, scheme, host, port, rest, bool(at or userinfo), refused)


def compile_url(pattern: str) -> UrlGlob:
    """Compile a URL pattern, or `domain:host`; raises `GlobSyntaxError`."""
    if pattern.startswith(_DOMAIN):
        host = pattern[len(_DOMAIN) :].lower()
        return UrlGlob(compile_text(f"*://{host}/*"), compile_text("http*"), _compile_host(host))
    text = compile_text(pattern)
    scheme, separator, after = pattern.partition("://")
    if not separator:
        return UrlGlob(text)
    cut = _AUTHORITY_END.search(after)
    authority = (after[: cut.start()] if cut else after).lower()
    host, port = _split_port(authority)
    if port == _DEFAULT_PORTS.get(scheme.lower()):
        port = ""
    if not cut:
        rest = None if host.endswith("*") else compile_text("/")
    else:
        rest = compile_text(after[cut.start() :])
    return UrlGlob(text, compile_text(scheme.lower()), _compile_host(host), port, rest)


def open_host(pattern: str) -> bool:
    """Whether a URL pattern leaves the end of the host open, so that anybody can own a host it covers."""
    if pattern.startswith(_DOMAIN):
        host = pattern[len(_DOMAIN) :]
    else:
        _, separator, after = pattern.partition("://")
        if not separator:
            return "*" in pattern
        cut = _AUTHORITY_END.search(after)
        host = _split_port(after[: cut.start()] if cut else after)[0]
    labels = host.split(".")
    return any("*" in label for label in labels[-2:])


def unreachable(url: Url, listed: frozenset[str]) -> str | None:
    """Why pages at `url` are not fetched, as far as its text says; `None` where a look at the host decides.

    `listed` are hosts, `name` or `name:port`, that a person opened: they are asked whatever they are.
    """
    if url.scheme not in ("http", "https"):
        return "it is no address of the web (http or https)"
    host = url.host.removeprefix("[").removesuffix("]")
    port = url.port or _DEFAULT_PORTS[url.scheme]
    if {host, f"{host}:{port}"} & listed:
        return None
    if port not in _DEFAULT_PORTS.values():
        return f"its port {port[:8]} is none of the web (80, 443)"
    from caliban_common.addresses import is_public, reads_as_number

    if ":" in host or re.fullmatch(r"[0-9]+(\.[0-9]+){3}", host):
        return None if is_public(host) else "its host is no public address"
    if reads_as_number(host):
        return "its host is a number that could be read in several ways"
    if "." not in host or any(host == end or host.endswith(f".{end}") for end in _INWARD):
        return "its host is a name of this machine or its network"
    return None


def _has_dot_segments(rest: str) -> bool:
    """Whether the path climbs, so that the server sees another path than the one compared."""
    path = re.split("[?#]", rest, maxsplit=1)[0].lower().replace("%2e", ".").replace("%2f", "/")
    return any(segment in (".", "..") for segment in path.split("/"))


def _compile_host(host: str) -> tuple[TextGlob | None, ...]:
    return tuple(None if label == "*" else compile_text(label) for label in host.split("."))


def _labels_match(pattern: tuple[TextGlob | None, ...], labels: tuple[str, ...], trailing: int) -> bool:
    """Match labels; `None` is a `*` label: any number first, `trailing` at most last, one in between."""
    if pattern == (None,):
        return True
    if pattern and pattern[0] is None:
        rest = pattern[1:]
        return len(labels) > len(rest) and _labels_match(rest, labels[len(labels) - len(rest) :], 1)
    if pattern and pattern[-1] is None:
        head = pattern[:-1]
        extra = len(labels) - len(head)
        return 1 <= extra <= trailing and _labels_match(head, labels[: len(head)], 1)
    return len(pattern) == len(labels) and all(
        glob is None or glob.matches(label) for glob, label in zip(pattern, labels, strict=True)
    )


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, after = authority.partition("]")
        return host + bracket, after.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


def _refused_host(host: str, port: str) -> str | None:
    if not host:
        return "it has no host"
    if "%" in host:
        return "its host contains a percent sign"
    if port and not (port.isascii() and port.isdigit()):
        return "its port is not a number"
    for char in host:
        if not char.isascii() and (not char.isalnum() and not unicodedata.combining(char)):
            return f"its host contains U+{ord(char):04X}"
        if not char.isascii() and any(part.isascii() for part in unicodedata.normalize("NFKC", char)):
            return f"its host contains U+{ord(char):04X}, which stands for another character"
    return None


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
