"""From a request to the body of `POST /chat/completions`, as one server's quirks want it."""

from __future__ import annotations

import json
from typing import Any

from caliban_common.codec import dumps
from caliban_common.history import is_same_model
from caliban_common.message import Message, count_leading_system
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.memo import Memo
from caliban_provider.request import CompletionRequest
from caliban_provider_openai.body import (
    MEMO_BYTES,
    Body,
    conversation_key,
    instructions,
    nothing_to_send,
)
from caliban_provider_openai.chat.messages import id_rule, message_json, spaced
from caliban_provider_openai.models import FAMILY, Level, ModelFacts, facts
from caliban_provider_openai.names import wire_name
from caliban_provider_openai.parameters import effort, output_tokens, reply_format, temperature
from caliban_provider_openai.quirks import Quirks, for_model
from caliban_provider_openai.schema import tool_schema

_OURS = frozenset({"model", "stream", "messages"})


def encode(request: CompletionRequest, quirks: Quirks, **options: Any) -> dict[str, Any]:
    """The body as plain data; `options` are those of `ChatEncoder`."""
    body: dict[str, Any] = json.loads(ChatEncoder(quirks, **options).body(request).join())
    return body


class ChatEncoder:
    """Makes bodies for one server and remembers the bytes of messages and tools between them.

    `cache_key` groups requests in the vendor's prompt cache, where the server has that; empty is one per
    conversation. `base_model` is the model behind whatever name is asked for, where that name says nothing.
    """

    def __init__(
        self, quirks: Quirks, *, cache_key: str = "", base_model: str = "", memo_bytes: int = MEMO_BYTES
    ) -> None:
        self._base_model = base_model
        self._quirks = quirks
        self._ids = id_rule(quirks)
        self._cache_key = cache_key
        self._messages: Memo[list[bytes]] = Memo(max_bytes=memo_bytes)
        self._tools: Memo[bytes] = Memo(max_bytes=memo_bytes // 8)

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`.

        Raises `InvalidRequest` when there is nothing to send, or the model takes no tools here.
        """
        leading = count_leading_system(request.messages)
        items: list[bytes] = []
        issued: set[str] = set()
        quirks = for_model(self._quirks, self._base_model or request.model)
        after_tool = False
        for message in request.messages[leading:]:
            made = self._items(message, request.model, issued)
            if quirks.assistant_after_tool:
                made, after_tool = spaced(made, after_tool=after_tool)
            items += made
        if not items:
            raise nothing_to_send()
        self._messages.fit(sum(map(len, items)))
        first = items[0]
        if system_text := instructions(request.messages[:leading]):
            items.insert(0, dumps({"role": self._quirks.system_role, "content": system_text}))
        small = _parameters(request, facts(self._base_model or request.model), self._quirks)
        if self._quirks.cache_key and request.cache:
            small["prompt_cache_key"] = self._cache_key or conversation_key(first)
        members = {key: dumps(value) for key, value in small.items()}
        members.update({key: dumps(value) for key, value in request.extra.items() if key not in _OURS})
        names: dict[str, str] = {}
        if request.tools:
            members.setdefault("tools", self._tool_list(request, names))
        return Body(
            path="chat/completions",
            model=request.model,
            members=members,
            history="messages",
            items=items,
            names=names,
        )

    def _items(self, message: Message, model: str, issued: set[str]) -> list[bytes]:
        own = message.family == FAMILY and message.model is not None and is_same_model(message.model, model)
        own_ids = self._ids.own_ids(message, issued, own=own)
        items = self._messages.get(message, (own, own_ids))
        if items is None:
            items = message_json(message, self._quirks, own=own, own_ids=own_ids)
            self._messages.put(message, items, sum(map(len, items)), (own, own_ids))
        return items

    def _tool_list(self, request: CompletionRequest, names: dict[str, str]) -> bytes:
        tools: dict[str, bytes] = {}
        for spec in request.tools:
            name = wire_name(spec.name)
            if name != spec.name:
                names[name] = spec.name
            tools.setdefault(name, self._tool(spec, name))
        return b"[" + b",".join(tools.values()) + b"]"

    def _tool(self, spec: ToolSpec, name: str) -> bytes:
        data = self._tools.get(spec)
        if data is None:
            described = {"description": spec.description} if spec.description.strip() else {}
            function = {"name": name, **described, "parameters": tool_schema(spec.input_schema)}
            data = dumps({"type": "function", "function": function})
            self._tools.put(spec, data, len(data))
        return data


def _parameters(request: CompletionRequest, row: ModelFacts, quirks: Quirks) -> dict[str, Any]:
    """The small members, in the order in which they are sent."""
    out: dict[str, Any] = {"model": request.model, "stream": True}
    if quirks.stream_options:
        out["stream_options"] = {"include_usage": True}
    out[quirks.max_tokens_field] = output_tokens(request, row)
    level = _effort(request, row, quirks)
    if level is not None:
        out["reasoning_effort"] = level
    warmth = temperature(request, row)
    if warmth is not None:
        out["temperature"] = warmth
    form = reply_format(request) if row.structured_output else None
    if form is not None and quirks.structured == "json_schema":
        out["response_format"] = {"type": "json_schema", "json_schema": form}
    elif form is not None and quirks.structured == "json_object_schema":
        out["response_format"] = {"type": "json_object", "schema": form["schema"]}
    elif form is not None and quirks.structured == "json_object":
        out["response_format"] = {"type": "json_object"}
    if request.tools and request.tool_choice != "auto":
        out["tool_choice"] = _tool_choice(request.tool_choice, quirks)
    return out


def _effort(request: CompletionRequest, row: ModelFacts, quirks: Quirks) -> Level | None:
    """The effort; a model that takes no tools beside reasoning here does not reason when it has some."""
    if not quirks.effort:
        return None
    if not request.tools or row.chat_tools:
        return effort(request, row)
    if "none" not in row.efforts:
        raise InvalidRequest(
            f"{request.model} takes tools through the Responses interface only",
            hint='leave out the option api = "chat", or use another model',
        )
    return "none"


def _tool_choice(wanted: str, quirks: Quirks) -> object:
    match wanted:
        case "none":
            return "none"
        case "any":
            return quirks.any_word
        case name:
            return {"type": "function", "function": {"name": wire_name(name)}}
