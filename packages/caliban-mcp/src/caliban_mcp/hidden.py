"""Characters that a person does not see and a model reads: shown to the one, kept from the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

_HIDDEN: Final = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 but for tab and ends of lines; DEL; C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
MAX_DEPTH: Final = 64


def without_hidden(text: str) -> str:
    """`text` for a model: what no reader would see is not there. Joiners stay, for scripts need them."""
    return text if text.isascii() and text.isprintable() else re.sub(_HIDDEN, "", text)


def has_hidden(text: str) -> bool:
    """Whether a person would see less of `text` than a model reads."""
    return not (text.isascii() and text.isprintable()) and re.search(_HIDDEN, text) is not None


def plain_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """`plain_data` of a schema, which is the same one where nothing of it is hidden: that of most tools."""
    try:
        text = msgspec.json.encode(schema)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return cast("Mapping[str, Any]", plain_data(schema))
    is_plain = text.isascii() and b"\\" not in text and b"\x7f" not in text
    is_flat = text.count(b"{") + text.count(b"[") < MAX_DEPTH
    return schema if is_plain and is_flat else cast("Mapping[str, Any]", plain_data(schema))


def plain_data(value: Any, depth: int = MAX_DEPTH) -> Any:
    """JSON without hidden characters in its texts and names; what is nested deeper than that is left out."""
    if isinstance(value, str):
        return without_hidden(value)
    if depth <= 0:
        return None
    if isinstance(value, dict):
        return {without_hidden(name): plain_data(below, depth - 1) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(below, depth - 1) for below in value]
    return value
