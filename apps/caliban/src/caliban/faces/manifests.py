"""What a host says of its MCP servers before anybody asks: a manifest in the place of two round trips."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from caliban_mcp_client.target import LEGACY

Parking: TypeAlias = Literal[
    "parked", "already_connected", "protocol_version_mismatch", "malformed", "not_honoured"
]
"""What came of a manifest: it is kept for the server's first words, they were said already, it is of a
version that is not spoken here, it is no manifest, or there is no such server in this run."""


class ServerManifest(Struct, frozen=True, kw_only=True):
    """The results of `initialize` and, where the host gives it, of the first `tools/list`."""

    initialize: Mapping[str, Any]
    tools: Mapping[str, Any] | None = None


def read_manifest(value: object) -> ServerManifest | Literal["malformed", "protocol_version_mismatch"]:
    """A manifest, or what is wrong with it. Of the tools their names alone are looked at here."""
    if not isinstance(value, Mapping):
        return "malformed"
    begun, listed = value.get("initializeResult"), value.get("toolsListResult")
    if not isinstance(begun, Mapping) or not _is_sent_back(value):
        return "malformed"
    version, info = begun.get("protocolVersion"), begun.get("serverInfo")
    if not isinstance(version, str) or not isinstance(begun.get("capabilities"), Mapping):
        return "malformed"
    if not isinstance(info, Mapping) or not all(
        isinstance(info.get(one), str) for one in ("name", "version")
    ):
        return "malformed"
    if listed is not None and not _is_list(listed):
        return "malformed"
    if version not in LEGACY:
        return "protocol_version_mismatch"
    return ServerManifest(initialize=begun, tools=listed)


def _is_list(listed: object) -> bool:
    tools = listed.get("tools") if isinstance(listed, Mapping) else None
    return isinstance(tools, list) and all(
        isinstance(tool, Mapping) and isinstance(tool.get("name"), str) and tool["name"] for tool in tools
    )


def _is_sent_back(value: object) -> bool:
    """Whether it can be written as what it was read from, which halves of characters and depths cannot."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True
