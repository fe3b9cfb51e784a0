"""The table of keys, and a person's own."""

from __future__ import annotations

import pytest

from caliban_tui.errors import KeysRefused
from caliban_tui.keys.bound import BoundKeys
from caliban_tui.keys.custom import help_rows, key_shown, own_rows
from caliban_tui.keys.table import KEYS


def keys_of(action: str, **keys: list[str]) -> list[tuple[str, ...]]:
    return [row.keys for row in own_rows(keys) if row.action == action]


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("ctrl+r", ("c-r",)),
        ("c-f", ("c-f",)),
        ("Alt+Enter", ("a-enter",)),
        ("shift+tab", ("s-tab",)),
        ("f5", ("f5",)),
        ("PgUp", ("pageup",)),
        ("ctrl+alt+e", ("a-c-e",)),
        ("alt+-", ("a--",)),
        ("ctrl+space", ("c-space",)),
        ("ctrl+x v", ("c-x", "v")),
        ("a-V", ("a-V",)),
    ],
)
def test_a_key_is_written_as_people_write_it(written: str, keys: tuple[str, ...]) -> None:
    others = {name: [] for name in ("search_history", "cycle_mode", "newline", "page_up", "edit")}
    assert keys_of("viewer", **others, viewer=[written]) == [keys]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"viewer": ["hyper+r"]}, "tui.keys.viewer: 'hyper+r' is no key"),
        ({"viewer": ["ctrl+"]}, "tui.keys.viewer: 'ctrl+' is no key"),
        ({"viewer": ["ctrl+ä"]}, "is no key"),
        ({"viewer": ["enterr"]}, "is no key"),
        ({"viewer": ["space"]}, "is no key"),
        ({"viewer": ["\x1b[A"]}, "is no key"),
        ({"viewer": [""]}, "tui.keys.viewer: an empty text is no key"),
        ({"viewer": ["v"]}, "tui.keys.viewer: 'v' is a character that is typed"),
        ({"vieuwer": ["f5"]}, "there is no action 'vieuwer'"),
        ({"viewer": ["ctrl+r"]}, "tui.keys.viewer: Ctrl+R does two things, search_history and viewer"),
        ({"viewer": ["f5"], "todos": ["f5"]}, "F5 does two things"),
        ({"viewer": ["ctrl+x"]}, "tui.keys.viewer: Ctrl+X begins Ctrl+X Ctrl+E"),
    ],
)
def test_keys_that_are_none_or_mean_two_things_are_refused(keys: dict[str, list[str]], words: str) -> None:
    with pytest.raises(KeysRefused) as refused:
        own_rows(keys)
    assert words in refused.value.message


def test_an_empty_list_takes_the_keys_of_an_action_away() -> None:
    assert keys_of("suspend", suspend=[]) == []
    assert ("draft", ("c-z",)) not in [(row.context, row.keys) for row in own_rows({"suspend": []})]


def test_two_actions_may_swap_their_keys() -> None:
    rows = own_rows({"viewer": ["ctrl+t"], "todos": ["ctrl+o"]})
    bound = BoundKeys(rows, known={"viewer", "todos"})
    assert bound.action(("draft",), ("c-t",)) == "viewer"
    assert bound.action(("draft",), ("c-o",)) == "todos"


def test_what_nobody_does_is_bound_to_nothing_and_in_no_help() -> None:
    bound = BoundKeys(KEYS, known={"send", "edit"})
    assert bound.action(("draft",), ("c-o",)) is None
    assert bound.begins(("draft",), ("c-x",))
    assert help_rows(bound.rows) == [
        ("Enter", "send; while a prompt is at work: tell it with its next step"),
        ("Ctrl+G, Ctrl+X Ctrl+E", "write in an editor"),
    ]


def test_the_table_itself_has_no_conflicts_and_its_keys_have_names() -> None:
    assert own_rows({}) == KEYS
    assert key_shown("a-up") == "Alt+Up"
    assert key_shown("c-_") == "Ctrl+_"
    assert key_shown("s-tab") == "Shift+Tab"
    assert [key_shown(name) for name in ("c-c", "c-s", "a-a", "c-pagedown")] == [
        "Ctrl+C",
        "Ctrl+S",
        "Alt+A",
        "Ctrl+PgDn",
    ]
