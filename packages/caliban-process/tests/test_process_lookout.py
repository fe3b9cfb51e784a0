"""A timer that looks for all programs at the same moments, and ever more seldom."""

from __future__ import annotations

from caliban_process.lookout import FIRST_S, LAST_S, Lookout

NEVER = float("inf")


def test_nobody_is_looked_for_where_nobody_wants_it() -> None:
    lookout = Lookout()
    assert lookout.at == NEVER
    lookout.add(print, 0.0)
    lookout.remove(print)
    lookout.remove(print)
    assert lookout.at == NEVER


def test_all_look_at_the_same_moments() -> None:
    looks: list[str] = []
    lookout = Lookout()
    lookout.add(lambda: looks.append("one"), 0.0)
    lookout.add(lambda: looks.append("other"), FIRST_S / 2)
    assert lookout.at == FIRST_S
    lookout.ring(FIRST_S)
    assert looks == ["one", "other"]


def test_it_is_looked_ever_more_seldom_until_something_begins() -> None:
    lookout, now, pauses = Lookout(), 0.0, []
    lookout.add(list, now)
    for _ in range(20):
        pauses.append(lookout.at - now)
        now = lookout.at
        lookout.ring(now)
    assert pauses[0] == FIRST_S
    assert pauses == sorted(pauses)
    assert lookout.at - now == LAST_S
    lookout.add(dict, now)
    assert lookout.at == now + FIRST_S


def test_one_that_leaves_while_it_is_looked_keeps_nobody_from_looking() -> None:
    looks: list[str] = []
    lookout = Lookout()

    def leave() -> None:
        lookout.remove(leave)

    lookout.add(leave, 0.0)
    lookout.add(lambda: looks.append("other"), 0.0)
    lookout.ring(1.0)
    lookout.ring(2.0)
    assert looks == ["other", "other"]
