"""How models are called on Vertex: data with a date (the vendor's list on 2026-11-27)."""

from __future__ import annotations

import re
from types import MappingProxyType

DEFAULT_MODEL = "claude-sonnet-4-6"
"""The model that is asked for when nobody says."""

WIRE_IDS = MappingProxyType(
    {
        "claude-fable-5-2": "claude-fable-5-2",
        "claude-opus-5-5": "claude-opus-5-5",
        "claude-sonnet-5-5": "claude-sonnet-5-5",
        "claude-haiku-5-5": "claude-haiku-5-5",
        "claude-opus-5": "claude-opus-5",
        "claude-sonnet-5": "claude-sonnet-5",
        "claude-opus-4-8": "claude-opus-4-8",
        "claude-opus-4-7": "claude-opus-4-7",
        "claude-opus-4-6": "claude-opus-4-6",
        "claude-sonnet-4-6": "claude-sonnet-4-6",
        "claude-opus-4-5": "claude-opus-4-5@20251101",
        "claude-sonnet-4-5": "claude-sonnet-4-5@20250929",
        "claude-haiku-4-5": "claude-haiku-4-5@20251001",
        "claude-opus-4-1": "claude-opus-4-1@20250805",
    }
)
"""The short names of the Anthropic API -> the names of the same models here; older ones carry a date."""

_DATED = re.compile(r"(claude-[a-z0-9-]+)-(\d{8})")


def wire_id(model: str) -> str:
    """What Vertex calls `model`: a date stands behind an `@`, all else stays."""
    name = model.strip()
    return WIRE_IDS.get(name) or _DATED.sub(r"\1@\2", name)
