"""From a request to the body that the runtime takes: the shape of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from msgspec import Struct, field

from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.text import clean
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider_local.calls import ReplyForm, call_words, form_schema, form_words
from caliban_provider_local.model import LocalModel

SMALL_TEMPERATURE = 0.2
SMALL_REPEAT_PENALTY = 1.1


class Encoded(Struct, frozen=True, kw_only=True):
    """A body for the runtime, and how to read the reply."""

    body: dict[str, Any]
    reply_form: ReplyForm


def encode(request: CompletionRequest, model: LocalModel, *, seed: int | None = None) -> Encoded:
    """The body for `request`.

    Raises `InvalidRequest` for a history without text and for a tool choice that names no tool on offer.
    Thinking budgets, efforts and cache marks have no counterpart here and are left out.
    """
    offer = _offer(request, model)
    body: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "cache_prompt": True,
        **_sampling(request, model, offer.reply_form),
        **({} if seed is None else {"seed": seed}),
        **offer.members,
        **request.extra,
        "messages": _messages(request.messages, offer),
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    return Encoded(body=_plain(body), reply_form=offer.reply_form)


class _Offer(Struct, frozen=True, kw_only=True):
    """How tools and schemas enter the body: `members` of it, and `words` for the system message."""

    reply_form: ReplyForm = "plain"
    members: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""


def _offer(request: CompletionRequest, model: LocalModel) -> _Offer:
    tools, schema = _tools(request, model), request.response_schema
    if not tools:
        return _Offer(members={} if schema is None else _response_format(schema))
    answer = request.tool_choice == "auto"
    if answer and schema is None and model.tool_form == "native":
        return _Offer(reply_form="native", members={"tools": [_native(tool) for tool in tools]})
    return _Offer(
        reply_form="form" if schema is None or not answer else "raw_form",
        members=_response_format(form_schema(tools, answer=answer, answer_schema=schema)),
        words=form_words(tools, answer=answer),
    )


def _tools(request: CompletionRequest, model: LocalModel) -> tuple[ToolSpec, ...]:
    """The tools that this reply may call."""
    match request.tool_choice:
        case "none":
            return ()
        case "auto":
            return () if model.tool_form == "none" else request.tools
        case "any" if request.tools:
            return request.tools
        case name:
            named = tuple(tool for tool in request.tools if tool.name == name)
            if not named:
                raise InvalidRequest(f"the tool choice is {name!r}, but no such tool is offered")
            return named


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}


def _native(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def _sampling(request: CompletionRequest, model: LocalModel, form: ReplyForm) -> dict[str, Any]:
    """A tiny model wanders and repeats itself; a larger one keeps what its own file recommends."""
    sampling: dict[str, Any] = {}
    if model.small:
        sampling["temperature"] = SMALL_TEMPERATURE
        if form == "plain" and request.response_schema is None:
            sampling["repeat_penalty"] = SMALL_REPEAT_PENALTY
    if request.temperature is not None:
        sampling["temperature"] = request.temperature
    return sampling


def _messages(messages: Iterable[Message], offer: _Offer) -> list[dict[str, Any]]:
    """The history in the roles that every chat template knows; neighbours of one role become one message.

    Templates refuse what they were not made for, so tool calls and results stand in their own roles only
    when the template has tools.
    """
    native = offer.reply_form == "native"
    encoded: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in messages:
        names.update((call.id, call.name) for call in message.tool_uses)
        if native:
            encoded.extend(_tool_message(result) for result in message.tool_results)
        text = "\n".join(part for block in message.content if (part := _text(block, native, names)))
        calls = [_native_call(call) for call in message.tool_uses] if native else []
        if text or calls:
            _append(encoded, message.role, text, calls)
    if not any(message["role"] == "user" for message in encoded):
        raise InvalidRequest("there is nothing to answer: the history has no user message")
    if offer.words:
        _add_words(encoded, offer.words)
    return encoded


def _append(encoded: list[dict[str, Any]], role: str, text: str, calls: list[dict[str, Any]]) -> None:
    last = encoded[-1] if encoded else None
    if last is not None and last["role"] == role and not calls and "tool_calls" not in last:
        last["content"] += f"\n\n{text}"
        return
    encoded.append({"role": role, "content": text, **({"tool_calls": calls} if calls else {})})


def _add_words(encoded: list[dict[str, Any]], words: str) -> None:
    if encoded and encoded[0]["role"] == "system":
        encoded[0]["content"] += f"\n\n{words}"
    else:
        encoded.insert(0, {"role": "system", "content": words})


def _tool_message(result: ToolResultBlock) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": result.tool_use_id, "content": _result_text(result)}


def _native_call(call: ToolUseBlock) -> dict[str, Any]:
    arguments = json.dumps(call.input, ensure_ascii=False, default=dict)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _text(block: Block, native: bool, names: Mapping[str, str]) -> str:
    """What a model that reads only text gets of a block; what it cannot see is named, not dropped."""
    match block:
        case TextBlock(text=text):
            return text
        case ToolUseBlock():
            return "" if native else call_words(block.name, block.input, block.raw_input)
        case ToolResultBlock():
            if native:
                return ""
            name = names.get(block.tool_use_id, "the tool")
            return f"Result of {name}:\n{_result_text(block)}"
        case ImageBlock():
            return _unseen("image", block.media_type)
        case DocumentBlock():
            return _document(block)
        case ThinkingBlock() | RedactedThinkingBlock() | OpaqueBlock():
            return ""
        case _:
            assert_never(block)


def _result_text(result: ToolResultBlock) -> str:
    text = "\n".join(map(_part_text, result.content)) or "(nothing)"
    return f"error: {text}" if result.is_error else text


def _part_text(part: ResultPart) -> str:
    match part:
        case TextBlock():
            return part.text
        case ImageBlock():
            return _unseen("image", part.media_type)
        case DocumentBlock():
            return _document(part)
        case _:
            assert_never(part)


def _document(block: DocumentBlock) -> str:
    return block.text or _unseen("document", block.media_type)


def _unseen(what: str, media_type: str) -> str:
    return f"[{what} of type {media_type}: this model reads only text]"


def _plain(value: Any) -> Any:
    """`value` as dicts, lists and clean text: the runtime parses JSON strictly and knows no other types."""
    match value:
        case str():
            return clean(value)
        case Mapping():
            return {clean(str(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
