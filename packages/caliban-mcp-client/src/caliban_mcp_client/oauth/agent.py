"""Who logs in: a seam, for the package knows no terminal and no browser."""

from __future__ import annotations

from typing import Protocol


class LoginAgent(Protocol):
    """The person's side of a login."""

    async def show(self, url: str, redirect_uri: str) -> None:
        """Show `url`, which is safe to be opened, and open it where there is a browser."""
        ...

    async def pasted(self) -> str | None:
        """The address that the browser ended at, as somebody pasted it; `None` where nobody will."""
        ...

    async def refused(self, words: str) -> None:
        """What was pasted cannot be used."""
        ...
