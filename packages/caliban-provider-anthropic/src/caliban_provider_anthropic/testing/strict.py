"""Refuses what the vendor refuses, in the vendor's words.

`StrictValidator` goes into a `LoopbackServer`; a request that the real service would answer with an error is
answered with that error. It is written from the vendor's documentation, apart from the encoder, and shares
with it only the dated table of models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from caliban_provider.testing.exchange import Request
from caliban_provider_anthropic.models import ModelFacts, facts
from caliban_provider_anthropic.testing.refusal import Refused, need, refuse
from caliban_provider_anthropic.testing.strict_history import check_blocks, check_history, is_word
from caliban_provider_anthropic.testing.wire import WireBlock, error_body

_TOP = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "stream",
        "metadata",
        "thinking",
        "output_config",
        "service_tier",
        "cache_control",
        "container",
        "inference_geo",
        "speed",
    }
)
_TOOL = frozenset({"name", "description", "input_schema", "cache_control", "strict", "type", "defer_loading"})
_SEARCH = frozenset(
    {"type", "name", "max_uses", "allowed_domains", "blocked_domains", "user_location", "cache_control"}
)
_MAX_BODY_BYTES = 32 * 1024 * 1024
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


class StrictValidator:
    """A validator for `LoopbackServer`, for messages and lists of models.

    `key` is the only key that is let in. `signed` are the blocks of reasoning that the model has written: any
    other, and any that was altered, is refused; with `must_replay` so is a request that leaves one out.
    `models` are the only models there are.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        signed: Iterable[WireBlock] | None = None,
        must_replay: bool = False,
        models: Iterable[str] | None = None,
    ) -> None:
        self._key = key
        self._signed = None if signed is None else [dict(block.whole) for block in signed]
        self._must_replay = must_replay
        self._models = None if models is None else frozenset(models)

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            self._check(request)
        except Refused as refused:
            return refused.status, error_body(refused.kind, refused.message)
        return None

    def _check(self, request: Request) -> None:
        self._check_headers(request.headers)
        path = request.path.partition("?")[0]
        if request.method == "GET" and path == "/v1/models":
            return
        if request.method != "POST" or path != "/v1/messages":
            raise Refused("Not Found", status=404, kind="not_found_error")
        if len(request.body) > _MAX_BODY_BYTES:
            raise Refused("Request exceeds the maximum size", status=413, kind="request_too_large")
        need(request.headers.get("content-type", "").startswith("application/json"), "content-type: no JSON")
        body = _parse(request.body)
        model = body.get("model")
        if self._models is not None and model not in self._models:
            raise Refused(f"model: {model}", status=404, kind="not_found_error")
        check_body(body)
        if self._signed is not None:
            self._check_signed(body)

    def _check_headers(self, headers: Mapping[str, str]) -> None:
        need("anthropic-version" in headers, "anthropic-version: header is required")
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if not key or (self._key is not None and key != self._key):
            raise Refused("invalid x-api-key", status=401, kind="authentication_error")

    def _check_signed(self, body: Mapping[str, Any]) -> None:
        signed = list(self._signed or [])
        for place, message in enumerate(body["messages"]):
            if isinstance(message["content"], str):
                continue
            for number, block in enumerate(message["content"]):
                if block["type"] in ("thinking", "redacted_thinking"):
                    bare = {key: value for key, value in block.items() if key != "cache_control"}
                    if bare not in signed:
                        refuse(f"messages.{place}.content.{number}: Invalid `signature` in `thinking` block")
                    signed.remove(bare)
        if signed and self._must_replay:
            refuse(f"messages: a thinking block that was written is missing: {signed[0]!r:.200}")


