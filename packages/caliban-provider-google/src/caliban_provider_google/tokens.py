"""Access tokens for Vertex: where they come from, and how they are kept fresh."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.from_thread
import anyio.to_thread

from caliban_provider.errors import AuthenticationError, NetworkError, ProviderError
from caliban_provider.http import HttpClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.auth.credentials import Credentials
    from google.auth.transport import Request, Response

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
"""What a token must allow."""

_MAX_ANSWER_BYTES = 1024 * 1024


class TokenSource(Protocol):
    """Gives an access token, a fresh one whenever the last one is about to expire."""

    async def token(self) -> str:
        """A token that is valid now. Raises `ProviderError`."""
        ...

    def forget(self) -> None:
        """The last token was refused: do not give it again."""
        ...


class StaticToken:
    """One token that somebody else keeps fresh."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        """The token."""
        return self._token

    def forget(self) -> None:
        """There is no other."""


class GoogleAuthTokens:
    """`credentials` of the library `google-auth` (the extra `vertex`), or application default ones.

    The library is loaded with the first token and works in a thread; its requests go through `http`.
    """

    def __init__(self, http: HttpClient, credentials: Credentials | None = None) -> None:
        self._http = http
        self._lock = anyio.Lock()
        self._credentials = credentials
        self._stale = True

    async def token(self) -> str:
        """A token that is valid now.

        Raises `AuthenticationError` without credentials, `ProviderError` where they cannot be refreshed.
        """
        async with self._lock:
            if self._stale or self._credentials is None or not self._credentials.valid:
                await anyio.to_thread.run_sync(self._refresh)
                self._stale = False
            return str(self._credentials.token) if self._credentials is not None else ""

    def forget(self) -> None:
        """Ask for another token next time."""
        self._stale = True

    def _refresh(self) -> None:
        try:
            import google.auth
            from google.auth.exceptions import GoogleAuthError, TransportError
        except ImportError as error:
            raise AuthenticationError(
                "Vertex needs the package google-auth",
                hint="pip install 'caliban-provider-google[vertex]', or set GOOGLE_CLOUD_ACCESS_TOKEN.",
            ) from error
        try:
            if self._credentials is None:
                self._credentials, _ = google.auth.default(scopes=list(SCOPES))
            self._credentials.refresh(_bridge(self._http))  # type: ignore[no-untyped-call]
        except TransportError as error:
            if isinstance(error.__cause__, ProviderError):
                raise error.__cause__ from None
            raise NetworkError(f"Google's token service cannot be reached: {_line(error)}") from error
        except GoogleAuthError as error:
            raise AuthenticationError(
                f"Google gives no access token: {_line(error)}",
                hint="Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS.",
            ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _bridge(http: HttpClient) -> Request:
    """`http` as the library wants it: called from a thread, while the event loop sends."""
    from google.auth.exceptions import TransportError
    from google.auth.transport import Request, Response

    class Received(Response):
        def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
            self._parts = (status, headers, data)

        @property
        def status(self) -> int:
            return self._parts[0]

        @property
        def headers(self) -> Mapping[str, str]:
            return self._parts[1]

        @property
        def data(self) -> bytes:
            return self._parts[2]

    class Bridge(Request):
        def __call__(
            self,
            url: str,
            method: str = "GET",
            body: bytes | str | None = None,
            headers: Mapping[str, str] | None = None,
            timeout: float | None = None,
            **options: Any,
        ) -> Response:
            data = body.encode() if isinstance(body, str) else body or b""
            send = partial(_fetch, http, method, url, dict(headers or {}), data)
            try:
                return Received(*anyio.from_thread.run(send))
            except ProviderError as error:
                raise TransportError(str(error)) from error  # type: ignore[no-untyped-call]

    return Bridge()


async def _fetch(
    http: HttpClient, method: str, url: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    async with http.stream(method, url, headers=headers, body=body) as answer:
        return answer.status, answer.headers, await answer.read(_MAX_ANSWER_BYTES)
