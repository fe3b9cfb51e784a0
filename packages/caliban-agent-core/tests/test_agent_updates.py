"""What the model is told later on holds after a summary, and counts as nobody's request."""

from __future__ import annotations

from caliban_agent_core.compact.cuts import is_request
from caliban_agent_core.compact.reminder import lasting_updates
from caliban_agent_core.compact.summary import is_update, update_text
from caliban_common.message import Message, user


def update(words: str, id: str) -> Message:
    return user(update_text(words), id=id)


def test_an_update_is_told_from_what_a_user_says() -> None:
    assert is_update(update_text("x")) and not is_request(update("x", "1"))
    assert is_request(user("hi", id="2"))


def test_updates_that_a_summary_took_away_are_kept_the_newest_first() -> None:
    before = (update("a" * 400, "1"), user("hi", id="2"), update("b" * 400, "3"), update("c", "4"))
    kept = lasting_updates(before, before[3:], room_tokens=10_000)
    assert [message.id for message in kept] == ["1", "3"]
    assert [message.id for message in lasting_updates(before, (), room_tokens=200)] == ["3", "4"]
    assert lasting_updates(before, (), room_tokens=0) == ()