def check_body(body: Mapping[str, Any]) -> None:
    """Raise `Refused` for a body that the vendor would refuse."""
    for key in body:
        need(key in _TOP, f"{key}: Extra inputs are not permitted")
    need(isinstance(body.get("model"), str) and body["model"], "model: Field required")
    row = facts(body["model"])
    tokens = body.get("max_tokens")
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        refuse("max_tokens: Field required")
    need(tokens >= 1, "max_tokens: Input should be greater than or equal to 1")
    limit = row.max_output_tokens
    need(limit is None or tokens <= limit, f"max_tokens: {tokens} > {limit}, which is the maximum allowed")
    need(body.get("stream") in (None, True, False), "stream: Input should be a valid boolean")
    _check_thinking(body, row)
    _check_sampling(body, row)
    _check_output(body, row)
    _check_tools(body, row)
    system = body.get("system", [])
    if not isinstance(system, str):
        need(all(block.get("type") == "text" for block in system), "system: only text blocks")
    check_blocks(system, where="system")
    check_history(body, row)
    marks = json.dumps(body).count('"cache_control": {')
    need(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _parse(data: bytes) -> dict[str, Any]:
    def constant(name: str) -> NoReturn:
        refuse(f"The request body is not valid JSON: unexpected {name}")

    try:
        value = json.loads(data.decode("utf-8"), parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        refuse(f"The request body is not valid JSON: {error}")
    if not isinstance(value, dict):
        refuse("Input should be an object")
    return value


def _check_thinking(body: Mapping[str, Any], row: ModelFacts) -> None:
    config = body.get("thinking")
    if config is None:
        return
    match config:
        case {"type": "enabled", "budget_tokens": int(budget)}:
            need(
                row.thinking == "budget" or row.prefix.endswith("4-6"),
                '"thinking.type.enabled" is not supported',
            )
            need(budget >= 1024, "thinking.enabled.budget_tokens: should be greater than or equal to 1024")
            need(budget < body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`")
        case {"type": "adaptive"}:
            need(row.thinking in ("adaptive", "always"), "adaptive thinking is not supported on this model")
        case {"type": "disabled"}:
            need(row.thinking != "always", '"thinking.type.disabled" is not supported for this model')
            need(row.thinking_off != "between_tools", 'Use "between_tools" to turn thinking off')
            need(_effort(body) not in ("xhigh", "max"), "thinking cannot be disabled at this effort")
        case {"type": "between_tools"}:
            need(row.thinking_off == "between_tools", '"thinking.type.between_tools" is not supported')
        case _:
            refuse("thinking: Input tag found does not match any of the expected tags")
    extra = set(config) - {"type", "budget_tokens", "display"}
    need(not extra, f"thinking.{extra}: Extra inputs are not permitted")
    need(config.get("display") in (None, "summarized", "omitted"), "thinking.display: unexpected value")


def _check_sampling(body: Mapping[str, Any], row: ModelFacts) -> None:
    given = [name for name in ("temperature", "top_p", "top_k") if name in body]
    need(not given or row.sampling, f"{given} is not supported on this model")
    temperature = body.get("temperature")
    if temperature is None:
        return
    need(isinstance(temperature, int | float), "temperature: Input should be a valid number")
    need(0 <= temperature <= 1, "temperature: range: 0..1")
    thinks = _kind(body.get("thinking")) in ("enabled", "adaptive")
    need(not thinks or temperature == 1, "`temperature` may only be set to 1 when thinking is enabled")


def _check_output(body: Mapping[str, Any], row: ModelFacts) -> None:
    config = body.get("output_config", {})
    need(set(config) <= {"effort", "format"}, "output_config: Extra inputs are not permitted")
    effort = config.get("effort")
    if effort is not None:
        need(effort in _EFFORTS and row.efforts, "This model does not support the effort parameter.")
        need(effort in row.efforts, f"output_config.effort: {effort} is not supported on this model")
    form = config.get("format")
    if form is not None:
        need(row.structured_output, "output_config.format: not supported on this model")
        need(
            set(form) == {"type", "schema"} and form["type"] == "json_schema",
            "output_config.format: no schema",
        )
        _check_closed(form["schema"])


def _check_closed(schema: object) -> None:
    """Every object of a reply's schema must be closed, and nothing in it be bounded."""
    if isinstance(schema, list):
        for item in schema:
            _check_closed(item)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        need(
            schema.get("additionalProperties") is False,
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be set to false",
        )
    for key in ("minimum", "maximum", "minLength", "maxLength", "multipleOf", "maxItems", "pattern"):
        need(
            key not in schema or "properties" in schema,
            f"output_config.format.schema: {key} is not supported",
        )
    for key, item in schema.items():
        if key not in ("enum", "const"):
            _check_closed(list(item.values()) if key in ("properties", "$defs", "definitions") else item)


def _check_tools(body: Mapping[str, Any], row: ModelFacts) -> None:
    tools = body.get("tools", [])
    names: set[str] = set()
    for place, tool in enumerate(tools):
        if tool.get("type") == "web_search_20250305":
            need(set(tool) <= _SEARCH, f"tools.{place}.web_search_20250305: Extra inputs are not permitted")
            need(tool.get("name") == "web_search", f"tools.{place}.name: Input should be 'web_search'")
            need("web_search" not in names, "tools: Tool names must be unique.")
            names.add("web_search")
            continue
        where = f"tools.{place}.custom"
        need(set(tool) <= _TOOL, f"{where}: Extra inputs are not permitted")
        name = tool.get("name")
        need(is_word(name, 128), f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        need(name not in names, "tools: Tool names must be unique.")
        names.add(name)
        schema = tool.get("input_schema")
        need(
            isinstance(schema, dict) and schema.get("type") == "object",
            f"{where}.input_schema.type: required",
        )
        need(
            not schema.keys() & {"oneOf", "anyOf", "allOf"},
            f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        )
    choice = body.get("tool_choice")
    if choice is None:
        return
    need(bool(tools), "tool_choice may only be specified while providing tools")
    kind = _kind(choice)
    need(kind in ("auto", "any", "none", "tool"), "tool_choice: unexpected type")
    if kind in ("any", "tool"):
        need(row.forced_tools, "tool_choice: forced tool use is not supported on this model")
        thinks = _kind(body.get("thinking")) in ("enabled", "adaptive")
        need(not thinks, "Thinking may not be enabled when tool_choice forces tool use.")
    if kind == "tool":
        need(choice.get("name") in names, f"Tool '{choice.get('name')}' not found in provided tools")


def _kind(value: object) -> str | None:
    return value.get("type") if isinstance(value, dict) else None


def _effort(body: Mapping[str, Any]) -> object:
    return body.get("output_config", {}).get("effort")
