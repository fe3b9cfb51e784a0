"""Ids and names for the wire; the memory of the encoder."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.memo import Memo
from caliban_provider_anthropic.names import MAX_ID_CHARS, MAX_NAME_CHARS, wire_id, wire_name

ANY = st.text(max_size=200) | st.text("abc_-019", min_size=1, max_size=64)


@given(ANY)
def test_every_id_and_name_becomes_one_that_the_wire_takes(raw: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire_id(raw))
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", wire_name(raw))


@given(ANY)
def test_what_the_wire_takes_stays_as_it_is(raw: str) -> None:
    assert wire_id(wire_id(raw)) == wire_id(raw)
    assert wire_name(wire_name(raw)) == wire_name(raw)


@given(st.sets(ANY, min_size=2, max_size=30))
def test_different_ids_stay_different(raws: set[str]) -> None:
    assert len({wire_id(raw) for raw in raws}) == len(raws)
    assert len({wire_name(raw) for raw in raws}) == len(raws)


def test_ids_that_differ_only_past_the_limit_stay_different() -> None:
    long = "x" * MAX_ID_CHARS
    assert wire_id(long) == long
    assert len({wire_id(long + end) for end in ("", "a", "b")}) == 3
    assert len({wire_name("y" * MAX_NAME_CHARS + end) for end in ("", "a", "b")}) == 3


def test_a_memo_finds_by_identity_and_keeps_variants_apart() -> None:
    memo: Memo[str] = Memo(max_bytes=100)
    one, other = [1], [1]
    memo.put(one, "plain", 10)
    memo.put(one, "own", 10, True)
    assert (memo.get(one), memo.get(one, True), memo.get(other)) == ("plain", "own", None)


def test_a_memo_forgets_what_is_not_asked_for_and_keeps_what_is() -> None:
    memo: Memo[int] = Memo(max_bytes=100)
    used = object()
    memo.put(used, -1, 10)
    owners = [object() for _ in range(100)]
    for number, owner in enumerate(owners):
        memo.put(owner, number, 10)
        assert memo.get(used) == -1
    assert memo.get(owners[0]) is None
    assert memo.get(owners[-1]) == 99
    assert len(memo) < 30
