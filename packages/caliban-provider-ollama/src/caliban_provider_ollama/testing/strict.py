"""Refuses what the server refuses, and what it would silently do wrong.

`StrictValidator` goes into a `LoopbackServer`. A real server passes over members that it does not know and
cuts a prompt that does not fit; here both are refused, for nobody wants either.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from caliban_provider.testing.exchange import Request

_TOP = frozenset(
    {"model", "messages", "tools", "format", "options", "stream", "think", "keep_alive", "truncate", "shift"}
)
_MESSAGES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "system": frozenset({"role", "content"}),
        "user": frozenset({"role", "content", "images"}),
        "assistant": frozenset({"role", "content", "thinking", "tool_calls"}),
        "tool": frozenset({"role", "content", "tool_name"}),
    }
)
_OPTIONS = frozenset(
    {"num_ctx", "num_predict", "temperature", "top_k", "top_p", "min_p", "seed", "stop", "repeat_penalty"}
)
_PATHS = ("/api/chat", "/api/show", "/api/tags", "/api/ps")


class Refused(Exception):
    """The server would answer the request with this error."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class StrictValidator:
    """A validator for `LoopbackServer`.

    `key` is the only key that is let in; without it nobody is asked for one. `capabilities` are those of
    every model; `None` takes everything. `chars_per_token` is how the server counts a prompt: one that is
    larger than `num_ctx` by that count is refused.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        capabilities: frozenset[str] | None = None,
        chars_per_token: float = 4.0,
    ) -> None:
        self._key = key
        self._capabilities = capabilities
        self._chars_per_token = chars_per_token

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            self._check(request)
        except Refused as refused:
            return refused.status, json.dumps({"error": refused.message}).encode()
        return None

    def _check(self, request: Request) -> None:
        if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
            raise Refused("unauthorized", status=401)
        if request.path not in _PATHS:
            raise Refused("404 page not found", status=404)
        if request.path != "/api/chat":
            return
        need(request.method == "POST", "method not allowed")
        body = _parse(request.body)
        check_body(body)
        if self._capabilities is not None:
            self._check_wishes(body)
        texts = sum(len(message["content"]) for message in body["messages"])
        size = (texts + len(json.dumps(body.get("tools", [])))) / self._chars_per_token
        window = body["options"]["num_ctx"]
        need(size <= window, f"the prompt of {size:.0f} tokens would be cut to {window}")

    def _check_wishes(self, body: Mapping[str, Any]) -> None:
        known = self._capabilities or frozenset()
        name = body["model"]
        need("tools" in known or not body.get("tools"), f"{name} does not support tools")
        need("thinking" in known or not body.get("think"), f'"{name}" does not support thinking')
        has_images = any(message.get("images") for message in body["messages"])
        need("vision" in known or not has_images, f"{name} is missing data required for image input")


def need(holds: object, message: str) -> None:
    """Refuse the request unless `holds`."""
    if not holds:
        raise Refused(message)


def check_body(body: Mapping[str, Any]) -> None:
    """Raise `Refused` for a body that a server would refuse or not understand."""
    need(body.keys() <= _TOP, f"unknown members: {sorted(body.keys() - _TOP)}")
    need(isinstance(body.get("model"), str) and body["model"], "model is required")
    need(body.get("stream") in (None, True, False), "stream: not a boolean")
    options = body.get("options")
    if not isinstance(options, dict):
        raise Refused("options: not an object")
    need(options.keys() <= _OPTIONS, f"unknown options: {sorted(options.keys() - _OPTIONS)}")
    need(isinstance(options.get("num_ctx"), int) and options["num_ctx"] > 0, "num_ctx: the prompt may be cut")
    need(body.get("think") in (None, True, False, "low", "medium", "high"), "invalid think value")
    need(isinstance(body.get("format", {}), dict) or body["format"] == "json", "invalid format")
    need(isinstance(body.get("keep_alive", 0), str | int), "keep_alive: not a span")
    for tool in body.get("tools", []):
        _check_tool(tool)
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "messages: empty")
    _check_messages(body["messages"])


def _check_tool(tool: object) -> None:
    match tool:
        case {
            "type": "function",
            "function": {"name": str(name), "parameters": {"type": "object"} as schema},
        }:
            need(name, "tools: a name is empty")
            need(isinstance(schema.get("properties"), dict), "tools: parameters have no properties")
        case _:
            raise Refused("tools: not a function")


def _check_messages(messages: list[Any]) -> None:
    """Every call is answered, in order and by name, right after the message that makes it."""
    opened: list[str] = []
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        need(isinstance(message, dict) and message.get("role") in _MESSAGES, f"{where}: invalid role")
        role = message["role"]
        need(message.keys() <= _MESSAGES[role], f"{where}: unknown members {sorted(message)}")
        content = message.get("content")
        need(isinstance(content, str), f"{where}: invalid type for content")
        need(content.strip() or message.get("tool_calls"), f"{where}: empty content")
        if role == "tool":
            need(opened and message.get("tool_name") == opened[0], f"{where}: a result without its call")
            opened.pop(0)
            continue
        need(not opened, f"{where}: calls without results: {opened}")
        for image in message.get("images", []):
            need(_is_base64(image), f"{where}: illegal base64 data")
        for call in message.get("tool_calls", []):
            match call:
                case {"function": {"name": str(name), "arguments": dict()}}:
                    opened.append(name)
                case _:
                    raise Refused(f"{where}: invalid tool call")
    need(not opened, f"messages: calls without results: {opened}")


def _parse(data: bytes) -> dict[str, Any]:
    def constant(name: str) -> NoReturn:
        raise Refused(f"invalid character in JSON: {name}")

    try:
        value = json.loads(data.decode("utf-8"), parse_constant=constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Refused(f"invalid JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused("json: cannot unmarshal")
    return value


def _is_base64(data: object) -> bool:
    try:
        return isinstance(data, str) and bool(b64decode(data, validate=True))
    except ValueError:
        return False
