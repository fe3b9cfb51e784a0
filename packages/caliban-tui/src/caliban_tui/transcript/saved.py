"""The blocks of a conversation that was saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from caliban_common.event import MessageAdded
from caliban_common.message import (
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.text import plural
from caliban_tui.markdown.splitter import OpenReply, closed, fed
from caliban_tui.transcript.blocks import (
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    TranscriptBlock,
)
from caliban_tui.transcript.fold import Summarise
from caliban_tui.words import added_message, attached_to, result_text

SHOWN_MESSAGES: Final = 400
"""Of a conversation that goes on: more would keep a person waiting for what they have read before."""


def resumed_blocks(messages: Sequence[Message], summarise: Summarise) -> tuple[TranscriptBlock, ...]:
    """The end of a conversation that goes on, and how much stands before it."""
    shown = last_messages(messages, SHOWN_MESSAGES)
    blocks = history_blocks(shown, summarise)
    if len(shown) == len(messages):
        return blocks
    words = f"{plural(len(messages) - len(shown), 'earlier message')} not shown here"
    return (NoticeBlock(level="info", text=words, hint="the transcript has all of them: ctrl+o"), *blocks)


def last_messages(messages: Sequence[Message], most: int) -> Sequence[Message]:
    """The last `most` messages, or a few less: no result stands there without its call."""
    start = max(len(messages) - most, 0)
    while start and start < len(messages) and messages[start].tool_results:
        start += 1
    return messages[start:]


def history_blocks(messages: Sequence[Message], summarise: Summarise) -> tuple[TranscriptBlock, ...]:
    """The blocks of a saved conversation: every block of every message is in one of them."""
    calls = {call.id for message in messages for call in message.tool_uses}
    results = {result.tool_use_id: result for message in messages for result in message.tool_results}
    blocks: list[TranscriptBlock] = []
    for message in messages:
        for block in _of_message(message, results, summarise):
            if isinstance(block, CallBlock) and blocks and blocks[-1].type == "reply":
                block = replace(block, is_apart=True)
            blocks.append(block)
        for result in message.tool_results:
            if result.tool_use_id not in calls:
                lost = ToolUseBlock(id=result.tool_use_id, name="result", input={})
                blocks.append(_call(lost, "result of a call that is not here", result))
    return tuple(blocks)


def _of_message(
    message: Message, results: dict[str, ToolResultBlock], summarise: Summarise
) -> Iterator[TranscriptBlock]:
    if message.role != "assistant":
        yield from _of_person(message)
        return
    for block in message.content:
        match block:
            case TextBlock():
                reply, done = fed(OpenReply(), block.text)
                yield from (*done, *closed(reply))
            case ThinkingBlock():
                yield ReasoningBlock(text=block.text)
            case RedactedThinkingBlock():
                yield ReasoningBlock(text="[encrypted by the provider]")
            case ToolUseBlock():
                yield _call(block, summarise(block), results.get(block.id))
            case ImageBlock():
                yield NoticeBlock(level="info", text=f"[image: {block.media_type or block.url}]")
            case DocumentBlock():
                yield NoticeBlock(level="info", text=f"[document: {block.title or block.media_type}]")
            case OpaqueBlock():
                yield NoticeBlock(level="info", text=f"[state that only {block.family} reads]")
            case ToolResultBlock():
                pass  # stands with its call
            case _:
                assert_never(block)


def _of_person(message: Message) -> Iterator[TranscriptBlock]:
    """A prompt, with what went with it; words of hooks are told as theirs, the system prompt by its size."""
    if message.role == "system":
        yield NoticeBlock(level="info", text=f"[system prompt: {len(message.text):,} characters]")
        return
    blocks = added_message(MessageAdded(message=message, injected=True))
    if blocks:
        yield from blocks
    elif message.text or attached_to(message):
        yield PromptBlock(text=message.text, attached=attached_to(message))


def _call(call: ToolUseBlock, summary: str, result: ToolResultBlock | None) -> CallBlock:
    content = () if result is None else result.content
    return CallBlock(
        tool_use_id=call.id,
        name=call.name,
        summary=summary,
        arguments=call.input if call.raw_input is None else {"raw": call.raw_input},
        output=result_text(content),
        outcome="interrupted" if result is None else "failed" if result.is_error else "ran",
        images=tuple(part for part in content if isinstance(part, ImageBlock)),
    )
