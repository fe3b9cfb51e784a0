"""Ids and names that the wire takes, derived from any: the same text always gives the same result.

Being pure, the mapping needs no memory: a call and its result agree, and the bytes of a history stay the same
from turn to turn.
"""

from __future__ import annotations

import re

from caliban_common.digest import sha256

MAX_ID_CHARS = 64
MAX_NAME_CHARS = 128

_FINE_ID = r"[a-zA-Z0-9_-]{1,64}"
_FINE_NAME = r"[a-zA-Z0-9_-]{1,128}"
_OTHER = r"[^a-zA-Z0-9_-]"
_DIGEST_CHARS = 12


def wire_id(raw: str) -> str:
    """`raw` where it is a tool call id that the wire takes, else one that is as unique as `raw`."""
    return raw if re.fullmatch(_FINE_ID, raw) else _derive(raw or "call", MAX_ID_CHARS)


def wire_name(raw: str) -> str:
    """`raw` where it is a tool name that the wire takes, else one that is as unique as `raw`."""
    return raw if re.fullmatch(_FINE_NAME, raw) else _derive(raw or "tool", MAX_NAME_CHARS)


def short_name(raw: str, max_chars: int) -> str:
    """A tool name of at most `max_chars` that is as unique as `raw`."""
    return _derive(raw, max_chars)


def _derive(raw: str, max_chars: int) -> str:
    digest = sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    kept = re.sub(_OTHER, "_", raw)[: max_chars - _DIGEST_CHARS - 1]
    return f"{kept}_{digest}"
