"""Names and ids on this wire: pure mappings, so that a history keeps its bytes from turn to turn.

The wire may leave out the id of a call. One is then made from the reply's own id and the call's place in it;
it is recognised when it comes back, and left out again: calls and results then match by their order.
"""

from __future__ import annotations

import re

from caliban_common.digest import sha256

MAX_NAME_CHARS = 64

_MADE = "gemini_call_"
_FINE_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
_OTHER = re.compile(r"[^a-zA-Z0-9_.-]")
_NOT_ID = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_CHARS = 12


def wire_name(raw: str) -> str:
    """`raw` where it is a tool name that the wire takes, else one that is as unique as `raw`."""
    if _FINE_NAME.fullmatch(raw):
        return raw
    digest = sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    kept = _OTHER.sub("_", raw or "tool")[: MAX_NAME_CHARS - _DIGEST_CHARS - 2]
    kept = kept if kept[0].isalpha() or kept[0] == "_" else f"_{kept}"
    return f"{kept}_{digest}"


def made_id(reply_id: str, place: int) -> str:
    """The id of a reply's call number `place` that came without one; the same whenever it is decoded."""
    reply = _NOT_ID.sub("_", reply_id)[:40]
    return f"{_MADE}{reply}_{place}" if reply else f"{_MADE}{place}"


def is_made(id: str) -> bool:
    """Whether `id` is one of ours, which the wire never saw."""
    return id.startswith(_MADE) or not id
