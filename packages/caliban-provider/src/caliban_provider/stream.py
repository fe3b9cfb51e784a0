"""What a provider answers: the stream events of one reply.

Order: `MessageStart`, then per block `BlockStart`, its deltas, `BlockStop`; blocks may interleave by
`index`. `MessageDelta` may come at any time and the last one counts; `MessageStop` ends the reply. A stream
that ends without `MessageStop` was interrupted and raises `StreamInterrupted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from caliban_common.stop import StopReason
from caliban_common.usage import Usage

BlockKind: TypeAlias = Literal["text", "thinking", "redacted_thinking", "tool_use", "opaque"]


@dataclass(frozen=True, slots=True)
class MessageStart:
    """The reply begins; `model` is the one that answers, as the provider names it.

    `family` and `asked` are filled in by whoever chose among several models: whose family answers, and the
    name its model was asked by. Signed blocks of the reply are then theirs.
    """

    id: str = ""
    model: str = ""
    usage: Usage | None = None
    family: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True)
class BlockStart:
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


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a text block."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of a thinking block."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class SignatureDelta:
    """The signature of a thinking block: assigned, not appended."""

    index: int
    signature: str


@dataclass(frozen=True, slots=True)
class InputDelta:
    """A piece of a tool call's JSON text."""

    index: int
    partial_json: str


@dataclass(frozen=True, slots=True)
class BlockStop:
    """A block is complete."""

    index: int


@dataclass(frozen=True, slots=True)
class MessageDelta:
    """Facts about the whole reply: each member that is not `None` replaces the earlier one."""

    stop_reason: StopReason | None = None
    usage: Usage | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class MessageStop:
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
