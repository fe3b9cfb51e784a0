"""From a request to the body of `POST /responses`: stateless, with all that the model wrote sent back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from caliban_common.codec import dumps
from caliban_common.history import is_same_model
from caliban_common.message import Message, count_leading_system
from caliban_common.tool import ToolSpec
from caliban_provider.memo import Memo
from caliban_provider.request import CompletionRequest
from caliban_provider_openai.body import (
    MEMO_BYTES,
    Body,
    conversation_key,
    instructions,
    nothing_to_send,
)
from caliban_provider_openai.models import FAMILY, ModelFacts, facts
from caliban_provider_openai.names import wire_name
from caliban_provider_openai.parameters import effort, output_tokens, reply_format, temperature
from caliban_provider_openai.quirks import Quirks
from caliban_provider_openai.responses.items import IDS, message_items
from caliban_provider_openai.schema import tool_schema

MIN_OUTPUT_TOKENS = 16
"""The smallest bound on a reply that this wire takes."""

SERVER_TOOLS = ("web_search",)
"""The vendor's own tools that can be asked for; each is a type of the wire."""

_OURS = frozenset({"model", "stream", "input"})


def encode(request: CompletionRequest, **options: Any) -> dict[str, Any]:
    """The body as plain data; `options` are those of `ResponsesEncoder`."""
    body: dict[str, Any] = json.loads(ResponsesEncoder(**options).body(request).join())
    return body


class ResponsesEncoder:
    """Makes bodies and remembers the bytes of messages and tools between them.

    `cache_key` groups requests in the vendor's prompt cache; empty is one per conversation. `base_model` is
    the model behind whatever name is asked for, where that name says nothing. Of `quirks` counts whether the
    server takes such a key. `server_tools` are offered in every request but those that forbid tools.
    """

    def __init__(
        self,
        *,
        cache_key: str = "",
        base_model: str = "",
        quirks: Quirks | None = None,
        server_tools: Iterable[str] = (),
        memo_bytes: int = MEMO_BYTES,
    ) -> None:
        self._takes_key = quirks is None or quirks.cache_key
        self._base_model = base_model
        self._server_tools = [dumps({"type": name}) for name in server_tools]
        self._cache_key = cache_key
        self._messages: Memo[list[bytes]] = Memo(max_bytes=memo_bytes)
        self._tools: Memo[bytes] = Memo(max_bytes=memo_bytes // 8)

    def body(self, request: CompletionRequest) -> Body:
        """The body of `request`. Raises `InvalidRequest` when there is nothing to send."""
        row = facts(self._base_model or request.model)
        leading = count_leading_system(request.messages)
        items: list[bytes] = []
        issued: set[str] = set()
        for message in request.messages[leading:]:
            items += self._items(message, request.model, issued)
        if not items:
            raise nothing_to_send()
        self._messages.fit(sum(map(len, items)))
        small = _parameters(request, row)
        if request.cache and (self._takes_key or self._cache_key):
            small["prompt_cache_key"] = self._cache_key or conversation_key(items[0])
        if system_text := instructions(request.messages[:leading]):
            small["instructions"] = system_text
        members = {key: dumps(value) for key, value in small.items()}
        members.update({key: dumps(value) for key, value in request.extra.items() if key not in _OURS})
        names: dict[str, str] = {}
        if tools := self._tool_list(request, names):
            members.setdefault("tools", b"[" + b",".join(tools) + b"]")
        return Body(
            path="responses",
            model=request.model,
            members=members,
            history="input",
            items=items,
            names=names,
        )

    def _items(self, message: Message, model: str, issued: set[str]) -> list[bytes]:
        own = message.family == FAMILY and message.model is not None and is_same_model(message.model, model)
        own_ids = IDS.own_ids(message, issued, own=own)
        items = self._messages.get(message, (own, own_ids))
        if items is None:
            items = message_items(message, own=own, own_ids=own_ids)
            self._messages.put(message, items, sum(map(len, items)), (own, own_ids))
        return items

    def _tool_list(self, request: CompletionRequest, names: dict[str, str]) -> list[bytes]:
        tools: dict[str, bytes] = {}
        for spec in request.tools:
            name = wire_name(spec.name)
            if name != spec.name:
                names[name] = spec.name
            tools.setdefault(name, self._tool(spec, name))
        return [*(self._server_tools if request.tool_choice != "none" else ()), *tools.values()]

    def _tool(self, spec: ToolSpec, name: str) -> bytes:
        data = self._tools.get(spec)
        if data is None:
            described = {"description": spec.description} if spec.description.strip() else {}
            schema = tool_schema(spec.input_schema)
            data = dumps(
                {"type": "function", "name": name, **described, "parameters": schema, "strict": False}
            )
            self._tools.put(spec, data, len(data))
        return data


def _parameters(request: CompletionRequest, row: ModelFacts) -> dict[str, Any]:
    """The small members, in the order in which they are sent."""
    out: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "max_output_tokens": max(MIN_OUTPUT_TOKENS, output_tokens(request, row)),
    }
    if row.reasons:
        out["include"] = ["reasoning.encrypted_content"]
    reasoning: dict[str, Any] = {}
    level = effort(request, row)
    if level is not None:
        reasoning["effort"] = level
    if row.reasons and (request.thinking_tokens or 0) > 0:
        reasoning["summary"] = "auto"
    if reasoning:
        out["reasoning"] = reasoning
    warmth = temperature(request, row)
    if warmth is not None:
        out["temperature"] = warmth
    form = reply_format(request) if row.structured_output else None
    if form is not None:
        out["text"] = {"format": {"type": "json_schema", **form}}
    if request.tools and request.tool_choice != "auto":
        out["tool_choice"] = _tool_choice(request.tool_choice)
    return out


def _tool_choice(wanted: str) -> object:
    match wanted:
        case "none":
            return "none"
        case "any":
            return "required"
        case name:
            return {"type": "function", "name": wire_name(name)}
