"""What a provider answers: the stream events of one reply.

Order: `MessageStart`, then per block `BlockStart`, its deltas, `BlockStop`; blocks may interleave by
`index`. `MessageDelta` may come at any time and the last one counts; `MessageStop` ends the reply. A stream
that ends without `MessageStop` was interrupted and raises `StreamInterrupted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from caliban_common.stop import StopReason
from caliban_common.usage import Usage

BlockKind: TypeAlias = Literal["text", "thinking", "redacted_thinking", "tool_use", "opaque"]


class MessageStart(Struct, frozen=True):
    """The reply begins; `model` is the one that answers, as the provider names it.

    `family` and `asked` are filled in by whoever chose among several models: whose family answers, and the
    name its model was asked by. Signed blocks of the reply are then theirs.
    """

    id: str = ""
    model: str = ""
    usage: Usage | None = None
    family: str = ""
    asked: str = ""


class BlockStart(Struct, frozen=True):
    """A block begins.

    `id` and `name` are set for `tool_use`; `data` is the ciphertext of `redacted_thinking`; `payload` is the
    whole content of an `opaque` block. `text` is what the wire put into the start itself, usually nothing.
    """

    index: int
    kind: BlockKind
    id: str = ""
    name: str = ""
    data: str = ""
    text: str = ""
    payload: Mapping[str, Any] | None = None


class TextDelta(Struct, frozen=True):
    """A piece of a text block."""

    index: int
    text: str


class ThinkingDelta(Struct, frozen=True):
    """A piece of a thinking block."""

    index: int
    text: str


class SignatureDelta(Struct, frozen=True):
    """The signature of a thinking block: assigned, not appended."""

    index: int
    signature: str


class InputDelta(Struct, frozen=True):
    """A piece of a tool call's JSON text."""

    index: int
    partial_json: str


class BlockStop(Struct, frozen=True):
    """A block is complete."""

    index: int


class MessageDelta(Struct, frozen=True):
    """Facts about the whole reply: each member that is not `None` replaces the earlier one."""

    stop_reason: StopReason | None = None
    usage: Usage | None = None
    detail: str | None = None


class MessageStop(Struct, frozen=True):
    """The reply is complete."""


StreamEvent: TypeAlias = (
    MessageStart
    | BlockStart
    | TextDelta
    | ThinkingDelta
    | SignatureDelta
    | InputDelta
    | BlockStop
    | MessageDelta
    | MessageStop
)
