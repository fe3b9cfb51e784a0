"""Lists in pages, read to their end: bounded, and ended where a cursor comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from caliban_mcp_client.entries import Entry, Say, read_entries
from caliban_mcp_client.target import ServerOptions

_T = TypeVar("_T")
AskPage: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


async def read_list(
    ask: AskPage,
    key: str,
    read: Callable[[Entry, Say], _T | None],
    options: ServerOptions,
    say: Say,
) -> tuple[_T, ...]:
    """All entries, in the server's order, each identity once. Raises what `ask` raises."""
    entries: list[_T] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(options.max_pages):
        page = await ask(params)
        entries += read_entries(page, key, read, say)
        if len(entries) >= options.max_entries:
            if len(entries) > options.max_entries or page.get("nextCursor"):
                say(f"the list of {key} has more than {options.max_entries} entries; the rest is left out")
            break
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            if cursor:
                say(f"the list of {key} goes on at a place that is no text; the rest is left out")
            break
        if cursor in cursors:
            say(f"the list of {key} comes back to where it was; it is taken to end there")
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    else:
        say(f"the list of {key} has more than {options.max_pages} pages; the rest is left out")
    return tuple(_once(entries[: options.max_entries], key, say))


def _once(entries: list[_T], key: str, say: Say) -> list[_T]:
    """The first of those that share a name."""
    seen: dict[str, _T] = {}
    for entry in entries:
        address = getattr(entry, "uri", "") or getattr(entry, "uri_template", "")
        name: str = address or getattr(entry, "name", "")
        if name in seen:
            say(f"the list of {key} has an entry twice; the first counts")
        seen.setdefault(name, entry)
    return list(seen.values())
