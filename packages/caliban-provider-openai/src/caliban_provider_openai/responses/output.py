"""One output item of a reply in the making: which blocks of ours it has become so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caliban_provider.json_fields import objects, string
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_openai.responses.items import PHASE

SUMMARY_GAP = "\n\n"
"""What stands between two parts of a summary."""


class Numbers:
    """Gives every block of a reply its number."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def take(self) -> int:
        """The next number."""
        self._next += 1
        return self._next - 1


class OutputItem:
    """What has come of one item; `done` is over once the vendor has told the whole of it."""

    __slots__ = ("_blocks", "_numbers", "_texts", "kind", "refused")

    def __init__(self, kind: str, numbers: Numbers) -> None:
        self.kind: str = kind
        self.refused: bool = False
        self._numbers = numbers
        self._blocks: dict[int, int] = {}
        self._texts: dict[int, list[str]] = {}

    def start_call(self, call_id: str, name: str) -> list[StreamEvent]:
        """Begin a tool call."""
        index = self._blocks[0] = self._numbers.take()
        self._texts[0] = []
        return [BlockStart(index, "tool_use", id=call_id, name=name)]

    def text(self, part: int, text: str) -> list[StreamEvent]:
        """A piece of the text, or of the refusal, of one part of a message."""
        if not text:
            return []
        out: list[StreamEvent] = []
        if part not in self._blocks:
            self._blocks[part] = self._numbers.take()
            self._texts[part] = []
            out.append(BlockStart(self._blocks[part], "text"))
        self._texts[part].append(text)
        return [*out, TextDelta(self._blocks[part], text)]

    def thought(self, part: int, text: str) -> list[StreamEvent]:
        """A piece of one part of a summary; all parts are one block of thinking."""
        if not text:
            return []
        out: list[StreamEvent] = []
        if 0 not in self._blocks:
            self._blocks[0] = self._numbers.take()
            out.append(BlockStart(self._blocks[0], "thinking"))
        if part not in self._texts:
            if self._texts:
                out.append(ThinkingDelta(self._blocks[0], SUMMARY_GAP))
            self._texts[part] = []
        self._texts[part].append(text)
        return [*out, ThinkingDelta(self._blocks[0], text)]

    def input(self, text: str) -> list[StreamEvent]:
        """A piece of a call's arguments."""
        if not text or 0 not in self._blocks:
            return []
        self._texts[0].append(text)
        return [InputDelta(self._blocks[0], text)]

    def rest(self, part: int, whole: str) -> list[StreamEvent]:
        """What of the `whole` of a part, or of a call's arguments, was not told in pieces."""
        match self.kind:
            case "function_call":
                return self.input(self._rest(0, whole))
            case "reasoning":
                return self.thought(part, self._rest(part, whole))
            case _:
                return self.text(part, self._rest(part, whole))

    def block(self, part: int = 0) -> int | None:
        """The number of the block that `part` has become."""
        return self._blocks.get(part)

    def noted(self, part: int) -> Callable[[str], None]:
        """Where to put a piece of `part` that was read without this item's help."""
        return self._texts[part].append

    def done(self, item: dict[str, Any]) -> list[StreamEvent]:
        """The whole item: what was not told in pieces, and the ends of its blocks."""
        match self.kind:
            case "message":
                out = self._message_rest(item)
            case "function_call":
                out = self._call_rest(item)
            case "reasoning":
                out = self._thought_rest(item)
            case _:
                out = []
        out += [BlockStop(index) for index in self._blocks.values()]
        self._blocks = {}
        payload = self._payload(item)
        if payload is not None:
            index = self._numbers.take()
            out += [BlockStart(index, "opaque", payload=payload), BlockStop(index)]
        return out

    def close(self) -> list[StreamEvent]:
        """The ends of the blocks of an item that the vendor did not end."""
        out: list[StreamEvent] = [BlockStop(index) for index in self._blocks.values()]
        self._blocks = {}
        return out

    def _payload(self, item: dict[str, Any]) -> dict[str, Any] | None:
        """What only the vendor can read, to be sent back."""
        match self.kind:
            case "message":
                phase = string(item, "phase")
                return {"type": PHASE, "phase": phase} if phase else None
            case "function_call":
                return None
            case _:
                return item

    def _message_rest(self, item: dict[str, Any]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for place, part in enumerate(objects(item, "content")):
            self.refused = self.refused or part.get("type") == "refusal"
            out += self.text(place, self._rest(place, string(part, "text") or string(part, "refusal")))
        return out

    def _call_rest(self, item: dict[str, Any]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        if 0 not in self._blocks:
            out += self.start_call(string(item, "call_id"), string(item, "name"))
        return out + self.input(self._rest(0, string(item, "arguments")))

    def _thought_rest(self, item: dict[str, Any]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        parts = objects(item, "summary") or objects(item, "content")
        for place, part in enumerate(parts):
            out += self.thought(place, self._rest(place, string(part, "text")))
        return out

    def _rest(self, part: int, whole: str) -> str:
        """What of `whole` has not been told; nothing where the pieces told something else."""
        streamed = "".join(self._texts.get(part, ()))
        return whole[len(streamed) :] if whole.startswith(streamed) else ""
