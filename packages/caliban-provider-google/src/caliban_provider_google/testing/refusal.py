"""How a strict check says no."""

from __future__ import annotations


class Refused(Exception):
    """The vendor would answer the request with this error."""

    def __init__(self, message: str, *, code: int = 400, status: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status


def need(holds: object, message: str) -> None:
    """Refuse the request as invalid unless `holds`."""
    if not holds:
        raise Refused(message)


def need_keys(value: object, known: frozenset[str], where: str) -> dict[str, object]:
    """`value` as an object of `known` members; refused as the vendor refuses unknown names."""
    if not isinstance(value, dict):
        raise Refused(f"Invalid value at '{where}'")
    for key in value:
        need(key in known, f"Invalid JSON payload received. Unknown name \"{key}\" at '{where}'")
    return value
