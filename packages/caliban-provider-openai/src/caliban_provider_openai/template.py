"""Reads a delta without reading all of its JSON: most events of a reply differ in one string only."""

from __future__ import annotations

from json.decoder import scanstring  # type: ignore[attr-defined]

_VARYING = ('"sequence_number":', '"obfuscation":"')
_LEARNINGS = 24


class DeltaTemplate:
    """The form of the events that came last, learned from one of them that was read in full.

    `read` gives the text of an event that differs from it in its text, its number and its padding only;
    `None` means that the event is to be read in full. A stream whose events never repeat soon stops to be
    learned from.
    """

    __slots__ = ("_head", "_inner", "_key", "_left", "_rest", "_tail")

    def __init__(self) -> None:
        self._left = _LEARNINGS
        self.forget()

    def forget(self) -> None:
        """Take nothing for known: the block that the events belonged to is over."""
        self._key = ""
        self._head = self._inner = self._rest = self._tail = "\0"

    def read(self, data: bytes) -> str | None:
        """The text of an event of this shape."""
        if not self._key:
            return None
        try:
            line = data.decode()
            start = line.index(self._key) + len(self._key)
            if not (line.startswith(self._head) and line.startswith(self._inner, start - len(self._inner))):
                return None
            text, end = scanstring(line, start)
        except ValueError:
            return None
        if text and line.startswith(self._rest, end) and line.endswith(self._tail, end + len(self._rest)):
            return str(text)
        return None

    def learn(self, data: bytes, member: str, text: str) -> None:
        """Look out for events like `data`, whose member `member` holds `text`."""
        self.forget()
        if not self._left:
            return
        self._left -= 1
        try:
            line = data.decode().rstrip()
        except ValueError:
            return
        for key in (f'"{member}":"', f'"{member}": "'):
            if line.count(key) == 1:
                break
        else:
            return
        start = line.index(key) + len(key)
        try:
            value, end = scanstring(line, start)
        except ValueError:
            return
        if value != text:
            return
        self._head, self._inner = _around(line[:start])
        self._rest, self._tail = _around(line[end:])
        self._key = key


def _around(part: str) -> tuple[str, str]:
    """What is the same before the first and after the last varying value in `part`."""
    places = [(at, name) for name in _VARYING if (at := part.find(name)) >= 0]
    if not places:
        return part, ""
    first_at, first = min(places)
    last_at, last = max(places)
    after = part[last_at + len(last) :]
    after = after.lstrip(" 0123456789") if last == _VARYING[0] else after[after.find('"') :]
    return part[: first_at + len(first)], after
