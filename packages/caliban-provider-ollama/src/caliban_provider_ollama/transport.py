"""Where the server is, and with which headers it is asked."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from caliban_provider.call import Prepared
from caliban_provider.errors import InvalidRequest
from caliban_provider.options import checked_key
from caliban_provider.provider import ProviderOptions

DEFAULT_BASE_URL = "http://127.0.0.1:11434"

_DEFAULT_PORT = 11434
_ANY_ADDRESS = ("0.0.0.0", "[::]")
_ENDINGS = ("/chat", "/api", "/v1")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Transport:
    """The server at `options.base_url`, in any form that OLLAMA_HOST may have.

    A server on this machine needs no key; one elsewhere gets it in `authorization`. Headers of `options` win.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self.root: str = root_url(options.base_url)
        key = checked_key(options.api_key, vendor="Ollama")
        self.secrets: tuple[str, ...] = (key,) if key else ()
        headers = {"content-type": "application/json", "accept": "application/x-ndjson, application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        headers.update({name.lower(): value for name, value in options.headers.items()})
        self._headers = headers

    def post(self, path: str, body: bytes) -> Prepared:
        """A request that sends `body`."""
        return Prepared(method="POST", url=self.root + path, headers=self._headers, body=body)

    def get(self, path: str) -> Prepared:
        """A request without a body."""
        headers = {name: value for name, value in self._headers.items() if name != "content-type"}
        return Prepared(method="GET", url=self.root + path, headers=headers)


def root_url(base_url: str | None) -> str:
    """The server's address out of an URL, `host`, `host:port` or `:port`.

    Without a scheme it is http and the usual port. Who listens on every address is asked on this machine's.
    Raises `InvalidRequest` for what is no address.
    """
    given = (base_url or "").strip().strip("\"'")
    if not given:
        return DEFAULT_BASE_URL
    has_scheme = _SCHEME.match(given) is not None
    try:
        parts = urlsplit(given if has_scheme else f"http://{given}")
        port = parts.port
    except ValueError:
        raise _no_address() from None
    if parts.scheme not in ("http", "https") or parts.query or " " in given:
        raise _no_address()
    host = parts.hostname or ""
    if not host and has_scheme:
        raise _no_address()
    host = f"[{host}]" if ":" in host else host
    host = "127.0.0.1" if host in ("", *_ANY_ADDRESS) else host
    if port is None and not has_scheme:
        port = _DEFAULT_PORT
    path = parts.path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending).rstrip("/")
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{path}"


def _no_address() -> InvalidRequest:
    return InvalidRequest(
        "the address of Ollama is not an http or https URL, nor a host",
        hint="check OLLAMA_BASE_URL, OLLAMA_HOST or the settings: http://127.0.0.1:11434 is the usual one",
    )
