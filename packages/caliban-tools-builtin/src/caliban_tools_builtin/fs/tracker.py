"""What the model has seen of each file, by content: the guard against writing over what it has not seen.

A file that was never read may be edited (the edit must match it) or written. A file that was read and has
other bytes now is stale: the model decides on text that is gone. Time plays no part, so a hook that touches
a file and changes nothing is no change, and reading the file again always heals.
"""

from __future__ import annotations

from caliban_common.digest import blake2b
from caliban_tools_builtin.errors import EditRefused
from caliban_tools_builtin.fence import AdmittedPath

REMEMBERED = 4096
"""How many files are remembered; the one seen longest ago is forgotten first."""


class ReadTracker:
    """The digest of each file as the model last saw it. One ledger serves all file tools of a session."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}

    def saw(self, place: AdmittedPath, data: bytes) -> None:
        """The model has read `data` in the file, or has written it."""
        key = str(place.path)
        self._seen.pop(key, None)
        self._seen[key] = _digest(data)
        while len(self._seen) > REMEMBERED:
            self._seen.pop(next(iter(self._seen)), None)

    def check(self, place: AdmittedPath, data: bytes) -> None:
        """Raise `EditRefused` if the model saw other bytes than `data`."""
        seen = self._seen.get(str(place.path))
        if seen is not None and seen != _digest(data):
            raise EditRefused(
                f"{place.shown} is stale: it changed since it was last read", hint="Read it again"
            )


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
