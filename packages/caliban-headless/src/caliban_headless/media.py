"""Images and PDFs of frames, as the model takes them: the same road as that of files."""

from __future__ import annotations

from base64 import b64decode

from anyio import to_thread
from msgspec.structs import replace

from caliban_common.message import Block, DocumentBlock, ImageBlock, Message
from caliban_drive.remedies import advice
from caliban_headless.errors import BadInput
from caliban_images import MediaLimits, MediaRefused, image_type, is_pdf, prepare_image, prepare_pdf


async def fitted(message: Message, limits: MediaLimits) -> Message:
    """`message` with its images and PDFs as a model with these limits takes them; worked out on a thread.

    An image behind an address is the provider's to fetch. Raises `BadInput`.
    """
    return await to_thread.run_sync(_fitted, message, limits)


def _fitted(message: Message, limits: MediaLimits) -> Message:
    try:
        content = tuple(_block(block, limits) for block in message.content)
    except MediaRefused as error:
        words = f"a user frame's content cannot be shown to the model: {error.message}"
        raise BadInput(words, hint=advice(error.hint, error.remedy)) from error
    return replace(message, content=content)


def _block(block: Block, limits: MediaLimits) -> Block:
    if isinstance(block, ImageBlock) and block.data is not None:
        data = _bytes(block.data)
        if image_type(data) is None:
            raise BadInput("an image of a user frame is no PNG, JPEG, GIF or WebP image")
        return prepare_image(data, limits).block
    if isinstance(block, DocumentBlock):
        data = _bytes(block.data)
        if not is_pdf(data):
            raise BadInput("a document of a user frame is no PDF")
        return prepare_pdf(data, limits, title=block.title or "document.pdf").block
    return block


def _bytes(data: str) -> bytes:
    try:
        return b64decode("".join(data.split()), validate=True)
    except ValueError as error:
        raise BadInput("the data of an image or document of a user frame is not base64") from error
