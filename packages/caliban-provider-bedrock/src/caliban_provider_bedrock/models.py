"""How models are called on Bedrock: data with a date (the vendor's list on 2026-11-27)."""

from __future__ import annotations

import re
from types import MappingProxyType

DEFAULT_MODEL = "global.anthropic.claude-sonnet-5-5"
"""The inference profile that is asked for when nobody says."""

DEFAULT_PROFILE = "global"
"""The geography of the profile that a short name is called through; a regional one costs 10 % more."""

WIRE_IDS = MappingProxyType(
    {
        "claude-fable-5-2": "anthropic.claude-fable-5-2",
        "claude-opus-5-5": "anthropic.claude-opus-5-5",
        "claude-sonnet-5-5": "anthropic.claude-sonnet-5-5",
        "claude-haiku-5-5": "anthropic.claude-haiku-5-5",
        "claude-opus-5": "anthropic.claude-opus-5",
        "claude-sonnet-5": "anthropic.claude-sonnet-5-v1:0",
        "claude-opus-4-8": "anthropic.claude-opus-4-8-v1:0",
        "claude-opus-4-7": "anthropic.claude-opus-4-7-v1:0",
        "claude-opus-4-6": "anthropic.claude-opus-4-6-v1:0",
        "claude-sonnet-4-6": "anthropic.claude-sonnet-4-6-v1:0",
        "claude-opus-4-5": "anthropic.claude-opus-4-5-20251101-v1:0",
        "claude-sonnet-4-5": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-haiku-4-5": "anthropic.claude-haiku-4-5-20251001-v1:0",
    }
)
"""The short names of the Anthropic API -> the ids of the same models here, without a profile's prefix."""

_DATED = re.compile(r"claude-[a-z0-9-]+-\d{8}")


def wire_id(model: str, *, profile: str = DEFAULT_PROFILE) -> str:
    """What Bedrock calls `model`: short names get their id and `profile` before it, all else stays.

    An id, an inference profile, an ARN, or another vendor's model goes out as it was given; an empty
    `profile` asks for the model itself.
    """
    name = model.strip()
    if not name.startswith("claude-"):
        return name
    known = WIRE_IDS.get(name)
    if known is None:
        known = f"anthropic.{name}-v1:0" if _DATED.fullmatch(name) else f"anthropic.{name}"
    return f"{profile}.{known}" if profile else known


def offered(*, profile: str = DEFAULT_PROFILE) -> tuple[str, ...]:
    """The known models, as they are called through `profile`."""
    return tuple(wire_id(name, profile=profile) for name in WIRE_IDS)
