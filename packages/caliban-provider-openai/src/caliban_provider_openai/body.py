"""A request's body on its way out: bytes per member, the history last.

One turn's body begins with the bytes of the turn before, and each message is serialised once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from caliban_common.digest import sha256
from caliban_common.message import DocumentBlock, ImageBlock, Message
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest

Path: TypeAlias = Literal["responses", "chat/completions"]
"""Which of the two interfaces a body is for."""

MEMO_BYTES = 16 * 1024 * 1024
"""How much of serialised messages an encoder remembers, once more of what was used last."""

NO_OUTPUT = "(no output)"
"""Stands where a tool had nothing to say."""

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The images that the vendor reads."""


class Body(Struct, frozen=True, kw_only=True):
    """A body: JSON per top-level member in the order of the wire, then JSON per item of `history`.

    `history` names the member that holds the items. `names` maps a tool's name on the wire to ours, where
    they differ.
    """

    path: Path
    model: str
    members: Mapping[str, bytes]
    history: str
    items: Sequence[bytes]
    names: Mapping[str, str] = field(default_factory=dict)

    def join(self) -> bytes:
        """The body as one JSON object; the history is copied once, which is what a long one costs."""
        members = b"".join([b'"%b":%b,' % (name.encode(), value) for name, value in self.members.items()])
        first, *others = self.items
        parts = [b'{%b"%b":[%b' % (members, self.history.encode(), first), *others]
        parts[-1] += b"]}"
        return b",".join(parts)


class Encoder(Protocol):
    """Makes the bodies of one interface, and may remember what it has serialised."""

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest` when it cannot be sent."""
        ...


def conversation_key(first: bytes) -> str:
    """What groups the requests of one conversation in the vendor's prompt cache, from its first words.

    It needs no memory: a resumed conversation and a fork find the machine where their prompt is kept.
    """
    return f"caliban-{sha256(first).hexdigest()[:24]}"


def instructions(messages: Sequence[Message]) -> str:
    """The text of the leading system messages."""
    return "\n\n".join([message.text for message in messages if message.text.strip()])


def nothing_to_send() -> InvalidRequest:
    """The error of a request without a message."""
    return InvalidRequest(
        "there is no message to send", hint="every message is empty: say something to the model"
    )


def image_url(block: ImageBlock) -> str | None:
    """Where the image is, or the image itself as a URL; `None` for one that the vendor cannot see."""
    if block.url is not None:
        return block.url
    if block.media_type not in IMAGE_TYPES or not block.data:
        return None
    return f"data:{block.media_type};base64,{block.data}"


def unseen(block: ImageBlock | DocumentBlock) -> str:
    """Words for what cannot be sent."""
    what = "an image" if isinstance(block, ImageBlock) else "a document"
    return f"[{what} of type {block.media_type!r} that this model cannot read]"


def document_text(block: DocumentBlock) -> str | None:
    """What a document of text says, under its title; `None` for any other document."""
    text, title = block.text, (block.title or "").strip()
    return f"[{title}]\n{text}" if text and title else text


def pdf_url(block: DocumentBlock) -> str | None:
    """A PDF as a URL; `None` for any other document."""
    if block.media_type != "application/pdf" or not block.data:
        return None
    return f"data:application/pdf;base64,{block.data}"


def result_text(text: str, *, is_error: bool) -> str:
    """The text of a tool's result; a failure says so, for the wire has no other place for it."""
    text = text if text.strip() else NO_OUTPUT
    return f"Error: {text}" if is_error and not text.lstrip().lower().startswith("error") else text
