"""Refuses what the vendor refuses, in the vendor's words.

`StrictValidator` goes into a `LoopbackServer`; a request that the real service would answer with an error is
answered with that error. It is written from the vendor's documentation, apart from the encoder, and shares
with it only the dated table of models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from caliban_provider.testing.exchange import Request
from caliban_provider_google.models import ModelFacts, facts
from caliban_provider_google.testing import wire
from caliban_provider_google.testing.refusal import Refused, need, need_keys
from caliban_provider_google.testing.strict_history import check_contents
from caliban_provider_google.testing.strict_schema import check_schema

_TOP = frozenset(
    {
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "safetySettings",
        "cachedContent",
        "labels",
        "serviceTier",
        "store",
    }
)
_CONFIG = frozenset(
    {
        "maxOutputTokens",
        "temperature",
        "topP",
        "topK",
        "stopSequences",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "thinkingConfig",
        "candidateCount",
        "seed",
        "mediaResolution",
    }
)
_TOOL = frozenset({"functionDeclarations", "googleSearch", "codeExecution", "urlContext"})
_DECLARATION = frozenset({"name", "description", "parameters", "parametersJsonSchema", "behavior"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
_PATH = re.compile(
    r"/v1(?:beta)?/(?:projects/[^/]+/locations/[^/]+/publishers/google/)?models/([^/:]+):"
    r"streamGenerateContent\?alt=sse"
)


class StrictValidator:
    """A validator for `LoopbackServer`, for replies and lists of models.

    `key` is the only key or token that is let in. `signed` are parts that the model has written with a
    signature: a request in which one of them is missing or altered is refused. `models` are the only models
    there are.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        signed: Iterable[wire.Part] = (),
        models: Iterable[str] | None = None,
    ) -> None:
        self._key = key
        self._signed = [dict(part) for part in signed]
        self._models = None if models is None else frozenset(models)

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            self._check(request)
        except Refused as refused:
            body = wire.error(refused.code, refused.status, refused.message)
            return refused.code, json.dumps(body).encode()
        return None

    def _check(self, request: Request) -> None:
        self._check_key(request.headers)
        if request.method == "GET" and request.path.partition("?")[0] in ("/v1beta/models", "/v1/models"):
            return
        path = _PATH.fullmatch(request.path)
        if request.method != "POST" or path is None:
            raise Refused("Not Found", code=404, status="NOT_FOUND")
        model = path[1]
        if self._models is not None and model not in self._models:
            message = f"models/{model} is not found for API version v1beta"
            raise Refused(message, code=404, status="NOT_FOUND")
        body = _parse(request.body)
        on_vertex = "/projects/" in request.path
        need(not on_vertex or "store" not in body, 'Unknown name "store"')
        check_body(body, facts(model))
        if any(content["role"] == "model" for content in body["contents"]):
            sent = [part for content in body["contents"] for part in content["parts"]]
            for part in self._signed:
                need(
                    part in sent,
                    f"Thought signature is not valid: {json.dumps(part)[:200]} did not come back",
                )

    def _check_key(self, headers: Mapping[str, str]) -> None:
        key = headers.get("x-goog-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if not key:
            raise Refused("Method doesn't allow unregistered callers", code=403, status="PERMISSION_DENIED")
        if self._key is not None and key != self._key:
            raise Refused("API key not valid. Please pass a valid API key.")


def check_body(body: Mapping[str, Any], row: ModelFacts) -> None:
    """Raise `Refused` for a body that the vendor would refuse of a model of this row."""
    need_keys(body, _TOP, "request")
    _check_config(need_keys(body.get("generationConfig", {}), _CONFIG, "generation_config"), row)
    names = _check_tools(body.get("tools", []))
    hosted = any("googleSearch" in tool for tool in body.get("tools", []))
    if "toolConfig" in body:
        _check_choice(body["toolConfig"], names)
    if hosted and names:
        need(row.search_with_tools, "Tool use with function calling is unsupported")
        need(
            body.get("toolConfig", {}).get("includeServerSideToolInvocations") is True,
            "Please enable tool_config.include_server_side_tool_invocations to use built-in tools with "
            "function calling.",
        )
    if "systemInstruction" in body:
        parts = need_keys(body["systemInstruction"], frozenset({"role", "parts"}), "system_instruction")
        texts = parts.get("parts")
        fine = isinstance(texts, list) and texts and all(set(part) == {"text"} for part in texts)
        need(fine, "system_instruction: only text parts")
    check_contents(body.get("contents"), must_sign=row.signs)


def _parse(data: bytes) -> dict[str, Any]:
    def constant(name: str) -> NoReturn:
        raise Refused(f"Invalid JSON payload received. Unexpected token {name}")

    try:
        value = json.loads(data.decode("utf-8"), parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Refused(f"Invalid JSON payload received. {error}") from error
    if not isinstance(value, dict):
        raise Refused("Invalid JSON payload received. Not an object.")
    return value


def _check_config(config: Mapping[str, Any], row: ModelFacts) -> None:
    limit = row.max_output_tokens
    tokens = config.get("maxOutputTokens", 1)
    need(isinstance(tokens, int) and tokens >= 1, "max_output_tokens must be positive")
    need(limit is None or tokens <= limit, f"max_output_tokens: the maximum is {limit}")
    temperature = config.get("temperature")
    need(temperature is None or row.sampling, "temperature is not supported by this model")
    need(temperature is None or 0 <= temperature <= 2, "temperature must be in the range [0, 2]")
    if "responseSchema" in config:
        need(
            config.get("responseMimeType") == "application/json", "response_schema needs a mime type of JSON"
        )
        check_schema(config["responseSchema"], "generation_config.response_schema")
    if "thinkingConfig" in config:
        _check_thinking(config["thinkingConfig"], row)


def _check_thinking(thinking: object, row: ModelFacts) -> None:
    known = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
    config: dict[str, Any] = need_keys(thinking, known, "thinking_config")
    need(row.budget or row.levels, "Thinking is not supported for this model.")
    need(not {"thinkingBudget", "thinkingLevel"} <= config.keys(), "only one of budget and level can be set")
    level = config.get("thinkingLevel")
    need(level is None or level in row.levels, "Thinking level is not supported")
    budget = config.get("thinkingBudget")
    if budget is None:
        return
    low, high = row.budget or (1, 0)
    fine = budget == -1 or low <= budget <= high or (budget == 0 and row.budget_off)
    need(fine, f"The thinking budget {budget} is invalid. Please choose a value between {low} and {high}.")


def _check_tools(tools: object) -> frozenset[str]:
    """The names of the tools; refused where one is not as it must be."""
    if not isinstance(tools, list):
        raise Refused("Invalid value at 'tools'")
    names: list[str] = []
    for place, tool in enumerate(tools):
        entries: Any = need_keys(tool, _TOOL, f"tools[{place}]").get("functionDeclarations", [])
        for number, item in enumerate(entries):
            where = f"tools[{place}].function_declarations[{number}]"
            declared = need_keys(item, _DECLARATION, where)
            name = str(declared.get("name", ""))
            need(_NAME.fullmatch(name), f"{where}.name: Invalid function name.")
            need(name not in names, f"Duplicate function declaration found: {name}")
            names.append(name)
            parameters = declared.get("parameters")
            if parameters is not None:
                check_schema(parameters, f"{where}.parameters")
                outer: Any = parameters
                need(outer.get("type") == "OBJECT", f"{where}.parameters.type: must be OBJECT")
                need(outer.get("properties"), f"{where}.parameters.properties: should be non-empty")
    return frozenset(names)


def _check_choice(config: object, names: frozenset[str]) -> None:
    members = frozenset({"functionCallingConfig", "includeServerSideToolInvocations"})
    outer = need_keys(config, members, "tool_config")
    if "functionCallingConfig" not in outer and outer:
        return
    known = frozenset({"mode", "allowedFunctionNames"})
    choice: dict[str, Any] = need_keys(outer.get("functionCallingConfig"), known, "function_calling_config")
    need(names, "Function calling config is set without function_declarations.")
    mode = choice.get("mode")
    need(mode in ("AUTO", "ANY", "NONE", "VALIDATED"), "function_calling_config.mode: not known")
    allowed = choice.get("allowedFunctionNames", [])
    need(not allowed or mode in ("ANY", "VALIDATED"), "allowed_function_names needs mode ANY")
    need(set(allowed) <= names, "allowed_function_names: not declared")
