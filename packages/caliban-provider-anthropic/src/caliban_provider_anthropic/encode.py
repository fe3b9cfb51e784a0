"""From a request to the body of `POST /v1/messages`.

The body is kept as bytes per top-level member, the history last, so that one turn's body begins with the
bytes of the turn before; only the markers of the prompt cache move. Each message is serialised once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_common.codec import dumps
from caliban_common.estimate import CHARS_PER_TOKEN
from caliban_common.message import Message, OpaqueBlock, TextBlock, ToolResultBlock, count_leading_system
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.memo import Memo
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.blocks import displaced, encode_block
from caliban_provider_anthropic.models import FAMILY, facts, same_model
from caliban_provider_anthropic.names import wire_name
from caliban_provider_anthropic.parameters import parameters
from caliban_provider_anthropic.schema import tool_schema

MARK = b',"cache_control":{"type":"ephemeral"}'
"""What makes a block the end of a prefix worth keeping; a body may have four."""

LONG_MARK = b',"cache_control":{"type":"ephemeral","ttl":"1h"}'
"""The same for a prefix that is kept for an hour."""

SERVER_TOOLS = MappingProxyType({"web_search": b'{"type":"web_search_20250305","name":"web_search"}'})
"""The vendor's own tools by name; newer types of the search want its code execution beside them."""

MEMO_BYTES = 16 * 1024 * 1024
"""How much of serialised messages an encoder remembers, once more of what was used last."""

_OPENING = b'{"role":"user","content":[{"type":"text","text":"(the conversation goes on)"}]}'
_GO_ON = b'{"role":"user","content":[{"type":"text","text":"Continue."}]}'
_HEADS = MappingProxyType(
    {"user": b'{"role":"user","content":[', "assistant": b'{"role":"assistant","content":['}
)
_TAIL = b"]}"
_OURS = frozenset({"model", "stream", "messages"})


class Body(Struct, frozen=True, kw_only=True):
    """A request's body, in the order of the wire: JSON per top-level member, then JSON per message.

    `names` maps a tool's name on the wire to ours, where they differ.
    """

    members: Mapping[str, bytes]
    messages: Sequence[bytes]
    names: Mapping[str, str] = field(default_factory=dict)

    def join(self) -> bytes:
        """The body as one JSON object; the history is copied once, which is what a long one costs."""
        members = b"".join([b'"%b":%b,' % (name.encode(), value) for name, value in self.members.items()])
        first, *others = self.messages
        parts = [b"{" + members + b'"messages":[' + first, *others]
        parts[-1] += b"]}"
        return b",".join(parts)


def encode(request: CompletionRequest) -> dict[str, Any]:
    """The body as plain data. Raises `InvalidRequest` when there is nothing to send."""
    body: dict[str, Any] = json.loads(body_bytes(request))
    return body


def body_bytes(request: CompletionRequest) -> bytes:
    """The body as it is sent; one that is asked more than once is served better by an `Encoder`."""
    return Encoder().body(request).join()


class _Piece(Struct, frozen=True):
    """One message as it is sent: results end at `split`, the other blocks begin at `rest`."""

    message: Message
    own: bool
    role: str
    whole: bytes
    split: int
    rest: int
    has_results: bool
    opens_with_thinking: bool
    ends_opaque: bool

    @property
    def results(self) -> bytes:
        return self.whole[len(_HEADS[self.role]) : self.split]

    @property
    def others(self) -> bytes:
        return self.whole[self.rest : -len(_TAIL)]


class _Sent(Struct, kw_only=True):
    """The history of the last body: the next one is mostly the same with something behind it.

    `groups` are runs of messages of one role, none of them empty; `size_bytes` is what they come to.
    """

    model: str
    messages: list[Message] = field(default_factory=list)
    groups: list[list[_Piece]] = field(default_factory=list)
    size_bytes: int = 0

    def begins(self, messages: Sequence[Message], model: str) -> bool:
        """Whether `messages` for `model` are these, and perhaps more."""
        known = self.messages
        return self.model == model and len(known) <= len(messages) and all(map(is_, known, messages))


