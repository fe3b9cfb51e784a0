"""Which action a key means where: the table, as far as somebody does what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from caliban_tui.keys.table import KEYS, Action, KeyContext, KeyRow


class BoundKeys:
    """The `rows` whose actions are `known`, looked up by contexts and by the keys pressed so far."""

    def __init__(self, rows: Iterable[KeyRow] = KEYS, *, known: Collection[Action]) -> None:
        self.rows: tuple[KeyRow, ...] = tuple(row for row in rows if row.action in known)
        self._actions = {(row.context, row.keys): row.action for row in self.rows}
        self._heads = {(row.context, row.keys[:1]) for row in self.rows if len(row.keys) > 1}

    def action(self, contexts: Iterable[KeyContext], keys: tuple[str, ...]) -> Action | None:
        """What `keys` mean in the first of `contexts` that knows them."""
        return next(
            (self._actions[context, keys] for context in contexts if (context, keys) in self._actions), None
        )

    def begins(self, contexts: Iterable[KeyContext], keys: tuple[str, ...]) -> bool:
        """Whether more keys behind these would mean something."""
        return any((context, keys) in self._heads for context in contexts)
