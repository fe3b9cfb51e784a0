"""What a run can be told, with the defaults of behaviours 2.4."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from caliban_agent_core.recovery import RecoveryLimits
from caliban_provider.request import Effort
from caliban_provider.retry import RetryPolicy


class AgentOptions(Struct, frozen=True, kw_only=True):
    """Limits and habits of a run.

    `max_turns` ≥ 0 and `max_tokens` ≥ 1 (of one reply). `parallel_limit` bounds tools that run at once; 1 is
    serial. A cap, threshold or nudge of 0 is off; `auto_compact_threshold` is a share of the window, `None`
    is off. `overflow_dir` receives results longer than `tool_result_cap_chars`. A conversation shorter than
    `min_cache_tokens` gets no marker of the prompt cache of its own. `agent` is the name under which tools
    speak of this agent; empty is the main one.
    """

    session_id: str = "ephemeral"
    agent: str = ""
    max_turns: int = 50
    max_tokens: int = 8192
    temperature: float | None = None
    thinking_tokens: int | None = None
    effort: Effort | None = None
    response_schema: Mapping[str, Any] | None = None
    prompt_cache: bool = True
    min_cache_tokens: int = 1024
    parallel_limit: int = 16
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    recovery: RecoveryLimits = field(default_factory=RecoveryLimits)
    thinking_cap_chars: int = 262_144
    tool_result_cap_chars: int = 50_000
    overflow_dir: Path | None = None
    auto_compact_threshold: float | None = 0.75
    micro_compact: bool = True
    max_empty_nudges: int = 2
    no_edit_nudge_turns: int = 10
    event_buffer: int = 1024
