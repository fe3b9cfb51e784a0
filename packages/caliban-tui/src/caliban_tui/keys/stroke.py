"""A key as it is told to whoever wants keys."""

from __future__ import annotations

from typing import NamedTuple

PASTE = "paste"


class KeyStroke(NamedTuple):
    """One press of a key.

    `name` is prompt-toolkit's (`enter`, `c-c`, `escape`, `up`, `pageup`, `s-tab`), with `a-` before it where
    Alt was held, or the character itself. A `paste` has its `text`.
    """

    name: str
    text: str = ""

    @property
    def is_character(self) -> bool:
        """Whether it stands for itself."""
        return len(self.name) == 1
