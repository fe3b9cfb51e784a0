"""What comes along of a conversation when a question is asked beside it."""

from __future__ import annotations

from caliban.slash.asides import SAID_TOKENS, conversation_text
from caliban_common.message import assistant, user

LEFT_OUT = "[what was said before is left out]"


def test_the_end_comes_along_whole_messages_first() -> None:
    long = "a " * (4 * SAID_TOKENS)
    text = conversation_text((user("first"), user(long), assistant("last")))
    assert text == f"{LEFT_OUT}\n\nassistant: last"


def test_of_one_message_that_is_too_long_its_end_comes_along() -> None:
    long = "a " * (4 * SAID_TOKENS) + "the end"
    text = conversation_text((user("first"), assistant(long)))
    assert text.startswith(f"{LEFT_OUT}\n\nassistant: […] ") and text.endswith(" a the end")
    assert len(text) > SAID_TOKENS
