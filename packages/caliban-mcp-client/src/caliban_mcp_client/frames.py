"""Text of the wire as JSON-RPC frames, strict in what counts and patient with what does not.

What a server prints is read as if it meant well once: a byte order mark, NUL bytes, batches, halves of
surrogate pairs and `NaN` are taken, lines that are no frames are skipped and counted. What could be read in
two ways is refused: a frame that says `id`, `method`, `result` or `error` twice. A frame that nobody can
read answers the call whose number stands in it, so that none waits for ever.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from caliban_common.codec import MAX_LEVELS, is_deep
from caliban_common.text import clean

Frame: TypeAlias = dict[str, Any]

_ONCE: Final = ("id", "method", "result", "error")
_ID_FIRST: Final = rb'^\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*[,}]'
_ID_LAST: Final = rb'"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}$'
_GLUED: Final = rb'\{\s*"(?:jsonrpc|id|result|method)"\s*:'
_AROUND: Final = b" \t\r\n\0"
_BOM: Final = b"\xef\xbb\xbf"
_MAX_BATCH: Final = 1000
_MAX_ID: Final = 2**53


class Scrap(Struct, frozen=True, kw_only=True):
    """Text that is no frame, and `why`; `ids` are the numbers of the calls that it seems to answer."""

    why: str
    sample: str
    ids: tuple[int, ...] = ()
    is_frame: bool = False


def read_frames(text: bytes) -> tuple[list[Frame], list[Scrap]]:
    """The frames of one line, event or body: none, one, or those of a batch; and what was none."""
    text = text.strip(_AROUND).removeprefix(_BOM).strip(_AROUND)
    if not text:
        return [], []
    if text[:1] not in b"{[":
        why = (
            "a line with a frame at its end"
            if re.search(_GLUED, text)
            else "a line that is no message of the protocol"
        )
        return [], [_scrap(text, why)]
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            value = _salvaged(text)
        except (ValueError, RecursionError):
            return [], [_scrap(text, "a frame that is no JSON", is_frame=b'"jsonrpc"' in text)]
    if text.count(b"{") + text.count(b"[") > MAX_LEVELS and is_deep(value):
        frame = value if isinstance(value, dict) else None
        return [], [_scrap(text, "a frame that is nested too deeply", is_frame=True, frame=frame)]
    return _frames(value, text)


def long_scrap(head: bytes, size_bytes: int) -> Scrap:
    """A line that was too long to be kept."""
    return _scrap(head, f"a message of {size_bytes:,} bytes, more than may be", is_frame=b'"jsonrpc"' in head)


def matched_id(value: object) -> int | None:
    """The number of ours that `value` means: servers send it back as a string or with a fraction of zero."""
    match value:
        case bool():
            return None
        case int():
            return value
        case float():
            return int(value) if value.is_integer() and abs(value) < _MAX_ID else None
        case str():
            return int(value) if value.isascii() and value.isdecimal() and len(value) < 16 else None
        case _:
            return None


def _frames(value: object, text: bytes) -> tuple[list[Frame], list[Scrap]]:
    if isinstance(value, dict):
        scrap = _fault(value, text)
        return ([value], []) if scrap is None else ([], [scrap])
    if not isinstance(value, list) or not any(isinstance(item, dict) for item in value):
        return [], [_scrap(text, "JSON that is no frame")]
    frames: list[Frame] = []
    scraps: list[Scrap] = []
    for item in value[:_MAX_BATCH]:
        if not isinstance(item, dict):
            scraps.append(_scrap(text, "JSON that is no frame"))
            continue
        scrap = _fault(item, b"")
        if scrap is None:
            frames.append(item)
        else:
            scraps.append(scrap)
    return frames, scraps


def _fault(frame: Frame, text: bytes) -> Scrap | None:
    """Why an object is no frame."""
    if frame.get("jsonrpc") != "2.0":
        return _scrap(text, "JSON that is no frame")
    if any(text.count(b'"%s"' % name.encode()) > 1 for name in _ONCE) and _repeats(text):
        return _scrap(text, "a frame that says the same member twice", is_frame=True, frame=frame)
    method = frame.get("method")
    if method is not None and not isinstance(method, str):
        return _scrap(text, "a frame whose method is no text", is_frame=True, frame=frame)
    if method is None and ("result" in frame) == (frame.get("error") is not None):
        return _scrap(text, "an answer without one result or error", is_frame=True, frame=frame)
    return None


def _repeats(text: bytes) -> bool:
    """Whether the outer object has one of the members that count more than once."""
    import json

    last: list[tuple[str, Any]] = []

    def pairs(members: list[tuple[str, Any]]) -> None:
        nonlocal last
        last = members  # the outer object is the last to be closed

    try:
        json.loads(text.decode("utf-8", "replace"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return True
    names = [name for name, _ in last if name in _ONCE]
    return len(names) != len(set(names))


def _salvaged(text: bytes) -> object:
    """A second reading: halves of surrogate pairs, bytes that are no UTF-8, `NaN`, which becomes null.

    Raises `ValueError` and `RecursionError`.
    """
    import json

    value = json.loads(text.decode("utf-8", "replace"), parse_constant=lambda _: None, parse_float=_finite)
    return json.loads(clean(json.dumps(value, ensure_ascii=False)))


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _scrap(text: bytes, why: str, *, is_frame: bool = False, frame: Frame | None = None) -> Scrap:
    shown = text[:120].decode("utf-8", "replace")
    if not is_frame:
        return Scrap(why=why, sample=shown)
    numbers = [int(number) for number in (*re.findall(_ID_FIRST, text), *re.findall(_ID_LAST, text[-200:]))]
    if frame is not None and (own := matched_id(frame.get("id"))) is not None:
        numbers.append(own)
    return Scrap(why=why, sample=shown, ids=tuple(sorted(set(numbers))), is_frame=True)
