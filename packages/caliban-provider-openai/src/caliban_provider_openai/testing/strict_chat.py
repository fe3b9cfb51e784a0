"""Refuses what Chat Completions refuses, at the vendor and at servers that are stricter.

It is written from the references, apart from the encoder, and shares with it only the dated table of models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from caliban_provider.testing.exchange import Request
from caliban_provider_openai.models import ModelFacts, facts
from caliban_provider_openai.testing.refusal import Refused, check_key, need, parsed, refuse
from caliban_provider_openai.testing.schemas import MAX_TOOLS, check_function, check_reply_schema, is_word

_TOP = frozenset(
    {
        "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature",
        "top_p", "stop", "seed", "n", "tools", "tool_choice", "parallel_tool_calls", "response_format",
        "reasoning_effort", "verbosity", "prompt_cache_key", "service_tier", "metadata", "store", "user",
        "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs",
        "safety_identifier",
    }
)  # fmt: skip
_UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages"
_MEMBERS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls", "refusal"}),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}


class Server(Struct, frozen=True, kw_only=True):
    """What one server takes: the vendor's rules where nothing is said."""

    system_roles: tuple[str, ...] = ("system", "developer")
    refused: frozenset[str] = frozenset()
    is_id: Callable[[object], bool] = lambda value: is_word(value, 40)
    reasoning_field: str = ""
    must_replay: bool = False
    needs_key: bool = True
    vendor: bool = True
    any_word: str = "required"


OPENAI = Server()
"""The vendor."""

COMPATIBLE = Server(
    system_roles=("system",),
    refused=frozenset({"max_completion_tokens", "reasoning_effort", "prompt_cache_key", "store"}),
    needs_key=False,
    vendor=False,
)
"""A server that knows the classic interface only."""

MISTRAL = Server(
    system_roles=("system",),
    refused=frozenset(
        {"max_completion_tokens", "reasoning_effort", "prompt_cache_key", "store", "stream_options"}
    ),
    is_id=lambda value: isinstance(value, str) and len(value) == 9 and value.isascii() and value.isalnum(),
    vendor=False,
    any_word="any",
)
"""Ids of exactly nine letters and digits, and no member that it does not know."""

DEEPSEEK = Server(
    system_roles=("system",),
    refused=frozenset({"max_completion_tokens", "reasoning_effort", "prompt_cache_key", "store"}),
    reasoning_field="reasoning_content",
    must_replay=True,
    vendor=False,
)
"""A message with calls must come back with the reasoning that led to them."""


class StrictChat:
    """A validator for `LoopbackServer`, for replies and lists of models; `key` is the only one let in."""

    def __init__(self, server: Server = OPENAI, *, key: str | None = None) -> None:
        self._server = server
        self._key = key

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            if self._server.needs_key:
                check_key(request, self._key)
            if request.method == "GET":
                return None
            if not request.path.partition("?")[0].endswith("/chat/completions"):
                raise Refused("Invalid URL", status=404)
            check_body(parsed(request), self._server)
        except Refused as refused:
            return refused.status, refused.body
        return None


def check_body(body: Mapping[str, Any], server: Server = OPENAI) -> None:
    """Raise `Refused` for a body that the server would refuse."""
    for key in body:
        need(key in _TOP and key not in server.refused, f"Unrecognized request argument supplied: {key}")
    need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter")
    row = facts(body["model"])
    _check_limits(body, row, server)
    _check_tools(body, row, server)
    form = body.get("response_format")
    if form is not None:
        need(form.get("type") in ("text", "json_object", "json_schema"), "response_format.type: unexpected")
        if form["type"] == "json_schema":
            check_reply_schema(form.get("json_schema", {}), "response_format.json_schema")
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "[] is too short - 'messages'")
    assert isinstance(messages, list)
    for place, message in enumerate(messages):
        _check_message(message, f"messages[{place}]", server)
    _check_pairs(messages)


def _check_limits(body: Mapping[str, Any], row: ModelFacts, server: Server) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        value = body.get(name, 1)
        need(isinstance(value, int) and value >= 1, f"Invalid '{name}': integer below minimum value")
    if server.vendor and row.reasons:
        need("max_tokens" not in body, "Unsupported parameter: 'max_tokens'")
        need("temperature" not in body or row.sampling, "Unsupported value: 'temperature'")
    level = body.get("reasoning_effort")
    need(level is None or level in row.efforts, f"Unsupported value: 'reasoning_effort' {level}")
    if server.vendor and body.get("tools") and not row.chat_tools:
        need(
            level == "none",
            "Function tools with reasoning_effort are not supported for this model in "
            "/v1/chat/completions. Please use /v1/responses instead.",
        )
    need(0 <= body.get("temperature", 1) <= 2, "Invalid 'temperature': expected 0 to 2")
    if "stream_options" in body:
        need(body.get("stream") is True, "stream_options is only allowed when stream is enabled")


