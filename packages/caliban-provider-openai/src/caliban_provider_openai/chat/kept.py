"""What servers add to a reply for themselves and want back unchanged: sealed reasoning, signatures of calls.

Routers pass on in `reasoning_details` what the model behind them signed; an interface in front of Gemini puts
a call's signature into `extra_content`. Without them the next turn is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_provider.json_fields import objects

DETAILS: Final = "reasoning_details"
EXTRA: Final = "extra_content"
_GROWING = ("text", "summary", "data")


class Details:
    """The reasoning details of one reply: pieces of one entry come apart, and go back as one."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []

    def grow(self, delta: Mapping[str, Any]) -> None:
        """Take the pieces in `delta`, if there are any."""
        for piece in objects(delta, DETAILS):
            last = self._entries[-1] if self._entries else None
            same = last is not None and all(last.get(name) == piece.get(name) for name in ("type", "index"))
            if last is None or not same or (last.get("id") and piece.get("id") not in (None, last["id"])):
                self._entries.append(dict(piece))
                continue
            for name, value in piece.items():
                if name in _GROWING and isinstance(value, str) and isinstance(last.get(name), str):
                    last[name] += value
                elif value is not None:
                    last[name] = value

    def payload(self) -> dict[str, Any] | None:
        """What is kept of the reply; `None` for nothing."""
        return {"type": DETAILS, DETAILS: self._entries} if self._entries else None


def extra_payload(call_id: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept beside the call `call_id`."""
    return {"type": EXTRA, "call_id": call_id, EXTRA: dict(extra)}
