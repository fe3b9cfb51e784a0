"""Refuses what Responses refuses, in a stateless conversation.

It is written from the vendor's reference, apart from the encoder, and shares with it only the dated table of
models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caliban_provider.testing.exchange import Request
from caliban_provider_openai.models import ModelFacts, facts
from caliban_provider_openai.testing.refusal import Refused, check_key, need, parsed, refuse
from caliban_provider_openai.testing.responses import Written
from caliban_provider_openai.testing.schemas import MAX_TOOLS, check_function, check_reply_schema, is_word

_TOP = frozenset(
    {
        "model", "input", "instructions", "stream", "store", "include", "reasoning", "text", "tools",
        "tool_choice", "parallel_tool_calls", "max_tool_calls", "max_output_tokens", "prompt_cache_key",
        "prompt_cache_options", "prompt_cache_retention", "truncation", "metadata", "service_tier",
        "safety_identifier", "stream_options", "temperature", "top_p", "previous_response_id", "background",
        "context_management", "user",
    }
)  # fmt: skip
_ITEMS: Mapping[str, frozenset[str]] = {
    "message": frozenset({"type", "role", "content", "phase", "id", "status"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "id", "status", "namespace"}),
    "function_call_output": frozenset({"type", "call_id", "output", "id", "status"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content"}),
}
_HOSTED = ("_call", "_call_output", "compaction", "mcp_list_tools")
_MIN_OUTPUT_TOKENS = 16


class StrictResponses:
    """A validator for `LoopbackServer`, for replies and lists of models; `key` is the only one let in.

    `written` are the reasoning items of the model: any other, and any that was altered, is refused; with
    `must_replay` so is a request that leaves one out.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        written: Iterable[Written] | None = None,
        must_replay: bool = False,
    ) -> None:
        self._key = key
        self._written = None if written is None else [dict(item.whole) for item in written]
        self._must_replay = must_replay

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            check_key(request, self._key)
            if request.method == "GET":
                return None
            if not request.path.partition("?")[0].endswith("/responses"):
                raise Refused("Invalid URL", status=404)
            body = parsed(request)
            check_body(body)
            if self._written is not None:
                self._check_written(body["input"])
        except Refused as refused:
            return refused.status, refused.body
        return None

    def _check_written(self, items: Sequence[Mapping[str, Any]]) -> None:
        known = list(self._written or [])
        for place, item in enumerate(items):
            if item.get("type") == "reasoning":
                need(item in known, f"input[{place}]: The encrypted content could not be verified.")
                known.remove(dict(item))
        if known and self._must_replay:
            refuse(f"input: reasoning that was written is missing: {known[0]['id']}")


def check_body(body: Mapping[str, Any]) -> None:
    """Raise `Refused` for a body that the vendor would refuse."""
    for key in body:
        need(key in _TOP, f"Unknown parameter: '{key}'.")
    need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter")
    row = facts(body["model"])
    _check_limits(body, row)
    _check_tools(body)
    form = body.get("text", {}).get("format")
    if form is not None:
        need(form.get("type") in ("text", "json_object", "json_schema"), "text.format.type: unexpected")
        need(row.structured_output, "text.format: not supported with this model")
        if form["type"] == "json_schema":
            check_reply_schema(form, "text.format")
    instructions = body.get("instructions", "x")
    need(isinstance(instructions, str) and instructions.strip(), "instructions: must be a non-empty string")
    items = body.get("input")
    if isinstance(items, str):
        return
    need(isinstance(items, list) and items, "Missing required parameter: 'input'.")
    assert isinstance(items, list)
    for place, item in enumerate(items):
        _check_item(item, f"input[{place}]", stored=body.get("store", True) is not False)
    _check_order(items)


