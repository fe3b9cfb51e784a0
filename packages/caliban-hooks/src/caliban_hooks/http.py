"""Hooks that are addresses: the event as the body of a POST, the answer in the body of a 200."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_hooks.answer import MAX_OUTPUT_BYTES, HookAnswer, json_answer
from caliban_hooks.errors import BadHook, HookFailed
from caliban_hooks.ports import Post, PostRequest
from caliban_hooks.spec import HookSpec

_VARIABLE: Final = lazy_pattern(r"\$\{(\w+)\}|\$(\w+)", re.ASCII)
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


class UrlPattern(Struct, frozen=True, kw_only=True):
    """Where hooks may go: scheme, host and port are whole.

    A `*` stands for the first labels of the host, or for text in the path; without a path any is meant.
    """

    scheme: str
    host: str
    port: int
    path: str

    def allows(self, url: str) -> bool:
        """Whether `url` is meant."""
        parts = urlsplit(url)
        if (parts.scheme, parts.port or _PORTS.get(parts.scheme)) != (self.scheme, self.port):
            return False
        host = (parts.hostname or "").lower()
        if self.host.startswith("*."):
            fits = host.endswith(self.host[1:]) and len(host) > len(self.host) - 1
        else:
            fits = host == self.host
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return fits and _fits(self.path, path)


def read_patterns(texts: Iterable[str]) -> tuple[UrlPattern, ...]:
    """The list of addresses that hooks may ask. Raises `BadHook` for what would mean more than it says."""
    return tuple(_pattern(text.strip()) for text in texts)


def _pattern(text: str) -> UrlPattern:
    place = f"`allowed_http_hook_urls`: {one_line(text, max_chars=120)!r}"
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in _PORTS:
        raise BadHook(place, "must begin with https:// or http://")
    authority, slash, path = rest.partition("/")
    host, _, port = authority.partition(":")
    own = host.removeprefix("*.")
    if not own or re.fullmatch(r"[A-Za-z0-9.-]+", own) is None or own.startswith("."):
        raise BadHook(place, "the host must be complete; a * may stand for its first labels: *.example.com")
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65_536):
        raise BadHook(place, "the port is none")
    return UrlPattern(
        scheme=scheme,
        host=host.lower(),
        port=int(port) if port else _PORTS[scheme],
        path=f"/{path}" if slash else "/*",
    )


def _fits(pattern: str, path: str) -> bool:
    """Whether `path` is a pattern's, in which `*` is any text; in time linear in both for each `*`."""
    first, *rest = pattern.split("*")
    if not rest:
        return path == first
    if not path.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        start = path.find(piece, at)
        if start < 0:
            return False
        at = start + len(piece)
    return path.endswith(rest[-1]) and len(path) - len(rest[-1]) >= at


class Addresses(Struct, frozen=True, kw_only=True):
    """Asks hooks that are addresses. `env` has the variables that headers may hold, and no others."""

    post: Post
    allowed: tuple[UrlPattern, ...]
    env: Mapping[str, str]

    def check(self, spec: HookSpec) -> None:
        """Refuse a hook that may not go where it wants, or send what it wants. Raises `BadHook`."""
        self._headers(spec)
        url = spec.url
        try:
            parts = urlsplit(url)
            odd = parts.username is not None or parts.password is not None or parts.hostname is None
            odd = odd or parts.port == 0 or not url.isascii() or any(char <= " " for char in url)
        except ValueError:
            odd = True
        if odd or "$" in url or "\\" in url or "/.." in url or "#" in url:
            raise BadHook(spec.place, "the `url` must be plain: scheme, host and path, no user, no variable")
        if not any(pattern.allows(url) for pattern in self.allowed):
            shown = one_line(url, max_chars=120)
            raise BadHook(spec.place, f"{shown} is not in `allowed_http_hook_urls` of your own settings")

    async def ask(self, spec: HookSpec, event: bytes) -> HookAnswer:
        """The answer of `spec`, which is told `event`. Raises `HookFailed`."""
        headers = {"content-type": "application/json", **self._headers(spec)}
        request = PostRequest(url=spec.url, headers=headers, body=event, timeout_s=spec.timeout_s)
        try:
            answer = await self.post(request)
        except CalibanError as error:
            raise HookFailed(one_line(error.message)) from error
        if answer.status != 200:
            raise HookFailed(f"it answered with status {answer.status}, and only 200 is an answer")
        if answer.body is None:
            raise HookFailed(f"its answer is longer than {MAX_OUTPUT_BYTES // 1024} KiB")
        try:
            return json_answer(spec.event, answer.body.decode("utf-8"))
        except UnicodeDecodeError:
            raise HookFailed("its answer is not UTF-8") from None

    def _headers(self, spec: HookSpec) -> dict[str, str]:
        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self.env:
                raise BadHook(
                    spec.place, f"a header names ${name}, which `http_hook_allowed_env_vars` does not have"
                )
            return self.env[name]

        headers = {name.lower(): _VARIABLE.sub(value, text) for name, text in spec.headers.items()}
        for name, text in headers.items():
            if re.fullmatch(r"[!#$%&'*+.^_`|~0-9a-z-]+", name) is None or not _is_field(text):
                raise BadHook(spec.place, f"the header {one_line(name, max_chars=40)!r} cannot be sent")
        return headers


def _is_field(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()
