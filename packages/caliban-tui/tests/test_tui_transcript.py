"""Saved conversations as blocks."""

from __future__ import annotations

import pytest

from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    system,
    user,
)
from caliban_tui.transcript.blocks import CallBlock, PromptBlock, ReplyBlock
from caliban_tui.transcript.saved import SHOWN_MESSAGES, history_blocks, last_messages, resumed_blocks

PICTURE = ImageBlock.of("image/png", "AAAA")
CALL = ToolUseBlock(id="1", name="Bash", input={"command": "ls\n-l"})
HISTORY = (
    system("be good"),
    Message(role="user", content=(TextBlock(text="look\x1b[2J here"), PICTURE)),
    Message(
        role="assistant",
        content=(
            ThinkingBlock(text="let me see"),
            RedactedThinkingBlock(data="secret"),
            OpaqueBlock(family="fam", data={}),
            TextBlock(text="# I look\n\nnow"),
            CALL,
            ToolUseBlock(id="2", name="T", input={}),
        ),
    ),
    Message(
        role="user",
        content=(ToolResultBlock(tool_use_id="1", content=(TextBlock(text="a\nb"), PICTURE), is_error=True),),
    ),
    Message(role="user", content=(ToolResultBlock(tool_use_id="9", content=(TextBlock(text="stray"),)),)),
    user('<hook event="PreTurn">\ncareful\n</hook>'),
    Message(
        role="user",
        content=(DocumentBlock(source=Base64Source(media_type="application/pdf", data="AA"), title="a.pdf"),),
    ),
)


def test_a_saved_conversation_has_the_blocks_that_it_had_when_it_was_held():
    blocks = history_blocks(HISTORY, lambda call: f"{call.name}!")
    assert [block.type for block in blocks] == [
        "notice", "prompt", "reasoning", "reasoning", "notice", "reply", "reply", "call", "call", "call",
        "notice", "prompt",
    ]  # fmt: skip
    assert blocks[5:7] == (
        ReplyBlock(markdown="# I look", is_first=True),
        ReplyBlock(markdown="now"),
    )
    ran = blocks[7]
    assert isinstance(ran, CallBlock)
    assert (ran.summary, ran.outcome, ran.output, ran.images) == ("Bash!", "failed", "a\nb", (PICTURE,))
    assert isinstance(blocks[8], CallBlock)
    assert blocks[8].outcome == "interrupted"
    assert blocks[9].type == "call"
    assert blocks[-1] == PromptBlock(text="", attached=("a.pdf",))


@pytest.mark.parametrize("most", range(1, 9))
def test_the_end_of_a_conversation_has_no_result_without_its_call(most: int) -> None:
    call = ToolUseBlock(id="t", name="Read", input={})
    turn = (
        user("go on"),
        Message(role="assistant", content=(TextBlock(text="I look."), call)),
        Message(role="user", content=(ToolResultBlock(tool_use_id="t", content=()),)),
    )
    messages = turn * 4
    end = last_messages(messages, most)
    assert end == messages[len(messages) - len(end) :]
    assert most - 1 <= len(end) <= most
    assert not end or not end[0].tool_results


def test_of_a_long_conversation_the_end_is_shown_and_how_much_is_not() -> None:
    messages = [user(f"prompt {number}") for number in range(SHOWN_MESSAGES + 7)]
    notice, *blocks = resumed_blocks(messages, lambda call: call.name)
    assert notice.text == "7 earlier messages not shown here"
    assert [block.text for block in blocks] == [message.text for message in messages[7:]]
    assert len(resumed_blocks(messages[7:], lambda call: call.name)) == SHOWN_MESSAGES
