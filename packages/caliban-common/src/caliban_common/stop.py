"""Why a reply and why a run came to its end."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.remedy import Remedy

StopReason: TypeAlias = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "content_filter",
    "pause_turn",
    "context_window",
    "malformed_call",
    "other",
]
"""Why the model ended one reply."""

StopKind: TypeAlias = Literal[
    "end_of_turn",
    "max_turns",
    "max_tokens",
    "budget",
    "cancelled",
    "provider_error",
    "stream_idle",
    "hook_denied",
    "compaction_failed",
    "refusal",
    "content_filter",
    "thinking_budget",
    "schema_mismatch",
    "doom_loop",
    "approval",
]
"""Why a whole run ended.

`schema_mismatch` is of a prompt whose answers never fitted their schema, `doom_loop` of a model that makes
the same failing call again and again; with `approval` a call waits for somebody who answers later.
"""


class Stop(Struct, frozen=True, kw_only=True):
    """The end of a run; `message` and `hint` are for a person, `category` and `status` for a program.

    `category` is the provider error's category (see `caliban_provider.errors`), `status` its HTTP status,
    `remedy` what its hint describes.
    """

    kind: StopKind
    message: str = ""
    hint: str | None = None
    category: str | None = None
    status: int | None = None
    remedy: Remedy | None = None

    @property
    def ok(self) -> bool:
        """Whether the run came to the end it was asked for."""
        return self.kind == "end_of_turn"
