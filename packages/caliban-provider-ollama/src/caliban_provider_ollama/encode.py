"""From a request to the body of `POST /api/chat`.

The history stands last and each message is serialised once, so that one turn's body begins with the bytes of
the turn before, as long as the window stays the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from caliban_common.codec import dumps
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.memo import Memo
from caliban_provider.request import CompletionRequest, Effort
from caliban_provider_ollama.messages import Piece, encode_message
from caliban_provider_ollama.models import ModelFacts, takes_levels
from caliban_provider_ollama.window import Windows, estimate_tokens, window_tokens

MEMO_BYTES = 16 * 1024 * 1024
"""How much of serialised messages an encoder remembers, once more of what was used last."""

_OURS = frozenset({"model", "messages", "stream"})
_LEVELS: Mapping[Effort, str] = MappingProxyType(
    {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
)


class RequestDefaults(Struct, frozen=True, kw_only=True):
    """What the operator wants of every request: a fixed window, and how long a model stays loaded."""

    num_ctx: int | None = None
    keep_alive: str | int | None = None


class Body(Struct, frozen=True, kw_only=True):
    """A request's body as bytes; `prompt_tokens` is the bare estimate of its prompt."""

    data: bytes
    num_ctx: int
    prompt_tokens: int


def encode(request: CompletionRequest, facts: ModelFacts | None = None) -> dict[str, Any]:
    """The body as plain data. Raises `InvalidRequest` when there is nothing to send."""
    body: dict[str, Any] = json.loads(Encoder().body(request, facts).data)
    return body


class Encoder:
    """Makes bodies and remembers the bytes of messages and tools between them, and the windows."""

    def __init__(self, *, defaults: RequestDefaults | None = None, memo_bytes: int = MEMO_BYTES) -> None:
        self._defaults = defaults or RequestDefaults()
        self._pieces: Memo[Piece] = Memo(max_bytes=memo_bytes)
        self._tools: Memo[bytes] = Memo(max_bytes=memo_bytes // 8)
        self._windows = Windows()

    def body(self, request: CompletionRequest, facts: ModelFacts | None = None) -> Body:
        """The body of `request`.

        Raises `InvalidRequest` when there is nothing to send, `ContextTooLong` when the window is too small.
        """
        known = facts or ModelFacts(levels=takes_levels(request.model))
        messages = self._messages(request, known)
        if not messages:
            raise InvalidRequest(
                "there is no message to send", hint="every message is empty: say something to the model"
            )
        self._pieces.fit(sum(len(piece.data) for piece in messages))
        tools = self._tool_list(request, known)
        prompt_tokens = sum(piece.tokens for piece in messages) + (estimate_tokens(tools) if tools else 0)
        reckoned = self._windows.reckon(request.model, prompt_tokens)
        num_ctx = self._window(request, known, reckoned)
        members = _members(request, known, num_ctx, has_tools=bool(tools))
        if self._defaults.keep_alive is not None:
            members["keep_alive"] = self._defaults.keep_alive
        _add_extra(members, request.extra)
        parts = {name: dumps(value) for name, value in members.items()}
        if tools:
            parts.setdefault("tools", tools)
        head = b"".join(b'"%b":%b,' % (name.encode(), value) for name, value in parts.items())
        data = b'{%b"messages":[%b]}' % (head, b",".join(piece.data for piece in messages))
        return Body(data=data, num_ctx=num_ctx, prompt_tokens=prompt_tokens)

    def learn(self, model: str, body: Body, counted_tokens: int) -> None:
        """The server counted the prompt of `body`: windows rest on that from now on, where it was more."""
        self._windows.learn(model, body.prompt_tokens, counted_tokens)

    def widen(self, model: str, num_ctx: int) -> None:
        """`model` is loaded with a window of `num_ctx`: a smaller one would have it loaded anew."""
        self._windows.widen(model, num_ctx)

    def _window(self, request: CompletionRequest, known: ModelFacts, prompt_tokens: int) -> int:
        given_options = request.extra.get("options")
        wish = given_options.get("num_ctx") if isinstance(given_options, Mapping) else None
        fixed = wish if isinstance(wish, int) and wish > 0 else self._defaults.num_ctx
        size = window_tokens(prompt_tokens, request.max_tokens, known.context_tokens, fixed=fixed)
        return size if fixed is not None else self._windows.widen(request.model, size)

    def _messages(self, request: CompletionRequest, known: ModelFacts) -> list[Piece]:
        sees = known.vision is not False
        out: list[Piece] = []
        calls: Mapping[str, str] = {}
        for message in request.messages:
            variant = (sees, tuple(calls.get(result.tool_use_id) for result in message.tool_results))
            piece = self._pieces.get(message, variant)
            if piece is None:
                piece = encode_message(message, calls, sees=sees)
                self._pieces.put(message, piece, len(piece.data), variant)
            if message.role == "assistant":
                calls = piece.calls
            if piece.data:
                out.append(piece)
        return out

    def _tool_list(self, request: CompletionRequest, known: ModelFacts) -> bytes:
        """The tools on offer; none where they are not wanted, or where the server would refuse them."""
        if request.tool_choice == "none" or known.tools is False or not request.tools:
            return b""
        return b"[%b]" % b",".join(map(self._tool, request.tools))

    def _tool(self, spec: ToolSpec) -> bytes:
        data = self._tools.get(spec)
        if data is None:
            parameters = {**spec.input_schema, "type": "object"}
            if not isinstance(parameters.get("properties"), Mapping):
                parameters["properties"] = {}
            function = {"name": spec.name, "description": spec.description, "parameters": parameters}
            data = dumps({"type": "function", "function": function})
            self._tools.put(spec, data, len(data))
        return data


def _members(
    request: CompletionRequest, known: ModelFacts, num_ctx: int, *, has_tools: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {"num_ctx": num_ctx, "num_predict": min(request.max_tokens, num_ctx)}
    if request.temperature is not None:
        options["temperature"] = max(request.temperature, 0.0)
    # Newer servers fail instead of cutting when told so; others pass over members that they do not know.
    out: dict[str, Any] = {"model": request.model, "stream": True, "truncate": False, "shift": False}
    think = _think(request, known)
    if think is not None:
        out["think"] = think
    if request.response_schema is not None and not has_tools:
        out["format"] = dict(request.response_schema)
    out["options"] = options
    return out


def _think(request: CompletionRequest, known: ModelFacts) -> bool | str | None:
    """Whether to reason, or how deeply; `None` where nobody said, or where the server would refuse it."""
    tokens, effort = request.thinking_tokens, request.effort
    if (tokens is None and effort is None) or not (known.thinking or known.levels):
        return None
    off = tokens is not None and tokens <= 0
    if not known.levels:
        return not off
    return "low" if off else _LEVELS[effort] if effort is not None else "medium"


def _add_extra(members: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """What the request says beside: as it is, and the options member by member; the window is settled."""
    for name, value in extra.items():
        if name == "options" and isinstance(value, Mapping):
            members["options"] = {**members["options"], **value, "num_ctx": members["options"]["num_ctx"]}
        elif name not in _OURS:
            members[name] = value
