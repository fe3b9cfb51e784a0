"""Who says that we may: headers for requests to one server, and what happens when it says no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct


class Authorization(Protocol):
    """Gives the headers of each request to one server. They go to its origin only, and follow no redirect."""

    async def headers(self) -> Mapping[str, str]:
        """What is sent beside the headers of the target, which win over them; may renew a token first."""
        ...

    async def challenged(self, status: int, www_authenticate: str) -> bool:
        """The server answered 401 or 403; True where the same request is worth another try, three at most.

        `www_authenticate` is the header, several of them joined by a comma, or empty. Never asked where the
        target has an `Authorization` header of its own.
        """
        ...


class StaticAuthorization(Struct, frozen=True, kw_only=True):
    """The same headers each time; what the server says to them is final."""

    values: Mapping[str, str]

    async def headers(self) -> Mapping[str, str]:
        """The headers."""
        return self.values

    async def challenged(self, status: int, www_authenticate: str) -> bool:
        """There is nothing else to try."""
        del status, www_authenticate
        return False


def bearer(token: str) -> StaticAuthorization:
    """A fixed token as `Authorization: Bearer`."""
    return StaticAuthorization(values={"authorization": f"Bearer {token}"})