class _Listed(Struct, frozen=True, kw_only=True):
    """The tools of a request as they are sent, and of those that are called otherwise there, their names."""

    specs: tuple[ToolSpec, ...]
    data: tuple[bytes, ...]
    names: Mapping[str, str]


class Encoder:
    """Makes bodies and remembers the bytes of messages and tools between them.

    With a `cache_ttl` of `1h` the vendor keeps a prompt for an hour instead of five minutes, and bills that.
    `server_tools`, names in `SERVER_TOOLS`, are offered in every request but those that forbid tools.
    """

    def __init__(
        self, *, cache_ttl: str = "", server_tools: Iterable[str] = (), memo_bytes: int = MEMO_BYTES
    ) -> None:
        self._server_tools = [SERVER_TOOLS[name] for name in server_tools]
        self._mark = LONG_MARK if cache_ttl == "1h" else MARK
        self._pieces: Memo[_Piece] = Memo(max_bytes=memo_bytes)
        self._fixed: Memo[bytes] = Memo(max_bytes=memo_bytes // 8)
        self._sent: _Sent | None = None
        self._listed: _Listed | None = None

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest` when there is nothing to send."""
        row = facts(request.model)
        leading = count_leading_system(request.messages)
        system = self._system(request.messages[:leading])
        sent = self._continued(request.messages[leading:], request.model)
        groups = sent.groups
        if not groups:
            raise InvalidRequest(
                "there is no message to send", hint="every message is empty: say something to the model"
            )
        budgets = row.thinking == "budget" and request.thinking_tokens is not None
        small = parameters(request, row, may_budget=budgets and _may_budget(groups))
        members = {key: dumps(value) for key, value in small.items()}
        members.update({key: dumps(value) for key, value in request.extra.items() if key not in _OURS})
        listed = self._tool_list(request.tools)
        if tools := [*(self._server_tools if request.tool_choice != "none" else ()), *listed.data]:
            members.setdefault("tools", _marked_list(tools, self._mark if request.cache else b""))
        if system:
            members.setdefault("system", _marked_list(system, self._mark if request.cache else b""))
        thinks = b'"type":"enabled"' in members.get("thinking", b"")
        prefill = row.prefill and not thinks
        self._pieces.fit(sent.size_bytes)
        marks = request.cache and sent.size_bytes >= request.min_cache_tokens * CHARS_PER_TOKEN
        messages = _history(groups, prefill=prefill, mark=self._mark if marks else b"")
        return Body(members=members, messages=messages, names=listed.names)

    def _continued(self, messages: Sequence[Message], model: str) -> _Sent:
        """What is sent of the history; a turn more costs what is new of it, however long it is."""
        sent, self._sent = self._sent, None  # what fails half way is not gone on with
        if sent is None or not sent.begins(messages, model):
            sent = _Sent(model=model)
        groups = sent.groups
        role = groups[-1][0].role if groups else ""
        known = self._pieces.get
        same: dict[str | None, bool] = {}
        for message in messages[len(sent.messages) :]:
            own = False
            if message.family == FAMILY:
                if message.model not in same:
                    same[message.model] = same_model(message.model, model)
                own = same[message.model]
            piece = known(message, own) or self._make_piece(message, own)
            sent.messages.append(message)
            if piece is None:
                continue
            sent.size_bytes += len(piece.whole)
            if piece.role == role:
                groups[-1].append(piece)
            else:
                role = piece.role
                groups.append([piece])
        self._sent = sent
        return sent

    def _make_piece(self, message: Message, own: bool) -> _Piece | None:
        piece = _encode_message(message, own=own)
        if piece is not None:
            self._pieces.put(message, piece, len(piece.whole), own)
        return piece

    def _tool_list(self, specs: tuple[ToolSpec, ...]) -> _Listed:
        """What is sent of `specs`; mostly they are those of the turn before."""
        if self._listed is None or self._listed.specs is not specs:
            names: dict[str, str] = {}
            tools: dict[str, bytes] = {}
            for spec in specs:
                name = wire_name(spec.name)
                if name != spec.name:
                    names[name] = spec.name
                tools.setdefault(name, self._tool(spec, name))
            self._listed = _Listed(specs=specs, data=tuple(tools.values()), names=names)
        return self._listed

    def _tool(self, spec: ToolSpec, name: str) -> bytes:
        data = self._fixed.get(spec)
        if data is None:
            described = {"description": spec.description} if spec.description.strip() else {}
            data = dumps({"name": name, **described, "input_schema": tool_schema(spec.input_schema)})
            self._fixed.put(spec, data, len(data))
        return data

    def _system(self, messages: Iterable[Message]) -> list[bytes]:
        out = []
        for block in (block for message in messages for block in message.content):
            if isinstance(block, TextBlock) and block.text.strip():
                data = self._fixed.get(block)
                if data is None:
                    data = dumps({"type": "text", "text": block.text})
                    self._fixed.put(block, data, len(data))
                out.append(data)
        return out


def _encode_message(message: Message, *, own: bool) -> _Piece | None:
    """One message with its results first; a system message past the start speaks as the user."""
    role = "assistant" if message.role == "assistant" else "user"
    results: list[bytes] = []
    others: list[bytes] = []
    sent = []
    for block in message.content:
        data = encode_block(block, role=role, own=own)
        if data is not None:
            sent.append(block)
            (results if isinstance(block, ToolResultBlock) else others).append(data)
            others += displaced(block)
    if not sent:
        return None
    head = _HEADS[role]
    first = b",".join(results)
    split = len(head) + len(first)
    return _Piece(
        message=message,
        own=own,
        role=role,
        whole=head + b",".join([part for part in (first, b",".join(others)) if part]) + _TAIL,
        split=split,
        rest=split + 1 if results and others else split,
        has_results=bool(results),
        opens_with_thinking=sent[0].type in ("thinking", "redacted_thinking"),
        ends_opaque=isinstance(sent[-1], OpaqueBlock),
    )


def _may_budget(groups: list[list[_Piece]]) -> bool:
    """Whether the tool loop that is going on, if one is, was begun with thinking (or with nothing)."""
    opening = True
    for group in reversed(groups):
        if group[0].role == "assistant":
            opening = group[0].opens_with_thinking
        elif not any(piece.has_results for piece in group):
            break
    return opening


def _history(groups: list[list[_Piece]], *, prefill: bool, mark: bytes) -> list[bytes]:
    out = [group[0].whole if len(group) == 1 else _merged(group) for group in groups]
    if mark:
        for index in _last_users(groups, 2):
            out[index] = _marked(out[index], len(_TAIL) + 1, mark)
    last = groups[-1][-1]
    if last.role == "assistant" and not last.ends_opaque:
        if prefill:
            bare = _encode_message(_stripped(last.message), own=last.own) or last
            out[-1] = _merged([*groups[-1][:-1], bare])
        else:
            out.append(_GO_ON)
    if groups[0][0].role != "user":
        out.insert(0, _OPENING)
    return out


def _last_users(groups: list[list[_Piece]], count: int) -> list[int]:
    """Where the last `count` messages of the user are."""
    places = []
    for index in range(len(groups) - 1, -1, -1):
        if groups[index][0].role == "user":
            places.append(index)
            if len(places) == count:
                break
    return places


def _merged(group: list[_Piece]) -> bytes:
    """Several messages of one role as one, every result before everything else."""
    results = [piece.results for piece in group if piece.results]
    others = [piece.others for piece in group if piece.others]
    return _HEADS[group[0].role] + b",".join(results + others) + _TAIL


def _stripped(message: Message) -> Message:
    """`message` without white space at its very end, where the vendor takes none."""
    content = list(message.content)
    while content and isinstance(last := content[-1], TextBlock):
        if last.text.strip():
            content[-1] = replace(last, text=last.text.rstrip())
            break
        content.pop()
    return replace(message, content=tuple(content))


def _marked(data: bytes, from_end: int, mark: bytes) -> bytes:
    """`data` with `mark` inside the object that closes `from_end` bytes before the end."""
    return data[:-from_end] + mark + data[-from_end:]


def _marked_list(items: list[bytes], mark: bytes) -> bytes:
    data = b"[" + b",".join(items) + b"]"
    return _marked(data, 2, mark) if mark else data
