"""Blocks as the parts of the wire, and how a thought signature is kept beside the block that it signs.

A signature belongs to one part and comes back on the very same one. Reasoning carries its own. For any other
part an opaque block stands right before the block and says what it signs:

    {"thoughtSignature": S, "on": "text" | "functionCall"}    the next block is that part
    {"part": {...}}                                           the whole part: signed text that is blank, and
                                                              kinds of parts that have no block

An opaque block outlives a session file and goes back to the model that wrote it only; where the signed block
is gone, the signature goes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from msgspec import Struct, field

from caliban_common.codec import dumps
from caliban_common.errors import DataError
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_provider_google.models import FAMILY
from caliban_provider_google.names import is_made, wire_name

NO_OUTPUT = "(no output)"
"""Stands where a tool had nothing to say."""

UNSIGNED = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model wrote: the vendor's own word for it."""

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})


class Called(Struct, frozen=True, kw_only=True):
    """What a result must repeat of its call: the name, and the id where the wire gave one."""

    name: str
    id: str | None


class _Reply(Struct, kw_only=True):
    """A message of the model on its way out; `mark` is the signature that waits for its block."""

    own: bool
    signs: bool
    parts: list[bytes] = field(default_factory=list)
    calls: dict[str, Called] = field(default_factory=dict)
    mark: tuple[str, str] | None = None
    written: str | None = None

    def take(self, block: Block) -> None:
        match block:
            case OpaqueBlock():
                self._state(block)
                return
            case TextBlock():
                if block.text.strip() and block.text != self.written:
                    self._add({"text": block.text}, self._signature("text"))
            case ThinkingBlock():
                if self.own and block.signature is not None:
                    self._add({"text": block.text, "thought": True}, block.signature)
            case ToolUseBlock():
                self._call(block)
            case ImageBlock() | DocumentBlock() | RedactedThinkingBlock() | ToolResultBlock():
                pass
            case _:
                assert_never(block)
        self.mark = self.written = None

    def _state(self, block: OpaqueBlock) -> None:
        self.mark = self.written = None
        if not self.own or block.family != FAMILY:
            return
        match block.data:
            case {"part": Mapping() as part} if part:
                self._add(dict(part), None)
                text = part.get("text")
                self.written = text if isinstance(text, str) else None
            case {"thoughtSignature": str(signature), "on": str(kind)}:
                self.mark = (kind, signature)

    def _call(self, block: ToolUseBlock) -> None:
        id = None if not self.own or is_made(block.id) else block.id
        name = wire_name(block.name)
        signature = self._signature("functionCall")
        if signature is None and self.signs and not self.calls:
            signature = UNSIGNED
        self.calls[block.id] = Called(name=name, id=id)
        call = {"id": id, "name": name} if id is not None else {"name": name}
        try:
            self._add({"functionCall": {**call, "args": dict(block.input)}}, signature)
        except DataError:
            self._add({"functionCall": {**call, "args": {}}}, signature)

    def _signature(self, kind: str) -> str | None:
        return self.mark[1] if self.mark is not None and self.mark[0] == kind else None

    def _add(self, part: dict[str, Any], signature: str | None) -> None:
        self.parts.append(dumps(part if signature is None else {**part, "thoughtSignature": signature}))


def reply_parts(blocks: Iterable[Block], *, own: bool, signs: bool) -> tuple[list[bytes], dict[str, Called]]:
    """The parts of a message of the model as JSON, and its calls by their ids.

    `own` says that the model that reads wrote the message: signatures and ids go back to it byte for byte and
    to nobody else. `signs` says that it wants the first call to be signed.
    """
    reply = _Reply(own=own, signs=signs)
    for block in blocks:
        reply.take(block)
    return reply.parts, reply.calls


def user_parts(blocks: Iterable[Block], calls: Mapping[str, Called]) -> tuple[list[bytes], list[bytes]]:
    """The parts of a user message as JSON: results, then everything else, what results show included."""
    results: list[bytes] = []
    others: list[bytes] = []
    for block in blocks:
        match block:
            case ToolResultBlock():
                results.append(dumps(_result(block, calls.get(block.tool_use_id))))
                others += [dumps(_shown(part)) for part in block.content if not isinstance(part, TextBlock)]
            case TextBlock():
                if block.text.strip():
                    others.append(dumps({"text": block.text}))
            case ImageBlock():
                others.append(dumps(_image(block)))
            case DocumentBlock():
                others.append(dumps(_document(block)))
            case ThinkingBlock() | RedactedThinkingBlock() | ToolUseBlock() | OpaqueBlock():
                pass
            case _:
                assert_never(block)
    return results, others


def _result(block: ToolResultBlock, called: Called | None) -> dict[str, Any]:
    """The answer to a call; images follow beside it, for only newer models take them inside."""
    texts = [part.text for part in block.content if isinstance(part, TextBlock) and part.text.strip()]
    text = "\n".join(texts) or _announced(block)
    out: dict[str, Any] = {} if called is None or called.id is None else {"id": called.id}
    name = "unknown" if called is None else called.name
    return {"functionResponse": {**out, "name": name, "response": {_result_key(block): text}}}


def _announced(block: ToolResultBlock) -> str:
    """What stands in a result without words, for what follows beside it."""
    images = sum(isinstance(part, ImageBlock) for part in block.content)
    if any(isinstance(part, DocumentBlock) for part in block.content):
        return "(what it shows follows)"
    return NO_OUTPUT if not images else "(the image follows)" if images == 1 else "(the images follow)"


def _result_key(block: ToolResultBlock) -> str:
    return "error" if block.is_error else "output"


def _shown(block: ImageBlock | DocumentBlock) -> dict[str, Any]:
    return _image(block) if isinstance(block, ImageBlock) else _document(block)


def _image(block: ImageBlock) -> dict[str, Any]:
    if block.url is not None:
        typed = {"mimeType": block.media_type} if block.media_type else {}
        return {"fileData": {**typed, "fileUri": block.url}}
    if block.media_type not in _IMAGE_TYPES or not block.data:
        return {"text": f"[an image of type {block.media_type!r} that this model cannot see]"}
    return {"inlineData": {"mimeType": block.media_type, "data": block.data}}


def _document(block: DocumentBlock) -> dict[str, Any]:
    if block.media_type == "application/pdf" and block.data:
        return {"inlineData": {"mimeType": block.media_type, "data": block.data}}
    text = block.text
    if text is None:
        return {"text": f"[a document of type {block.media_type!r} that this model cannot read]"}
    return {"text": f"{block.title}:\n{text}" if block.title and block.title.strip() else text}
