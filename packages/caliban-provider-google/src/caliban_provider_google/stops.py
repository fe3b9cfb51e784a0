"""Why the vendor says that a reply ended, in our words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from caliban_common.stop import StopReason
from caliban_provider.json_fields import objects, string

STOP_REASONS: Mapping[str, StopReason] = MappingProxyType(
    {
        "STOP": "end_turn",
        "MAX_TOKENS": "max_tokens",
        "CONTINUATION": "max_tokens",
        "MALFORMED_FUNCTION_CALL": "malformed_call",
        "UNEXPECTED_TOOL_CALL": "malformed_call",
        "SAFETY": "content_filter",
        "RECITATION": "content_filter",
        "BLOCKLIST": "content_filter",
        "PROHIBITED_CONTENT": "content_filter",
        "SPII": "content_filter",
        "MODEL_ARMOR": "content_filter",
        "IMAGE_SAFETY": "content_filter",
        "IMAGE_PROHIBITED_CONTENT": "content_filter",
        "IMAGE_RECITATION": "content_filter",
    }
)
"""The wire's finish reasons; any other is `other`."""


def ending(candidate: Mapping[str, Any]) -> tuple[StopReason, str | None] | None:
    """Why `candidate` ended, with what the vendor says of it; `None` while it goes on."""
    reason = string(candidate, "finishReason")
    if not reason or reason == "FINISH_REASON_UNSPECIFIED":
        return None
    stop = STOP_REASONS.get(reason, "other")
    if stop in ("end_turn", "max_tokens"):
        return stop, None
    return stop, _explained(reason, string(candidate, "finishMessage"), candidate)


def blocked(feedback: Mapping[str, Any]) -> tuple[StopReason, str] | None:
    """Why the prompt was not answered at all; `None` where it was."""
    reason = string(feedback, "blockReason")
    if not reason:
        return None
    explained = _explained(reason, string(feedback, "blockReasonMessage"), feedback)
    return "content_filter", f"the prompt was blocked: {explained}"


def _explained(reason: str, message: str, rated: Mapping[str, Any]) -> str:
    """The reason, the categories that it rests on, and the vendor's sentence."""
    categories = [
        string(rating, "category")
        for rating in objects(rated, "safetyRatings")
        if rating.get("blocked") is True
    ]
    named = f"{reason} ({', '.join(filter(None, categories))})" if any(categories) else reason
    return f"{named}: {message}" if message else named
