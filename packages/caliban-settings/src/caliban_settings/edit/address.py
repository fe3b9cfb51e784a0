"""A setting by its dotted name, as a person types it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from caliban_common.near import nearest
from caliban_common.text import one_line
from caliban_settings.errors import NoSuchSetting
from caliban_settings.key import Key
from caliban_settings.leaves import LeafPath, Node, dotted, schema_tree
from caliban_settings.schema import SCHEMA

ANY_NAME: Final = "NAME"
"""Stands among the names below a table for those that are free."""


class KeyAddress(Struct, frozen=True, kw_only=True):
    """Where a setting is. `key` is `None` for a table of settings, whose names are `below`.

    `spellings` are those that a file may have for the last name, the documented one first. `inner` says that
    the path leads into the value of `key`.
    """

    path: LeafPath
    key: Key | None
    spellings: tuple[str, ...]
    below: tuple[str, ...] = ()
    inner: bool = False

    @property
    def name(self) -> str:
        """The documented name, as a person writes it."""
        return quoted_path(self.path)


def find_key(text: str) -> KeyAddress:
    """The setting that `text` names: parts between dots, quoted where they hold a dot.

    Raises `NoSuchSetting`.
    """
    return address_of(_parts(text))


def address_of(given: Sequence[str]) -> KeyAddress:
    """The setting at a path of names. Raises `NoSuchSetting`."""
    node, path = schema_tree(SCHEMA), list[str]()
    spellings: tuple[str, ...] = ()
    for place, name in enumerate(given):
        child = node.child(name)
        if child is None:
            raise _unknown(node, path, name)
        path.append(name if child is node.star else child.name)
        is_named = child.key is not None and child is not node.star
        spellings = (path[-1], *(child.key.aliases if child.key is not None and is_named else ()))
        node = child
        rest = given[place + 1 :]
        if node.key is not None and rest and not (node.children or node.star):
            if not _holds_tables(node.key.form):
                raise NoSuchSetting(f"`{quoted_path(path)}` has no settings in it")
            return KeyAddress(
                path=(*path, *given[place + 1 :]), key=node.key, spellings=(rest[-1],), inner=True
            )
    below = (*node.children, *((ANY_NAME,) if node.star is not None else ()))
    return KeyAddress(path=tuple(path), key=node.key, spellings=spellings, below=below)


def quoted_path(path: list[str] | LeafPath) -> str:
    """A path as a person writes it: names with other signs than letters, digits, _ and - in quotes."""
    return ".".join(
        name
        if name and name.isascii() and name.replace("_", "").replace("-", "a").isalnum()
        else repr_of(name)
        for name in path
    )


def repr_of(name: str) -> str:
    """A name in quotes."""
    import json

    return json.dumps(name, ensure_ascii=False)


def _parts(text: str) -> list[str]:
    """The names in a TOML key."""
    import tomllib

    names: list[str] = []
    try:
        value: Any = tomllib.loads(f"{text.strip()} = 0") if "\n" not in text and "=" not in text else None
    except (ValueError, RecursionError):
        value = None
    while isinstance(value, dict) and len(value) == 1:
        name, value = next(iter(value.items()))
        names.append(name)
    if not names or value != 0:
        raise NoSuchSetting(
            f"{one_line(text, max_chars=120)!r} is no name of a setting", hint="names stand between dots"
        )
    return names


def _holds_tables(form: Any) -> bool:
    forms = form.get("anyOf", (form,))
    return any(not one or "object" in one.get("type", ()) or one.get("type") == "object" for one in forms)


def _unknown(node: Node, path: list[str], name: str) -> NoSuchSetting:
    near = nearest(name, node.children)
    where = f" in `{dotted(tuple(path))}`" if path else ""
    shown = one_line(quoted_path([*path, name]), max_chars=120)
    if near is not None:
        hint = f"did you mean {quoted_path([*path, near])}?"
    elif path:
        hint = f"known{where}: {', '.join(node.children)}"
    else:
        hint = None
    return NoSuchSetting(f"there is no setting `{shown}`", hint=hint)
