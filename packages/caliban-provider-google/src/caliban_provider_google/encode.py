"""From a request to the body of `streamGenerateContent`.

The body is kept as bytes per top-level member, the history last, so that one turn's body begins with the
bytes of the turn before. Each message is serialised once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from caliban_common.codec import dumps
from caliban_common.history import is_same_model
from caliban_common.message import Message, TextBlock, count_leading_system
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.memo import Memo
from caliban_provider.request import CompletionRequest
from caliban_provider_google.models import FAMILY, ModelFacts, facts
from caliban_provider_google.names import wire_name
from caliban_provider_google.parameters import generation_config, tool_config
from caliban_provider_google.parts import Called, reply_parts, user_parts
from caliban_provider_google.schema import tool_schema

MEMO_BYTES = 16 * 1024 * 1024
"""How much of serialised messages an encoder remembers, once more of what was used last."""

SERVER_TOOLS = MappingProxyType({"web_search": b'{"googleSearch":{}}'})
"""The vendor's own tools by name."""

_OPENING = b'{"role":"user","parts":[{"text":"(the conversation goes on)"}]}'
_GO_ON = b'{"role":"user","parts":[{"text":"Continue."}]}'
_HEADS = MappingProxyType({"user": b'{"role":"user","parts":[', "model": b'{"role":"model","parts":['})
_TAIL = b"]}"
_OURS = frozenset({"model", "contents", "stream"})


class Body(Struct, frozen=True, kw_only=True):
    """A request's body, in the order of the wire: JSON per top-level member, then JSON per content.

    `names` maps a tool's name on the wire to ours, where they differ.
    """

    members: Mapping[str, bytes]
    contents: Sequence[bytes]
    names: Mapping[str, str] = field(default_factory=dict)

    def join(self, fixed: Mapping[str, bytes] | None = None) -> bytes:
        """The body as one JSON object; `fixed` is what a transport adds where the request did not say."""
        members = {**(fixed or {}), **self.members}
        head = b"".join([b'"%b":%b,' % (name.encode(), value) for name, value in members.items()])
        return b'{%b"contents":[%b]}' % (head, b",".join(self.contents))


def encode(request: CompletionRequest) -> dict[str, Any]:
    """The body as plain data. Raises `InvalidRequest` when there is nothing to send."""
    body: dict[str, Any] = json.loads(Encoder().body(request).join())
    return body


class _Piece(Struct, frozen=True):
    """One message as it is sent: its results and its other parts, each joined, and the whole content."""

    role: str
    results: bytes
    others: bytes
    whole: bytes
    calls: Mapping[str, Called]


