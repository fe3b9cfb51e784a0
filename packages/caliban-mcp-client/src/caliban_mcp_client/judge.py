"""What an answer to the first question says about the era of a server: a table, without any waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from caliban_mcp_client.errors import CallRefused, HttpRefused, McpError, ProtocolError
from caliban_mcp_client.target import LATEST, LEGACY

MODERN: Final = (LATEST,)
UNSUPPORTED_VERSION: Final = -32022


class Speaks(Struct, frozen=True, kw_only=True):
    """It is a modern server, and this is its version of the protocol."""

    version: str


class AskAgain(Struct, frozen=True, kw_only=True):
    """It refuses the version that was asked for and has another, or the same, in common with us."""

    version: str


class Legacy(Struct, frozen=True, kw_only=True):
    """Whatever it is, it is no modern server: `initialize` tells more."""


class NothingInCommon(Struct, frozen=True, kw_only=True):
    """It is a modern server, and speaks other versions only."""

    supported: tuple[str, ...]


class Outage(Struct, frozen=True, kw_only=True):
    """It is not there, or does not let us in: no word on its era."""

    error: McpError


Judgment: TypeAlias = Speaks | AskAgain | Legacy | NothingInCommon | Outage


def judged_result(result: Mapping[str, Any]) -> Judgment:
    """What a result of `server/discover` says."""
    versions = _versions(result.get("supportedVersions"))
    common = [version for version in MODERN if version in versions]
    return Speaks(version=common[0]) if common else Legacy()


def judged_error(error: McpError, *, is_http: bool) -> Judgment:
    """What the failure of `server/discover` says. Silence is the caller's to judge."""
    match error:
        case CallRefused(code=code) if code == UNSUPPORTED_VERSION:
            return _unsupported(error.data)
        case CallRefused():
            return Legacy()
        case HttpRefused(status=status) if status in (401, 403) or not 400 <= status < 500:
            return Outage(error=error)
        case HttpRefused():
            return Legacy()
        case ProtocolError():
            return Legacy()
        case _:
            return Outage(error=error) if is_http else Legacy()


def named_modern(error: CallRefused) -> str | None:
    """The version of ours that a server names, which answers `initialize` with an unsupported version."""
    judgment = _unsupported(error.data) if error.code == UNSUPPORTED_VERSION else None
    return judgment.version if isinstance(judgment, AskAgain) else None


def _unsupported(data: object) -> Judgment:
    versions = _versions(data.get("supported")) if isinstance(data, dict) else ()
    for version in MODERN:
        if version in versions:
            return AskAgain(version=version)
    if not versions or any(version <= LEGACY[0] for version in versions):
        return Legacy()
    return NothingInCommon(supported=versions)


def _versions(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
