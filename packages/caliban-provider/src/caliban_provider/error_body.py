"""What a refusing answer says, in any vendor's shape: its types and codes, and one clean line of text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

_MAX_BODY_BYTES = 16 * 1024
_MIN_SECRET_CHARS = 8
_MAX_TEXT_CHARS = 360

_EVENT = rb"\s*(?:(?:event|id|retry):[^\r\n]*\r?\n)*data:([^\r\n]*)"
"""A body that is an event, as servers write it that have begun a stream before they fail."""

_HTML = r"(?si)<(?:script|style|head(?=[^<]*<meta))\b.*?</(?:script|style)\s*>|<[^>]*>"
_ESCAPE = r"(?s)\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?"
_SECRET = r"(?i:\bbearer\s+)\S+|\b(?:sk|pk|rk|xai|gsk|hf|key)[-_][\w\-*.]{6,}|\bAIza[\w\-]{8,}"
_CAMEL = r"(?<=[a-z])(?=[A-Z])"


class ErrorBody(Struct, frozen=True, kw_only=True):
    """The body of a failed answer.

    `kinds` are the vendor's types and codes in snake case, the most specific first. `text` is for a person:
    one line, no control characters, no key. `hidden` is more text that the vendor put beside it.
    """

    kinds: tuple[str, ...] = ()
    text: str = ""
    hidden: str = ""
    request_id: str | None = None


def read(body: bytes, *, secrets: Collection[str] = ()) -> ErrorBody:
    """Understand a body: JSON of any known shape, an event of a stream, HTML, plain text or nothing."""
    event = re.match(_EVENT, body)
    body = event[1] if event is not None else body
    raw = body[:_MAX_BODY_BYTES].decode("utf-8", "replace").strip()
    try:
        value: object = json.loads(body) if raw[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, Mapping):
        return _of_json(value, raw, secrets)
    if raw.startswith("<"):
        from html import unescape

        raw = unescape(re.sub(_HTML, " ", raw))
    return ErrorBody(text=clean(raw, secrets=secrets))


def kind(value: object) -> str:
    """A vendor's type or code in snake case: `ThrottlingException` is `throttling_exception`."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    plain = "".join(char for char in str(value)[:100] if char.isprintable())
    return re.sub(_CAMEL, "_", plain).lower().replace("-", "_")


def clean(text: str, *, secrets: Collection[str] = ()) -> str:
    """One printable line of bounded length, without what looks like a key or is one of `secrets`."""
    text = re.sub(_ESCAPE, "", masked(text, secrets)[:_MAX_BODY_BYTES])
    text = "".join(char if char.isprintable() else " " for char in text)
    text = re.sub(_SECRET, "[key]", " ".join(text.split()))
    return text if len(text) <= _MAX_TEXT_CHARS else text[: _MAX_TEXT_CHARS - 1] + "…"


def masked(text: str, secrets: Collection[str]) -> str:
    """The text without any of `secrets`."""
    for secret in secrets:
        # A stand-in such as "local" is no secret, and would eat its way through ordinary words.
        if len(secret) >= _MIN_SECRET_CHARS:
            text = text.replace(secret, "[key]")
    return text


def _of_json(value: Mapping[str, Any], raw: str, secrets: Collection[str]) -> ErrorBody:
    error = value.get("error")
    inner: Mapping[str, Any] = error if isinstance(error, Mapping) else value
    # The outer "type" of the common envelope says only that this is an error.
    kinds = [kind(inner.get(name)) for name in ("code", "type", "status", "__type")]
    kinds += [kind(detail.get("reason")) for detail in _mappings(inner.get("details"))]
    text = error if isinstance(error, str) else _text(inner)
    request_id = value.get("request_id")
    return ErrorBody(
        kinds=tuple(dict.fromkeys(name for name in kinds if name and name != "error")),
        text=clean(text, secrets=secrets),
        hidden=raw,
        request_id=request_id if isinstance(request_id, str) else None,
    )


def _text(value: Mapping[str, Any]) -> str:
    """The message, wherever the vendor keeps it."""
    metadata = value.get("metadata")
    upstream = metadata.get("raw") if isinstance(metadata, Mapping) else None
    for name in ("message", "Message", "msg", "detail", "error_description", "title"):
        text = value.get(name)
        if isinstance(text, list):
            text = "; ".join(str(entry.get("msg", "")) for entry in _mappings(text))
        if isinstance(text, str) and text:
            return f"{text}: {upstream}" if isinstance(upstream, str) else text
    return ""


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