def _check_tools(body: Mapping[str, Any], row: ModelFacts, server: Server) -> None:
    tools = body.get("tools")
    if tools is not None:
        need(isinstance(tools, list) and 1 <= len(tools) <= MAX_TOOLS, "[] is too short - 'tools'")
        for place, tool in enumerate(tools):
            need(
                set(tool) == {"type", "function"} and tool["type"] == "function",
                f"tools[{place}]: wrong keys",
            )
            check_function(tool["function"], f"tools[{place}].function", needs_schema=False)
        names = [tool["function"]["name"] for tool in tools]
        need(len(set(names)) == len(names), "Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    need(tools, "'tool_choice' is only allowed when 'tools' are specified.")
    if isinstance(choice, str):
        need(choice in ("auto", "none", server.any_word), f"tool_choice: unexpected {choice!r}")
        return
    named = [tool["function"]["name"] for tool in tools or []]
    need(choice.get("function", {}).get("name") in named, "tool_choice: no such tool")


def _check_message(message: Any, where: str, server: Server) -> None:
    need(isinstance(message, dict), f"{where}: no object")
    role = message.get("role")
    need(role in _MEMBERS, f"{where}.role: unexpected {role!r}")
    need(
        role not in ("system", "developer") or role in server.system_roles, f"{where}.role: unexpected {role}"
    )
    extra = set(message) - _MEMBERS[role] - {server.reasoning_field}
    need(not extra, f"{where}: Extra inputs are not permitted: {sorted(extra)}")
    content, calls = message.get("content"), message.get("tool_calls")
    if role == "assistant":
        need(content is not None or calls, f"{where}: content or tool_calls must be set")
        need(calls is None or calls, f"Invalid '{where}.tool_calls': empty array")
        for call in calls or ():
            _check_call(call, where, server)
        reasoning = message.get(server.reasoning_field) if server.reasoning_field else None
        need(
            not (server.must_replay and calls) or reasoning, f"Missing `{server.reasoning_field}` in {where}"
        )
    else:
        need(content is not None, f"Missing required parameter: '{where}.content'")
    if role == "tool":
        need(server.is_id(message.get("tool_call_id")), f"{where}.tool_call_id: invalid")
    if content is not None:
        _check_content(content, where, role)


def _check_call(call: Any, where: str, server: Server) -> None:
    need(
        isinstance(call, dict) and set(call) == {"id", "type", "function"}, f"{where}.tool_calls: wrong keys"
    )
    need(server.is_id(call["id"]), f"Invalid '{where}.tool_calls.id'")
    function = call["function"]
    need(is_word(function.get("name"), 64), f"Invalid '{where}.tool_calls.function.name'")
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, TypeError):
        refuse(f"{where}.tool_calls: arguments are not JSON")
    need(isinstance(arguments, dict), f"{where}.tool_calls: arguments are no object")


def _check_content(content: Any, where: str, role: str) -> None:
    if isinstance(content, str):
        need(content.strip(), f"{where}: text content must be non-empty")
        return
    need(isinstance(content, list) and content, f"{where}.content: empty array")
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                need(text.strip(), f"{where}: text content must be non-empty")
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                need(role == "user", f"{where}: images are for users only")
                need(url.startswith(("data:image/", "https://", "http://")), f"{where}: no image URL")
            case {"type": "file", "file": {"filename": str(), "file_data": str(url)}}:
                need(role == "user" and url.startswith("data:application/pdf;base64,"), f"{where}: no file")
            case _:
                refuse(f"{where}.content: unexpected part")


def _check_pairs(messages: list[Any]) -> None:
    """Every call is answered once, before anything else is said."""
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            need(
                message["tool_call_id"] in open_ids,
                f"messages[{place}]: 'tool' must be a response to a preceding message with 'tool_calls'.",
            )
            open_ids.remove(message["tool_call_id"])
            continue
        need(
            not open_ids,
            f"{_UNANSWERED}: {open_ids}",
        )
        open_ids = [call["id"] for call in message.get("tool_calls") or ()]
        need(len(set(open_ids)) == len(open_ids), f"messages[{place}]: ids of calls must be unique")
    need(not open_ids, f"{_UNANSWERED}: {open_ids}")
