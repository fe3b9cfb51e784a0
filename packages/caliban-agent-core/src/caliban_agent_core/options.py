"""What a run can be told, with the defaults of behaviours 2.4."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, field

from caliban_agent_core.given import expect, expect_number
from caliban_agent_core.recovery import RecoveryLimits
from caliban_agent_core.timing import Timing
from caliban_common.mask import Masker
from caliban_provider.request import EFFORTS, Effort
from caliban_provider.retry import RetryPolicy

DEFAULT_MAX_TOKENS = 8192
"""The room of a reply where nobody says how long it may be."""


EPHEMERAL: Final = "ephemeral"
"""The session of a run that belongs to none: many may go by it."""


class AgentOptions(Struct, frozen=True, kw_only=True):
    """Limits and habits of a run.

    `max_turns` ≥ 0. `max_tokens` ≥ 1 of one reply is never exceeded; `None` is `DEFAULT_MAX_TOKENS`, and more
    for a reply that does not fit. `max_calls_per_reply` bounds the tool calls that are run of one reply; the
    rest gets an error. `parallel_limit` bounds tools that run at once; 1 is serial. A cap, threshold or nudge
    of 0 is off; `auto_compact_threshold` is a share of the window, `None` is off. `no_edit_nudge_turns`
    counts only where a tool of kind `edit` is offered. `overflow_dir` receives results longer than
    `tool_result_cap_chars`, unless `keeps_overflow` is false: then they are named by their place and not
    written. `server_result_cap_chars` is that cap for tools of servers, where it is another one. A
    conversation shorter than `min_cache_tokens` gets no marker of the prompt cache of its own.

    `session_id` names the conversation, `EPHEMERAL` where it is none that lasts. `agent` is the name under
    which tools speak of this agent; empty is the main one. `cwd` is the directory that hooks are told of.
    With `strict_media` a prompt with images or PDFs that the model is known not to take ends the run before
    anything is sent; without it, and always for older ones and those of tools, words take their place. What
    `masker` knows is taken out of what tools and hooks say, before anything else is done with it. By `timing`
    everything is measured and waited for. Raises `TypeError` and `ValueError` for what none of them can be.
    """

    session_id: str = EPHEMERAL
    agent: str = ""
    cwd: str = ""
    max_turns: int = 50
    max_tokens: int | None = None
    temperature: float | None = None
    thinking_tokens: int | None = None
    effort: Effort | None = None
    response_schema: Mapping[str, Any] | None = None
    prompt_cache: bool = True
    min_cache_tokens: int = 1024
    parallel_limit: int = 16
    max_calls_per_reply: int = 128
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    recovery: RecoveryLimits = field(default_factory=RecoveryLimits)
    thinking_cap_chars: int = 262_144
    tool_result_cap_chars: int = 50_000
    server_result_cap_chars: int | None = None
    overflow_dir: Path | None = None
    keeps_overflow: bool = True
    auto_compact_threshold: float | None = 0.75
    micro_compact: bool = True
    max_empty_nudges: int = 2
    no_edit_nudge_turns: int = 0
    event_buffer: int = 1024
    masker: Masker | None = None
    strict_media: bool = True
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        for name, low in _AT_LEAST.items():
            value = getattr(self, name)
            if value is not None or name not in _MAY_BE_NONE:
                expect_number(name, value, low)
        for name, high in _UP_TO.items():
            if (value := getattr(self, name)) is not None:
                expect_number(name, value, 0, high)
        if self.effort is not None and self.effort not in EFFORTS:
            raise ValueError(f"effort takes one of {', '.join(EFFORTS)}, not {self.effort!r}")
        if self.masker is not None:
            expect("masker", self.masker, Masker, "Masker([secret])")
        for name, (kind, hint) in _KINDS.items():
            expect(name, getattr(self, name), kind, hint)

    @property
    def is_alone(self) -> bool:
        """Whether no other agent goes by this `session_id`: sub-agents have their caller's."""
        return not self.agent and self.session_id != EPHEMERAL

    @property
    def longest_result_chars(self) -> int:
        """The cap of whichever tools may say most; 0 is no cap."""
        caps = (self.tool_result_cap_chars, self.cap_of("server"))
        return 0 if 0 in caps else max(caps)

    def cap_of(self, server: str) -> int:
        """The cap on what a tool of `server` says, empty for tools of no server."""
        if server and self.server_result_cap_chars is not None:
            return self.server_result_cap_chars
        return self.tool_result_cap_chars


_AT_LEAST: Final[Mapping[str, int]] = MappingProxyType(
    {
        "max_turns": 0,
        "max_tokens": 1,
        "thinking_tokens": 0,
        "min_cache_tokens": 0,
        "parallel_limit": 1,
        "max_calls_per_reply": 0,
        "thinking_cap_chars": 0,
        "tool_result_cap_chars": 0,
        "server_result_cap_chars": 0,
        "max_empty_nudges": 0,
        "no_edit_nudge_turns": 0,
        "event_buffer": 0,
    }
)
_MAY_BE_NONE: Final = frozenset({"max_tokens", "thinking_tokens", "server_result_cap_chars"})
_UP_TO: Final[Mapping[str, float]] = MappingProxyType({"temperature": 2, "auto_compact_threshold": 1})
_KINDS: Final[Mapping[str, tuple[type, str]]] = MappingProxyType(
    {
        "session_id": (str, "any text that is the conversation's own"),
        "retry": (RetryPolicy, "RetryPolicy(max_retries=3)"),
        "recovery": (RecoveryLimits, "RecoveryLimits(max_continuations=1)"),
        "timing": (Timing, "Timing(sleep=...)"),
    }
)
