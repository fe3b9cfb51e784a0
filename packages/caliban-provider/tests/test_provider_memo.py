"""What encoders remember of the messages they have written."""

from __future__ import annotations

from caliban_provider.memo import Memo


def test_a_value_is_found_by_the_object_itself_and_by_its_variant():
    memo: Memo[str] = Memo(max_bytes=100)
    first, second = [1], [1]
    memo.put(first, "first", 1)
    memo.put(first, "marked", 1, "marked")
    assert (memo.get(first), memo.get(first, "marked"), memo.get(second)) == ("first", "marked", None)
    assert len(memo) == 2


def test_what_is_not_asked_for_gives_way_and_what_is_stays():
    memo: Memo[int] = Memo(max_bytes=10)
    owners = [[number] for number in range(50)]
    for number, owner in enumerate(owners):
        memo.put(owner, number, 6)
        assert memo.get(owners[0]) == 0
    assert memo.get(owners[1]) is None
    assert len(memo) < 10


def test_what_a_shorter_history_does_not_use_is_forgotten_soon():
    memo: Memo[int] = Memo(max_bytes=100 << 20)
    owners = [[number] for number in range(40)]
    for number, owner in enumerate(owners):
        memo.put(owner, number, 1 << 20)
    assert len(memo) == 40
    memo.fit(1 << 20)
    for _ in range(3):
        for number, owner in enumerate(owners[:2]):
            assert memo.get(owner) == number
        memo.put([0], 0, 1 << 20)
    assert len(memo) <= 6
