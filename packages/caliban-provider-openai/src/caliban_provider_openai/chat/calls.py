"""The tool calls of one streamed reply, told apart whatever a server leaves out.

The wire promises an index with every piece, and id and name with the first. Servers forget the index, give
every call the same one, forget the id, make up another id for every piece, repeat id and name with every
piece, or add entries that are empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from caliban_common.digest import sha256
from caliban_provider.json_fields import maybe_count, member, string
from caliban_provider.stream import BlockStart, BlockStop, InputDelta, StreamEvent
from caliban_provider_openai.chat.kept import EXTRA, extra_payload


class _Call(Struct, kw_only=True):
    """One call so far; `block` is its number once it has begun, which takes a name."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)
    block: int | None = None


class Calls:
    """Takes pieces of calls.

    `number` gives each call the number of its block. `names` maps tool names of the wire to ours; `salt`
    makes the ids unique that a server leaves out.
    """

    def __init__(self, number: Callable[[], int], *, names: Mapping[str, str], salt: str) -> None:
        self._number = number
        self._names = names
        self._salt = salt
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._last: _Call | None = None

    @property
    def begun(self) -> bool:
        """Whether there is a call at all."""
        return any(call.block is not None for call in self._calls)

    @property
    def current(self) -> int | None:
        """The number of the block that grew last."""
        return None if self._last is None else self._last.block

    def grow(self, piece: Mapping[str, Any]) -> list[StreamEvent]:
        """Take one piece."""
        function = member(piece, "function")
        id, name, text = string(piece, "id"), string(function, "name"), _arguments(function)
        index = maybe_count(piece, "index")
        if not (id or name or text) and index is None:
            return []
        call = self._find(index, id, name)
        if call is None:
            call = _Call()
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        self._last = call
        call.id = call.id or id
        call.extra = member(piece, EXTRA) or call.extra
        if call.block is not None:
            return self._input(call, text)
        call.name = name
        if text:
            call.pieces.append(text)
        return self._begin(call) if call.name else []

    def noted(self, text: str) -> None:
        """Keep a piece of the call that grew last, which was read elsewhere."""
        if self._last is not None:
            self._last.pieces.append(text)

    def end(self) -> list[StreamEvent]:
        """The ends of all calls. One without a name is none, unless it has an id and arguments."""
        out: list[StreamEvent] = []
        for call in self._calls:
            if call.block is None and call.id and call.pieces:
                out += self._begin(call)
            if call.block is not None:
                out.append(BlockStop(call.block))
                if call.extra:
                    kept = self._number()
                    out.append(BlockStart(kept, "opaque", payload=extra_payload(call.id, call.extra)))
                    out.append(BlockStop(kept))
        self._by_index, self._last = {}, None
        self._calls = []
        return out

    def _find(self, index: int | None, id: str, name: str) -> _Call | None:
        """The call that a piece belongs to; `None` where it begins one."""
        if id:
            same = next((call for call in self._calls if call.id == id), None)
            elsewhere = index is not None and self._by_index.get(index) is not same
            if same is not None:
                return None if elsewhere and name and _is_whole(same.pieces) else same
        call = self._last if index is None else self._by_index.get(index)
        if not name and call is None and self._last is not None and not _is_whole(self._last.pieces):
            call = self._last  # only a name begins a call while another is being written
        if call is None or not name:
            return call
        if id and call.id:
            return None
        if name and call.name and (call.name != name or _is_whole(call.pieces)):
            return None
        return call

    def _begin(self, call: _Call) -> list[StreamEvent]:
        call.block = self._number()
        call.id = call.id or self._made_id(call.block)
        name = self._names.get(call.name, call.name)
        out: list[StreamEvent] = [BlockStart(call.block, "tool_use", id=call.id, name=name)]
        return out + [InputDelta(call.block, text) for text in call.pieces]

    def _input(self, call: _Call, text: str) -> list[StreamEvent]:
        if not text or call.block is None:
            return []
        call.pieces.append(text)
        return [InputDelta(call.block, text)]

    def _made_id(self, block: int) -> str:
        return f"call_{sha256(f'{self._salt}:{block}'.encode()).hexdigest()[:20]}"


def _arguments(function: Mapping[str, Any]) -> str:
    value = function.get("arguments")
    return json.dumps(value) if isinstance(value, dict) else string(function, "arguments")


def _is_whole(pieces: list[str]) -> bool:
    try:
        json.loads("".join(pieces))
    except (ValueError, RecursionError):
        return False
    return True