class Encoder:
    """Makes bodies and remembers the bytes of messages and tools between them.

    `server_tools`, names in `SERVER_TOOLS`, are offered in every request but those that forbid tools.
    """

    def __init__(self, *, server_tools: Iterable[str] = (), memo_bytes: int = MEMO_BYTES) -> None:
        self._server_tools = [SERVER_TOOLS[name] for name in server_tools]
        self._pieces: Memo[_Piece] = Memo(max_bytes=memo_bytes)
        self._fixed: Memo[bytes] = Memo(max_bytes=memo_bytes // 8)

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest` when there is nothing to send."""
        row = facts(request.model)
        leading = count_leading_system(request.messages)
        contents = self._contents(request.messages[leading:], request.model, row)
        if not contents:
            raise InvalidRequest(
                "there is no message to send", hint="every message is empty: say something to the model"
            )
        self._pieces.fit(sum(map(len, contents)))
        members, names = self._members(request, row)
        system = self._system(request.messages[:leading])
        if system:
            members.setdefault("systemInstruction", b'{"parts":[%b]}' % b",".join(system))
        return Body(members=members, contents=contents, names=names)

    def _members(
        self, request: CompletionRequest, row: ModelFacts
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        extra = {key: value for key, value in request.extra.items() if key not in _OURS}
        config = generation_config(request, row)
        given_config = extra.pop("generationConfig", None)
        if isinstance(given_config, Mapping):
            config.update(given_config)
        members = {"generationConfig": dumps(config)}
        hosted = self._server_tools if request.tool_choice != "none" else []
        choice = tool_config(request)
        if hosted and request.tools:
            if not row.search_with_tools:
                raise InvalidRequest(
                    f"{request.model} does not search the web while it has other tools",
                    hint="leave out the option server_tools, or offer no other tools",
                )
            choice = {**(choice or {}), "includeServerSideToolInvocations": True}
        if choice is not None:
            members["toolConfig"] = dumps(choice)
        members.update({key: dumps(value) for key, value in extra.items()})
        names: dict[str, str] = {}
        declared = [self._tools(request.tools, names)] if request.tools else []
        if declared or hosted:
            members.setdefault("tools", b"[%b]" % b",".join([*declared, *hosted]))
        return members, names

    def _tools(self, specs: Iterable[ToolSpec], names: dict[str, str]) -> bytes:
        tools: dict[str, bytes] = {}
        for spec in specs:
            name = wire_name(spec.name)
            if name != spec.name:
                names[name] = spec.name
            tools.setdefault(name, self._tool(spec, name))
        return b'{"functionDeclarations":[%b]}' % b",".join(tools.values())

    def _tool(self, spec: ToolSpec, name: str) -> bytes:
        data = self._fixed.get(spec)
        if data is None:
            try:
                parameters = tool_schema(spec.input_schema)
            except RecursionError:
                parameters = None
            described = {"description": spec.description} if spec.description.strip() else {}
            typed = {} if parameters is None else {"parameters": parameters}
            data = dumps({"name": name, **described, **typed})
            self._fixed.put(spec, data, len(data))
        return data

    def _system(self, messages: Iterable[Message]) -> list[bytes]:
        out = []
        for block in (block for message in messages for block in message.content):
            if isinstance(block, TextBlock) and block.text.strip():
                data = self._fixed.get(block)
                if data is None:
                    data = dumps({"text": block.text})
                    self._fixed.put(block, data, len(data))
                out.append(data)
        return out

    def _contents(self, messages: Sequence[Message], model: str, row: ModelFacts) -> list[bytes]:
        """What is sent of the history: contents of changing roles, none of them empty."""
        groups: list[list[_Piece]] = []
        calls: Mapping[str, Called] = {}
        same: dict[str | None, bool] = {None: False}
        for message in messages:
            if message.role == "assistant":
                if message.model not in same and message.model is not None:
                    same[message.model] = is_same_model(message.model, model)
                own = message.family == FAMILY and same[message.model]
                piece = self._reply(message, own=own, signs=row.signs)
                calls = piece.calls
            else:
                piece = self._said(message, calls)
            if not piece.whole:
                continue
            if groups and groups[-1][0].role == piece.role:
                groups[-1].append(piece)
            else:
                groups.append([piece])
        if not groups:
            return []
        contents = [group[0].whole if len(group) == 1 else _merged(group) for group in groups]
        first, last = groups[0][0].role, groups[-1][0].role
        return [*((_OPENING,) if first != "user" else ()), *contents, *((_GO_ON,) if last != "user" else ())]

    def _reply(self, message: Message, *, own: bool, signs: bool) -> _Piece:
        piece = self._pieces.get(message, (own, signs))
        if piece is None:
            parts, calls = reply_parts(message.content, own=own, signs=signs)
            piece = _piece("model", [], parts, calls)
            self._pieces.put(message, piece, len(piece.whole), (own, signs))
        return piece

    def _said(self, message: Message, calls: Mapping[str, Called]) -> _Piece:
        """A user message; the names and ids of its results are those of the calls before it."""
        answered = tuple(calls.get(result.tool_use_id) for result in message.tool_results)
        piece = self._pieces.get(message, answered)
        if piece is None:
            results, others = user_parts(message.content, calls)
            piece = _piece("user", results, others, calls)
            self._pieces.put(message, piece, len(piece.whole), answered)
        return piece


def _piece(role: str, results: list[bytes], others: list[bytes], calls: Mapping[str, Called]) -> _Piece:
    parts = b",".join([*results, *others])
    whole = _HEADS[role] + parts + _TAIL if parts else b""
    return _Piece(role, b",".join(results), b",".join(others), whole, calls)


def _merged(group: list[_Piece]) -> bytes:
    """Several messages of one role as one content, every result before everything else."""
    parts = [piece.results for piece in group if piece.results]
    parts += [piece.others for piece in group if piece.others]
    return _HEADS[group[0].role] + b",".join(parts) + _TAIL
