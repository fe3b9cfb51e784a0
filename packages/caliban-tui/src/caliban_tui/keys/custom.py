"""A person's own keys: the table with the keys of some actions in the place of the usual ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, get_args

from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_tui.errors import KeysRefused
from caliban_tui.keys.table import KEYS, Action, KeyRow

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "esc": "escape",
        "return": "enter",
        "del": "delete",
        "ins": "insert",
        "pgup": "pageup",
        "pgdn": "pagedown",
        "pagedn": "pagedown",
        "page_up": "pageup",
        "page_down": "pagedown",
    }
)
MODIFIERS: Final[Mapping[str, str]] = MappingProxyType(
    {"ctrl": "c", "control": "c", "alt": "a", "meta": "a", "option": "a", "shift": "s"}
)
NAMED: Final = frozenset(
    (
        *("enter", "tab", "escape", "backspace", "space", "delete", "insert"),
        *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
        *(f"f{number}" for number in range(1, 25)),
    )
)
CTRL_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789\\]^_@")
SHOWN: Final[Mapping[str, str]] = MappingProxyType({"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn"})
HELD: Final[Mapping[str, str]] = MappingProxyType({"s": "Shift", "c": "Ctrl", "a": "Alt"})


def own_rows(keys: Mapping[str, Sequence[str]], rows: Iterable[KeyRow] = KEYS) -> tuple[KeyRow, ...]:
    """`rows` with what `keys` says: for an action the keys that do it, none taking all away.

    A key is written as `ctrl+r`, `alt+enter` or `c-r`, several pressed one after the other with blanks
    between. Raises `KeysRefused` for an action or a key that there is not, and for keys of two actions.
    """
    actions = tuple(dict.fromkeys(row.action for row in rows))
    table = list(rows)
    for action, wanted in keys.items():
        if action not in actions:
            near = did_you_mean(action, actions)
            raise KeysRefused(
                f"tui.keys: there is no action {one_line(action, max_chars=60)!r}",
                hint=near or f"the actions are {', '.join(actions)}",
            )
        usual = [row for row in table if row.action == action]
        place = table.index(usual[0])
        own = [usual[0]._replace(keys=_chord(action, text)) for text in wanted]
        table = [row for row in table if row.action != action or row.keys[0].startswith("scroll")]
        table[place:place] = own
    _refuse_conflicts(table, keys)
    return tuple(table)


def _refuse_conflicts(table: Sequence[KeyRow], keys: Mapping[str, Sequence[str]]) -> None:
    known: dict[tuple[str, tuple[str, ...]], Action] = {}
    for row in table:
        other = known.setdefault((row.context, row.keys), row.action)
        if other != row.action:
            named = row.action if row.action in keys else other
            raise KeysRefused(
                f"tui.keys.{named}: {keys_shown(row.keys)} does two things, {other} and {row.action}",
                hint="give one of them another key, or none: []",
            )
    for row in table:
        for other_row in table:
            if (
                row.context == other_row.context
                and len(row.keys) < len(other_row.keys)
                and other_row.keys[: len(row.keys)] == row.keys
            ):
                named = row.action if row.action in keys else other_row.action
                raise KeysRefused(
                    f"tui.keys.{named}: {keys_shown(row.keys)} begins {keys_shown(other_row.keys)}",
                    hint="give one of them another key, or none: []",
                )


def _chord(action: str, text: str) -> tuple[str, ...]:
    names = tuple(_key(action, word) for word in text.split())
    if not names:
        raise KeysRefused(f"tui.keys.{action}: an empty text is no key", hint="no key at all is []")
    if len(names[0]) == 1 and action != "help":
        raise KeysRefused(
            f"tui.keys.{action}: {names[0]!r} is a character that is typed", hint="use it with ctrl or alt"
        )
    return names


def _key(action: str, word: str) -> str:
    """The name of one key. `c-r` and `ctrl+r` are the same."""
    refused = KeysRefused(
        f"tui.keys.{action}: {one_line(word, max_chars=60)!r} is no key",
        hint="keys are written as ctrl+r, alt+enter, shift+tab, f5 or ctrl+x ctrl+e",
    )
    if len(word) == 1:
        if not word.isprintable():
            raise refused
        return word
    *held, key = word.split("+") if "+" in word else _dashed(word)
    modifiers = {MODIFIERS.get(name.lower(), name.lower()) for name in held}
    key = WORDS.get(key.lower(), key.lower() if len(key) > 1 else key)
    if not modifiers <= {"c", "a", "s"} or not (key in NAMED or (len(key) == 1 and key.isprintable())):
        raise refused
    if len(key) == 1 and modifiers & {"c", "s"}:
        key = key.lower()
        if "s" in modifiers or key not in CTRL_CHARACTERS:
            raise refused
    if key == "space" and not modifiers:
        raise refused
    order = [name for name in ("a", "c", "s") if name in modifiers]
    return "-".join([*order, key])


def _dashed(word: str) -> list[str]:
    parts = word.split("-")
    while len(parts) > 1 and not parts[-1]:
        parts = [*parts[:-2], "-"]
    return parts


def key_shown(name: str) -> str:
    """A key as a person reads it: `Ctrl+R`."""
    if len(name) == 1:
        return name
    *held, key = _dashed(name)
    return "+".join([*(HELD.get(part, part) for part in held), SHOWN.get(key, key.capitalize())])


def keys_shown(names: Sequence[str]) -> str:
    """Keys that are pressed one after the other."""
    return " ".join(map(key_shown, names))


CONTEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {"draft": "", "empty": "with an empty draft", "menu": "in a menu", "search": "in the history"}
)


def help_rows(rows: Iterable[KeyRow]) -> list[tuple[str, str]]:
    """Keys and what they do, a row for each action: what `?` shows."""
    texts: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.help:
            texts.setdefault((row.context, row.help), []).append(keys_shown(row.keys))
    return [
        (
            ", ".join(dict.fromkeys(keys)),
            " ".join(filter(None, (help_, CONTEXTS[context] and f"({CONTEXTS[context]})"))),
        )
        for (context, help_), keys in texts.items()
    ]


ACTIONS: Final[tuple[str, ...]] = get_args(Action)
