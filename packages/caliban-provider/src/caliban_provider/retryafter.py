"""How long a server asks to wait: its headers first, its words after them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_WAIT = (
    r"(?:try(?:ing)? again|retry(?:ing)?|wait|available again|resets?)\s+(?:in|after|for)\s+(?:about\s+)?"
    r"((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])"
    r"[\s,]*(?:and\s+)?){1,5})"
    r'|"retrydelay"\s*:\s*"(\d+(?:\.\d+)?s)"'
)
_SPAN = r"(\d+(?:\.\d+)?)\s*(ms|milli|s|m|h|d)"
_UNITS_S = (("milli", 0.001), ("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0))


def retry_after_s(headers: Mapping[str, str], body_text: str, now: float) -> float | None:
    """The seconds that the server asks to wait, > 0, from its headers or else from its words.

    `now` is the time in seconds since the epoch; the server's own `date` is preferred to it, so that a wrong
    clock here does not matter.
    """
    for name, per_s in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value, re.ASCII):
            return float(value) / per_s or None
    if value := headers.get("retry-after", "").strip():
        at = _date(value)
        sent = _date(headers.get("date", ""))
        if at is not None:
            wait_s = at - (now if sent is None else sent)
            return wait_s if wait_s > 0 else None
    span = re.search(_WAIT, body_text[:4096].lower())
    return _span_s(span[1] or span[2]) if span else None


def _date(value: str) -> float | None:
    """Seconds since the epoch of an HTTP date (RFC 9110, 5.6.7)."""
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _span_s(text: str) -> float | None:
    """Seconds of `1m30s`, `2.5 seconds`, `700ms`."""
    units_s = dict(_UNITS_S)
    return sum(float(number[:12]) * units_s[unit] for number, unit in re.findall(_SPAN, text)) or None
