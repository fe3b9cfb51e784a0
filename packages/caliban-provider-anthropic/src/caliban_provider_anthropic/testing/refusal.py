"""How a strict check says no."""

from __future__ import annotations

from typing import NoReturn


class Refused(Exception):
    """The vendor would answer the request with this error."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind


def refuse(message: str) -> NoReturn:
    """Refuse the request as invalid."""
    raise Refused(message)


def need(holds: object, message: str) -> None:
    """Refuse the request as invalid unless `holds`."""
    if not holds:
        raise Refused(message)
