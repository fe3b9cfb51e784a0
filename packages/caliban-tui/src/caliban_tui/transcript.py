"""A conversation as a whole: the blocks of one that was saved, and all of it as text to read and search."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, assert_never, cast

from msgspec.structs import replace

from caliban_commands.answer import ShownChoice, ShownTable, ShownText
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
from caliban_tui.blocks import (
    AnswerBlock,
    CallBlock,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    ReplyBlock,
    ShellBlock,
    SummaryBlock,
    TaskBlock,
    TodoBlock,
    TranscriptBlock,
)
from caliban_tui.clean import neutral
from caliban_tui.ends import end_lines
from caliban_tui.fold import Summarise
from caliban_tui.line import text_of
from caliban_tui.markdown.splitter import OpenReply, closed, fed
from caliban_tui.todorows import todo_lines
from caliban_tui.words import added_message, attached_to

WIDE: Final = 1 << 20
"""Columns of text that nothing wraps."""


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


def transcript_text(
    items: Iterable[TranscriptBlock | Message], summarise: Summarise = lambda call: call.name
) -> str:
    """All of it as text without controls: the Markdown as it came, calls with all that they gave."""
    lines: list[str] = []
    for is_message, group in groupby(items, lambda item: isinstance(item, Message)):
        members = list(group)
        blocks = history_blocks(cast("list[Message]", members), summarise) if is_message else members
        for block in cast("Sequence[TranscriptBlock]", blocks):
            lines += _text_lines(block)
    return neutral("\n".join(lines)).strip("\n") + "\n"


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
    told = added_message(MessageAdded(message=message, injected=True))
    if told:
        yield from told
    elif message.text or attached_to(message):
        yield PromptBlock(text=message.text, attached=attached_to(message))


def _call(call: ToolUseBlock, summary: str, result: ToolResultBlock | None) -> CallBlock:
    content = () if result is None else result.content
    return CallBlock(
        tool_use_id=call.id,
        name=call.name,
        summary=summary,
        arguments=call.input if call.raw_input is None else {"raw": call.raw_input},
        output="".join(part.text for part in content if isinstance(part, TextBlock)),
        outcome="interrupted" if result is None else "failed" if result.is_error else "ran",
        images=tuple(part for part in content if isinstance(part, ImageBlock)),
    )


def _text_lines(block: TranscriptBlock) -> Iterator[str]:
    match block:
        case PromptBlock():
            yield ""
            yield f"> {block.text}"
            yield from (f"  + {name}" for name in block.attached)
        case ReplyBlock():
            if not block.is_joined:
                yield ""
            yield block.markdown
        case ReasoningBlock():
            yield f"[thought{f' for {block.duration_s:.0f} s' if block.duration_s else ''}]"
            yield block.text
        case CallBlock():
            yield from _call_text(block)
        case TodoBlock():
            yield from (text_of(line) for line in todo_lines(block.rows, WIDE, only_changed=False))
        case TaskBlock():
            yield f"[{block.title}: {block.status} in the background]"
            yield from _inner_text(block.inner)
        case NoticeBlock():
            yield block.text
            if block.hint:
                yield block.hint
        case AnswerBlock():
            yield from _answer_text(block)
        case ShellBlock():
            yield f"! {block.command}"
            yield block.output.rstrip("\n")
        case SummaryBlock():
            yield f"[{block.reason}: {block.tokens_before:,} → {block.tokens_after:,} tokens]"
        case EndBlock():
            yield from (text_of(line) for line in end_lines(block, WIDE))
        case _:
            assert_never(block)


def _call_text(block: CallBlock) -> Iterator[str]:
    yield f"[{block.summary}{'' if block.outcome == 'ran' else f': {block.outcome}'}]"
    if block.reason:
        yield block.reason
    if block.arguments:
        yield json.dumps(dict(block.arguments), ensure_ascii=False, indent=2, default=str)
    yield from _inner_text(block.inner)
    if block.output:
        yield block.output.rstrip("\n")
    yield from (f"[image: {image.media_type or image.url}]" for image in block.images)


def _inner_text(inner: Sequence[TranscriptBlock]) -> Iterator[str]:
    """What an agent did, indented below its call."""
    for block in inner:
        for text in _text_lines(block):
            yield from (f"  {line}" for line in text.split("\n"))


def _answer_text(block: AnswerBlock) -> Iterator[str]:
    yield block.line
    for part in block.parts:
        match part:
            case ShownText():
                yield part.markdown
            case ShownTable():
                yield part.title
                yield from ("  ".join(row).rstrip() for row in (part.columns, *part.rows))
                yield from part.notes
            case ShownChoice():
                yield part.title
                yield from (f"  {row.line}  {row.label}" for row in part.rows)
            case _:
                assert_never(part)
