"""What to do about images and PDFs that a model does not take, or a provider refuses.

Words take their place, or each would end every later run. Only what a person has just sent is not silently
put into words: they are told, before anything is sent.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from caliban_common.event import Warned
from caliban_common.history import PDF, TargetModel, has_unseen, is_unseen
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    ResultPart,
    TextBlock,
    ToolResultBlock,
)
from caliban_provider.errors import InvalidRequest
from caliban_provider.provider import Provider

ABOUT_IMAGES = r"(?i)\b(?:image|picture|png|jpe?g|gif|webp|pdf|document)"


def target_of(provider: Provider, model: str) -> TargetModel:
    """Who reads a history: what a model is not known to take it is sent, and may refuse."""
    able = provider.capabilities(model)
    return TargetModel(
        family=provider.family,
        model=model,
        sees_images=able.vision is not False,
        reads_pdf=able.documents is not False,
    )


def check_prompt(message: Message, target: TargetModel) -> None:
    """Raises `InvalidRequest` where the latest words of a user come with what `target` does not take.

    What a tool has brought is no reason: it must not be the end of a conversation.
    """
    unseen = [block for block in message.content if is_unseen(block, target)]
    if unseen:
        what = "see images" if isinstance(unseen[0], ImageBlock) else "read PDFs"
        raise InvalidRequest(
            f"{target.model} cannot {what}, and the prompt comes with one: nothing was sent",
            hint="choose a model that can, or let words take its place",
        ).with_remedy("seeing_model", target.model)


def unseen_warning(messages: tuple[Message, ...], target: TargetModel) -> Warned | None:
    """What to tell of `messages` where words stand for a part of them."""
    if (target.sees_images and target.reads_pdf) or not any(has_unseen(each, target) for each in messages):
        return None
    text = f"{target.model} does not take the images or PDFs of this conversation: it reads what they were"
    return Warned(subtype="media_unseen", message=text)


def names_image(text: str) -> bool:
    """Whether a refusal speaks of an image or a document."""
    return re.search(ABOUT_IMAGES, text) is not None


def without_images(messages: tuple[Message, ...], reason: str) -> tuple[Message, ...] | None:
    """`messages` with words for images and PDFs that no reply has come after, or else for all.

    `None` where there are none.
    """
    replies = [number for number, message in enumerate(messages) if message.role == "assistant"]
    for start in (replies[-1] if replies else 0, 0):
        rest = tuple(_noted(message, reason) for message in messages[start:])
        if rest != messages[start:]:
            return (*messages[:start], *rest)
    return None


def _noted(message: Message, reason: str) -> Message:
    content = tuple(_words(block, reason) for block in message.content)
    return message if content == message.content else replace(message, content=content)


def _words(block: Block, reason: str) -> Block:
    if isinstance(block, ToolResultBlock):
        parts = tuple(_part_words(part, reason) for part in block.content)
        return block if parts == block.content else replace(block, content=parts)
    return _part_words(block, reason) if isinstance(block, ImageBlock | DocumentBlock) else block


def _part_words(part: ResultPart, reason: str) -> ResultPart:
    match part:
        case ImageBlock():
            what = "an image"
        case DocumentBlock() if part.media_type == PDF:
            what = "a document"
        case _:
            return part
    return TextBlock(text=f"[{what} was left out: the provider refused it: {reason}]")
