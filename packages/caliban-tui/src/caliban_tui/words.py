"""What a person reads of messages and hooks that come during a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from caliban_common.event import HookFired, MessageAdded
from caliban_common.lazy import lazy_pattern
from caliban_common.message import DocumentBlock, ImageBlock, Message, ResultPart, TextBlock
from caliban_common.text import one_line
from caliban_tui.transcript.blocks import NoticeBlock, PromptBlock, TranscriptBlock

FAULT: Final = "this is a fault in caliban"
OF_HOOK: Final = lazy_pattern(r'\A<hook event="([^"\n]*)">\n(.*)\n</hook>\Z', 16)


def added_message(event: MessageAdded) -> tuple[TranscriptBlock, ...]:
    """A message that steers, or one in which a hook speaks; all others are told by other events."""
    message = event.message
    if message.role != "user" or message.tool_results:
        return ()
    if not event.injected:
        return (PromptBlock(text=message.text, attached=attached_to(message), steered=True),)
    match = OF_HOOK.match(message.text)
    if match is None:
        return ()
    return (NoticeBlock(level="info", text=f"a hook says at {match[1]}: {match[2]}"),)


def attached_to(message: Message) -> tuple[str, ...]:
    """What goes with the words of a prompt, in words."""
    names: list[str] = []
    for block in message.content:
        if isinstance(block, ImageBlock):
            names.append(f"image {block.media_type}".strip())
        elif isinstance(block, DocumentBlock):
            names.append(block.title or f"document {block.media_type}")
    return tuple(names)


def with_text(message: Message, text: str) -> Message:
    """`message` with `text` in the place of its words; what is attached stays."""
    return replace(message, content=(TextBlock(text=text), *message.content[1:]))


def result_text(content: Sequence[ResultPart]) -> str:
    """The text of a call's result; what is no text and no picture is named in it."""
    return "".join(
        part.text if isinstance(part, TextBlock) else f"\n[document: {part.title or part.media_type}]"
        for part in content
        if not isinstance(part, ImageBlock)
    )


def hook_words(event: HookFired) -> tuple[TranscriptBlock, ...]:
    """A hook that objected to something other than a call: what becomes of a call is told with it."""
    decision = event.payload.get("decision", "allow")
    if decision == "allow" or "tool_use_id" in event.payload:
        return ()
    return (NoticeBlock(level="info", text=f"a hook answered {event.name} with {decision}"),)


def is_note(text: str) -> bool:
    """Whether `text` is a note for memory: one line behind a `#`; several lines may be Markdown."""
    return text.startswith("#") and "\n" not in text.strip() and not text.startswith(("#!", "##"))


def fault_told(error: Exception) -> NoticeBlock:
    """What is told of an error that nobody foresaw."""
    words = one_line(str(error), max_chars=300)
    return NoticeBlock(
        level="error",
        text=f"{FAULT}: {type(error).__name__}: {words}",
        hint="please report it; CALIBAN_DEBUG=1 shows where it happened",
    )
