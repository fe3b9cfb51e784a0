"""Access tokens of Google Cloud: a given one, or those of the library `google-auth` (the extra `google`).

The library is slow to load and blocks, so it works in a thread; what it asks of token services goes through
our own connections on the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any, Protocol

import anyio
import anyio.from_thread
import anyio.to_thread
from msgspec import Struct

from caliban_common.secret import masked_repr
from caliban_provider.credential import Credential
from caliban_provider.error_body import clean
from caliban_provider.errors import AuthenticationError, NetworkError, ProviderError
from caliban_provider.http import HttpClient

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""What a token must be good for."""

MAX_ANSWER_BYTES = 1024 * 1024
"""How much of a token service's answer is read."""

_TIMEOUT_S = 30.0


class GoogleToken(Struct, frozen=True, kw_only=True):
    """A token, the project that its credentials belong to, and the one that pays; empty is not known."""

    value: str
    project: str = ""
    quota_project: str = ""

    def __repr__(self) -> str:
        return masked_repr(self, "value")


class TokenSource(Protocol):
    """Gets tokens; `fetch` is what a `CredentialCache` asks."""

    async def fetch(self, refused: bool) -> Credential[GoogleToken]:
        """A token that is good now; `refused` says that the one before was turned away.

        Raises `ProviderError`: `AuthenticationError` where there is none to be had.
        """
        ...


class GivenToken:
    """A token that was given, and stays."""

    def __init__(self, value: str) -> None:
        self._token = Credential(value=GoogleToken(value=value))

    async def fetch(self, refused: bool) -> Credential[GoogleToken]:
        """What was given."""
        return self._token


class DefaultTokens:
    """Tokens for the application default credentials: a key file, a login with gcloud, the machine's account.

    `credentials` are those of the library to use instead. `package` is what to install where the library is
    missing, `variable` the environment variable that takes a ready token.
    """

    def __init__(self, http: HttpClient, *, package: str, variable: str, credentials: Any = None) -> None:
        self._http = http
        self._package = package
        self._variable = variable
        self._given = credentials
        self._credentials: Any = credentials
        self._project = ""

    async def fetch(self, refused: bool) -> Credential[GoogleToken]:
        """A new token.

        Raises `AuthenticationError` when there are no credentials or they do not serve, `NetworkError` when a
        token service cannot be reached.
        """
        return await anyio.to_thread.run_sync(self._look, refused, abandon_on_cancel=True)

    def _look(self, refused: bool) -> Credential[GoogleToken]:
        try:
            import google.auth
            from google.auth.exceptions import GoogleAuthError, TransportError
        except ImportError:
            raise AuthenticationError(
                "there is no token for Vertex, and google-auth, which gets one, is not installed",
                hint=f"pip install '{self._package}', or set {self._variable}",
            ) from None
        request = LoopRequest(self._http)
        try:
            if self._credentials is None or (refused and self._given is None):
                self._credentials, project = google.auth.default(
                    scopes=[SCOPE],
                    request=request,  # type: ignore[arg-type]  # it is called, and nothing else
                )
                self._project = project or ""
            self._credentials.refresh(request)
        except (GoogleAuthError, OSError, ValueError) as error:
            self._credentials = self._given
            if isinstance(error, TransportError):
                raise _unreached(error) from None
            raise AuthenticationError(
                f"there is no token for Vertex: {clean(str(error))}",
                hint="run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS or "
                f"{self._variable}",
            ) from error
        return self._fetched()

    def _fetched(self) -> Credential[GoogleToken]:
        passes = getattr(self._credentials, "expiry", None)
        token = GoogleToken(
            value=str(self._credentials.token),
            project=self._project,
            quota_project=getattr(self._credentials, "quota_project_id", None) or "",
        )
        # The library tells the end in UTC, without saying so.
        return Credential(
            value=token, expires_at_s=None if passes is None else passes.replace(tzinfo=UTC).timestamp()
        )


def _unreached(error: Exception) -> ProviderError:
    """What our own connections said of a token service, or what the library says of one."""
    if isinstance(error.__cause__, ProviderError):
        return error.__cause__
    return NetworkError(f"Google's token service cannot be reached: {clean(str(error))}")


class TokenResponse(Struct, frozen=True, kw_only=True):
    """What a token service said, as the vendor's library wants it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class LoopRequest:
    """The vendor's `google.auth.transport.Request`: called in a worker thread, it asks on the event loop."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> TokenResponse:
        """The answer, whatever its status. Raises the library's `TransportError` when there is none."""
        from google.auth.exceptions import TransportError

        data = body.encode() if isinstance(body, str) else body or b""
        try:
            return anyio.from_thread.run(self._ask, method, url, dict(headers or {}), data, timeout)
        except (ProviderError, TimeoutError) as error:
            raise TransportError(str(error)) from error  # type: ignore[no-untyped-call]

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, timeout: float | None
    ) -> TokenResponse:
        with anyio.fail_after(timeout or _TIMEOUT_S):
            async with self._http.stream(method, url, headers=headers, body=body) as answer:
                data = await answer.read(MAX_ANSWER_BYTES)
                return TokenResponse(status=answer.status, headers=answer.headers, data=data)