def _check_limits(body: Mapping[str, Any], row: ModelFacts) -> None:
    limit = body.get("max_output_tokens", _MIN_OUTPUT_TOKENS)
    need(
        isinstance(limit, int) and limit >= _MIN_OUTPUT_TOKENS,
        f"Invalid 'max_output_tokens': integer below minimum value, expected >= {_MIN_OUTPUT_TOKENS}",
    )
    need(row.max_output_tokens is None or limit <= row.max_output_tokens, "'max_output_tokens' is too large")
    if "temperature" in body:
        need(row.sampling, "Unsupported parameter: 'temperature' is not supported with this model.")
        need(0 <= body["temperature"] <= 2, "Invalid 'temperature'")
    reasoning = body.get("reasoning", {})
    need(not reasoning or row.reasons, "Unsupported parameter: 'reasoning' is not supported with this model.")
    need(set(reasoning) <= {"effort", "summary", "context", "mode"}, "reasoning: unknown parameter")
    level = reasoning.get("effort")
    need(level is None or level in row.efforts, f"Unsupported value: 'reasoning.effort' {level}")
    include = body.get("include", [])
    if "reasoning.encrypted_content" in include:
        need(row.reasons, "Encrypted content is not supported with this model.")


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools")
    names: list[str] = []
    if tools is not None:
        need(isinstance(tools, list) and 1 <= len(tools) <= MAX_TOOLS, "Invalid 'tools'")
        for place, tool in enumerate(tools):
            if tool.get("type") == "web_search":
                extra = set(tool) - {"type", "filters", "search_context_size", "user_location"}
                need(not extra, f"Unknown parameter: 'tools[{place}].{sorted(extra)}'.")
                continue
            need(tool.get("type") == "function", f"tools[{place}].type: unexpected")
            extra = set(tool) - {"type", "name", "description", "parameters", "strict", "defer_loading"}
            need(not extra, f"Unknown parameter: 'tools[{place}].{sorted(extra)}'.")
            need("strict" in tool, f"tools[{place}].strict: required")
            check_function(tool, f"tools[{place}]")
            names.append(tool["name"])
        need(len(set(names)) == len(names), "Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    if isinstance(choice, str):
        need(choice in ("auto", "none", "required"), f"tool_choice: unexpected {choice!r}")
    else:
        need(
            choice.get("type") == "function" and choice.get("name") in names,
            "Tool choice 'function' not found in 'tools' parameter.",
        )


def _check_item(item: Any, where: str, *, stored: bool) -> None:
    need(isinstance(item, dict), f"{where}: no object")
    kind = item.get("type", "message")
    if kind not in _ITEMS:
        need(isinstance(kind, str) and kind.endswith(_HOSTED), f"Invalid value: '{where}.type' {kind!r}")
        return
    extra = set(item) - _ITEMS[kind]
    need(not extra, f"Unknown parameter: '{where}.{sorted(extra)}'.")
    match kind:
        case "message":
            _check_message(item, where)
        case "function_call":
            need(is_word(item.get("call_id"), 64), f"Invalid '{where}.call_id'")
            need(is_word(item.get("name"), 64), f"Invalid '{where}.name'")
            try:
                need(isinstance(json.loads(item["arguments"]), dict), f"{where}.arguments: no object")
            except (ValueError, TypeError, KeyError):
                refuse(f"{where}.arguments: not JSON")
        case "function_call_output":
            need(is_word(item.get("call_id"), 64), f"Invalid '{where}.call_id'")
            _check_parts(item.get("output"), f"{where}.output", user=True)
        case "reasoning":
            need(isinstance(item.get("id"), str) and item["id"], f"Missing required parameter: '{where}.id'")
            need(isinstance(item.get("summary"), list), f"Missing required parameter: '{where}.summary'")
            need(
                stored or item.get("encrypted_content"),
                f"Item with id '{item['id']}' not found. Items are not kept when `store` is false.",
            )


def _check_message(item: Mapping[str, Any], where: str) -> None:
    role = item.get("role")
    need(role in ("user", "assistant", "system", "developer"), f"Invalid value: '{where}.role'")
    need(item.get("phase") in (None, "commentary", "final_answer"), f"Invalid value: '{where}.phase'")
    need("phase" not in item or role == "assistant", f"'{where}.phase' is for assistants")
    _check_parts(item.get("content"), f"{where}.content", user=role != "assistant")


def _check_parts(content: Any, where: str, *, user: bool) -> None:
    if isinstance(content, str):
        need(content.strip(), f"{where}: text must be non-empty")
        return
    need(isinstance(content, list) and content, f"Missing or empty: '{where}'")
    for part in content:
        match part:
            case {"type": "input_text", "text": str(text)}:
                need(user and text.strip(), f"{where}: text must be non-empty and a user's")
            case {"type": "output_text", "text": str(text)}:
                need(not user and text.strip(), f"{where}: text must be non-empty and an assistant's")
            case {"type": "input_image", "image_url": str(url), "detail": str()}:
                need(user and url.startswith(("data:image/", "https://", "http://")), f"{where}: no image")
            case {"type": "input_file", "filename": str(), "file_data": str(url)}:
                need(user and url.startswith("data:application/pdf;base64,"), f"{where}: no file")
            case _:
                refuse(f"{where}: unexpected part")


def _check_order(items: Sequence[Mapping[str, Any]]) -> None:
    """Reasoning stands before what it led to, every call has its output, and no id comes twice."""
    calls: list[str] = []
    outputs: list[str] = []
    for place, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "reasoning":
            following = next((one for one in items[place + 1 :] if one.get("type") != "reasoning"), None)
            led = following is not None and (
                following.get("role") == "assistant" or str(following.get("type")).endswith("_call")
            )
            need(
                led,
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
            )
        elif kind == "function_call":
            need(item["call_id"] not in calls, f"Duplicate function call id: {item['call_id']}")
            calls.append(item["call_id"])
        elif kind == "function_call_output":
            need(item["call_id"] in calls, f"No tool call found for function call output {item['call_id']}.")
            need(item["call_id"] not in outputs, f"Several outputs for call {item['call_id']}.")
            outputs.append(item["call_id"])
    missing = [call for call in calls if call not in outputs]
    need(not missing, f"No tool output found for function call {missing}.")
