"""What a provider is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from caliban_common.message import Message
from caliban_common.tool import ToolSpec

Effort: TypeAlias = Literal["low", "medium", "high", "max"]


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """One model call.

    `messages` is a repaired history: system messages only lead, every tool call has its result. `max_tokens`
    ≥ 1 bounds the reply. `tool_choice` is `auto`, `none`, `any`, or the name of a tool. `cache` asks for
    prompt-cache markers where the wire has them, within the conversation once that has `min_cache_tokens`,
    by estimate. `extra` goes into the body as it is. `agent` is in whose name is asked, for the ledger;
    empty is the main one.
    """

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    temperature: float | None = None
    thinking_tokens: int | None = None
    effort: Effort | None = None
    response_schema: Mapping[str, Any] | None = None
    cache: bool = True
    min_cache_tokens: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    agent: str = ""
