"""What a provider is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Struct, field

from caliban_common.message import Message
from caliban_common.tool import ToolSpec

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]

EFFORTS: Final[tuple[Effort, ...]] = get_args(Effort)
"""All of them, in rising order."""


def nearest_effort(wanted: Effort, offered: Iterable[Effort]) -> Effort | None:
    """The highest of `offered` that is not above `wanted`; `None` where there is none."""
    bound = EFFORTS.index(wanted)
    return max((level for level in offered if EFFORTS.index(level) <= bound), key=EFFORTS.index, default=None)


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
