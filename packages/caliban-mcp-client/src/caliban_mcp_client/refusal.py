"""What an address says with an answer that is none of the protocol: gateways, proxies, web pages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, Final

from caliban_common.text import one_line

MAX_CHARS: Final = 200
_READ_BYTES: Final = 64 * 1024
_MEMBERS: Final = ("error_description", "message", "detail", "error", "title", "reason", "msg")
"""Where the JSON of a refusal says why, the most telling first."""
_TITLE: Final = r"(?is)<(title|h1)[^>]{0,200}>([^<]{1,400})"


def said(body: bytes) -> str:
    """Why a body refuses, in a line of at most `MAX_CHARS`; empty where it says nothing.

    Of JSON that is its message, of a web page its title, of anything else its beginning.
    """
    text = body[:_READ_BYTES].decode("utf-8", "replace").strip()
    if text[:1] == "{":
        try:
            return one_line(_message(json.loads(text)) or text, max_chars=MAX_CHARS)
        except (ValueError, RecursionError):
            pass
    if text[:1] == "<":
        title = re.search(_TITLE, text)
        named = f" {unescape(title[2]).strip()!r}" if title is not None else ""
        return one_line(f"a web page{named}", max_chars=MAX_CHARS)
    return one_line(text, max_chars=MAX_CHARS)


def with_reason(words: str, body: bytes) -> str:
    """`words`, and behind them what the body says."""
    reason = said(body)
    return f"{words}: {reason}" if reason else words


def page_hint(kind: str, body: bytes) -> str | None:
    """What to do about an answer that is a web page; `None` for what is none."""
    if "html" not in kind and body.lstrip()[:1] != b"<":
        return None
    return "look at the path of its url (many end in /mcp); a proxy on the way may want a login first"


def _message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return ""
    return next(filter(None, (_message(value.get(name)) for name in _MEMBERS)), "")
