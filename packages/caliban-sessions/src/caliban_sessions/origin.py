"""Where a fork came from, in JSON."""

from __future__ import annotations

from typing import Any

from caliban_sessions.state import ForkOrigin


def origin_to_json(origin: ForkOrigin) -> dict[str, Any]:
    """`origin` as plain data."""
    return {"session": origin.session, "id": origin.id, "entry": origin.entry}


def origin_from_json(raw: object) -> ForkOrigin | None:
    """The origin in `raw`, `None` when it is not one."""
    match raw:
        case {"session": str(session), "id": str(id), "entry": str() | None as entry}:
            return ForkOrigin(session=session, id=id, entry=entry)
        case _:
            return None
