"""What servers had last, on disk: it serves the first request, and the live list takes its place.

The key of an entry depends on all that a list may depend on. What cannot be read is as if it were not there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from caliban_common.digest import sha256
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_mcp_client.entries import is_same_entry, read_tool
from caliban_mcp_client.target import Verdict
from caliban_mcp_client.values import McpTool, ServerInfo

VERSION: Final = 2
MAX_BYTES: Final = 32 << 20
OWNERS_ONLY: Final = 0o600
LEGACY_S: Final = 7 * 24 * 3600
"""So long an old way of speaking is remembered: a server that was brought up to date answers it still."""
SILENT_S: Final = 24 * 3600
"""So long it is remembered that a server did not answer in time: no run waits for it again meanwhile."""
RENEW_S: Final = 24 * 3600
"""So old is what is remembered before it is written anew although nothing has changed."""
DATED_S: Final = 7 * 24 * 3600
"""So old is a list that a run without a person waits a moment for a newer one: runs that always end before
their servers have answered would offer it for ever."""


class CachedServer(Struct, frozen=True, kw_only=True):
    """What a server had at `saved_at`, in seconds since 1970; without `info`, that it did not answer.

    At `asked_at` a run has waited for a newer list in vain.
    """

    saved_at: float
    asked_at: float = 0.0
    info: ServerInfo | None = None
    verdict: Verdict | None = None
    tools: tuple[McpTool, ...] = ()
    has_resources: bool = False

    def is_told_again(self, entry: CachedServer) -> bool:
        """Whether `entry` is no other one, and not so much later that it is to be written anew."""
        if entry.saved_at - self.saved_at >= RENEW_S or len(self.tools) != len(entry.tools):
            return False
        tools = zip(self.tools, entry.tools, strict=True)
        if not all(one is other or is_same_entry(one.raw, other.raw) for one, other in tools):
            return False
        before = msgspec.structs.replace(self, saved_at=entry.saved_at, asked_at=0.0, tools=entry.tools)
        return before == entry


class ListCache:
    """The entries of all servers, one file each. `now` gives seconds since 1970."""

    def __init__(self, directory: Path, now: Any = time.time) -> None:
        self.directory = directory
        self._now = now

    def load(self, key: str) -> CachedServer | None:
        """The entry, or `None` where there is none that counts any more. Raises nothing."""
        try:
            raw = read_regular(self._path(key), max_bytes=MAX_BYTES)
            entry = _read(msgspec.json.decode(raw))
        except (CalibanError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            return None
        if entry is None:
            return None
        age = self._now() - entry.saved_at
        if age < -LEGACY_S:
            return None
        if entry.info is None:
            return entry if age < SILENT_S else None
        if entry.verdict is not None and entry.verdict.era == "legacy" and age > LEGACY_S:
            return msgspec.structs.replace(entry, verdict=None)
        return entry

    def save(self, key: str, entry: CachedServer) -> None:
        """Keep an entry; where that cannot be done, the next run asks anew."""
        try:
            data = msgspec.json.encode(_written(entry))
            if len(data) <= MAX_BYTES:
                ensure_private_dir(self.directory)
                write_atomic(self._path(key), data, mode=OWNERS_ONLY, durable=False)
        except (CalibanError, TypeError, ValueError, RecursionError):
            return

    def forget(self, key: str) -> None:
        """Keep nothing of a server: who asks it is somebody else now, and may have other tools."""
        with suppress(OSError, ValueError):
            self._path(key).unlink(missing_ok=True)

    def silent(self, key: str) -> None:
        """Note that a server did not answer in time, unless its list is known."""
        if self.load(key) is None:
            self.save(key, CachedServer(saved_at=self._now()))

    def is_dated(self, entry: CachedServer) -> bool:
        """Whether it is long ago that a list was told, or waited for."""
        return bool(self._now() - max(entry.saved_at, entry.asked_at) > DATED_S)

    def asked(self, key: str, entry: CachedServer) -> None:
        """Note that a newer list than that of `entry` was waited for in vain."""
        self.save(key, msgspec.structs.replace(entry, asked_at=self._now()))

    def fresh(self, **what: Any) -> CachedServer:
        """An entry of this moment."""
        return CachedServer(saved_at=self._now(), **what)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.json"


def _written(entry: CachedServer) -> dict[str, Any]:
    """What of an entry is kept: tools as the server told them, which all else of them is made of."""
    return {
        "version": VERSION,
        "saved_at": entry.saved_at,
        "asked_at": entry.asked_at,
        "info": entry.info,
        "verdict": entry.verdict,
        "tools": [tool.raw for tool in entry.tools],
        "has_resources": entry.has_resources,
    }


def _read(value: object) -> CachedServer | None:
    """The entry that was kept so; `None` for anything else. Raises `ValueError`.

    By hand, for a start: to make a decoder of the types costs it more than to read five lists.
    """
    match value:
        case {"version": 2, "saved_at": int() | float() as saved_at, "info": None}:
            return CachedServer(saved_at=saved_at)
        case {
            "version": 2,
            "saved_at": int() | float() as saved_at,
            "info": dict() as info,
            "verdict": dict() | None as verdict,
            "tools": list() as listed,
            "has_resources": bool() as has_resources,
            **more,
        }:
            tools = tuple(tool for entry in listed if (tool := _tool(entry)) is not None)
            if len(tools) != len(listed):
                return None
            return CachedServer(
                saved_at=saved_at,
                asked_at=_moment(more.get("asked_at")),
                info=_info(info),
                verdict=None if verdict is None else _verdict(verdict),
                tools=tools,
                has_resources=has_resources,
            )
        case _:
            return None


def _moment(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _tool(entry: object) -> McpTool | None:
    return read_tool(entry, _ignored) if isinstance(entry, dict) else None


def _ignored(words: str) -> None:
    """What was odd of a tool was told when the server said it."""


def _info(kept: dict[str, Any]) -> ServerInfo:
    texts = ("era", "protocol_version", "instructions", "name", "title", "version")
    if not isinstance(kept.get("capabilities"), dict) or not _are_texts(kept, texts):
        raise ValueError("no word of a server on itself")
    return ServerInfo(capabilities=kept["capabilities"], **{name: kept[name] for name in texts})


def _verdict(kept: dict[str, Any]) -> Verdict:
    texts = ("era", "protocol_version", "kind")
    if not _are_texts(kept, texts) or kept["kind"] not in ("auto", "http", "sse"):
        raise ValueError("no verdict")
    return Verdict(**{name: kept[name] for name in texts})


def _are_texts(kept: dict[str, Any], names: tuple[str, ...]) -> bool:
    return kept.get("era") in ("modern", "legacy") and all(isinstance(kept.get(name), str) for name in names)


def cache_key(parts: Mapping[str, Any]) -> str:
    """The key for all that a list of tools may depend on, in 64 hexadecimal digits."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
