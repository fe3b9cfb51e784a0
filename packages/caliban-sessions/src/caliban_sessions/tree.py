"""The tree over all sessions: each fork below the session that it was forked from."""

from __future__ import annotations

from collections.abc import Iterable

from caliban_sessions.state import SessionHead


class SessionTree:
    """A session and its forks, in the order in which they were given; made by `tree_of`."""

    def __init__(self, head: SessionHead) -> None:
        self.head = head
        self.children: list[SessionTree] = []


def tree_of(heads: Iterable[SessionHead]) -> tuple[SessionTree, ...]:
    """The trees that `heads` form. A fork whose origin is not among them begins one of its own.

    An origin is known by its id, also under another name, else by its name where that session says no id. A
    file can be edited: where origins form a circle, the first of them that was given begins the tree.
    """
    trees = [SessionTree(head) for head in heads]
    by_id = {tree.head.id: tree for tree in trees if tree.head.id}
    by_name = {tree.head.name: tree for tree in trees if tree.head.id == tree.head.name}
    parents: dict[int, SessionTree] = {}
    for tree in trees:
        origin = tree.head.forked_from
        parent = None if origin is None else by_id.get(origin.id) or by_name.get(origin.session)
        if parent is not None:
            parents[id(tree)] = parent
    _break_circles(trees, parents)
    for tree in trees:
        if id(tree) in parents:
            parents[id(tree)].children.append(tree)
    return tuple(tree for tree in trees if id(tree) not in parents)


def _break_circles(trees: Iterable[SessionTree], parents: dict[int, SessionTree]) -> None:
    safe: set[int] = set()
    for tree in trees:
        way: dict[int, int] = {}
        current: SessionTree | None = tree
        while current is not None and id(current) not in safe:
            if id(current) in way:
                circle = list(way)[way[id(current)] :]
                del parents[id(tree) if id(tree) in circle else id(current)]
                break
            way[id(current)] = len(way)
            current = parents.get(id(current))
        safe.update(way)
