"""What a hook applies to: everything, names, or a regular expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_hooks.pattern import LinearPattern

_PLAIN: Final = lazy_pattern(r"[\w ,|-]+")


class Matcher:
    """What a hook is for. Raises `PatternRefused` for an expression that is none.

    Nothing and `*` mean everything; letters, digits, `_`, `-` between `|` or commas are whole names; anything
    else is a regular expression that is looked for anywhere in the name.
    """

    def __init__(self, text: str) -> None:
        text = text.strip()
        self._names: frozenset[str] = frozenset()
        self._pattern: LinearPattern | None = None
        self._is_all = text in ("", "*")
        if self._is_all:
            return
        if _PLAIN.fullmatch(text):
            self._names = frozenset(
                filter(None, (name.strip() for name in text.replace(",", "|").split("|")))
            )
        else:
            self._pattern = LinearPattern(text)

    def matches(self, names: Iterable[str]) -> bool:
        """Whether any of `names` matches; an event without a name matches every hook."""
        known = tuple(names)
        if self._is_all or not known:
            return True
        if self._pattern is not None:
            return any(self._pattern.search(name) for name in known)
        return not self._names.isdisjoint(known)
