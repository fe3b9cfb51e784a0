"""What a transcript is made of: blocks that are finished and never change again.

A block holds what a viewer can show of it; how much of it the transcript shows is for the renderer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import field

from caliban_commands.answer import AnswerPart
from caliban_common.tagged import Tagged


class PromptBlock(Tagged, frozen=True, kw_only=True, tag="prompt"):
    """What a person said. `attached` names what went with it; `steered` says that a run was at work."""

    text: str
    attached: tuple[str, ...] = ()
    steered: bool = False


class ReplyBlock(Tagged, frozen=True, kw_only=True, tag="reply"):
    """A block of the model's Markdown: a paragraph, a list, a table, a fence of code; one closes at a time.

    `is_first` stands at the beginning of a reply.
    """

    markdown: str
    is_first: bool = False


class ReasoningBlock(Tagged, frozen=True, kw_only=True, tag="reasoning"):
    """What the model thought; `duration_s` is how long."""

    text: str
    duration_s: float = 0.0


class CallBlock(Tagged, frozen=True, kw_only=True, tag="call"):
    """A tool call and what came of it. `summary` is its one line; `details` are the tool's for a screen.

    `outcome` is that of `ToolCallEnd`; `agent` is whose call it is, empty for the main one.
    """

    tool_use_id: str
    name: str
    summary: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    outcome: Literal["ran", "failed", "denied", "invalid", "interrupted"] = "ran"
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    duration_s: float = 0.0
    agent: str = ""


class NoticeBlock(Tagged, frozen=True, kw_only=True, tag="notice"):
    """Something to know: a warning, a retry, an end that is no success."""

    level: Literal["info", "warning", "error"]
    text: str
    hint: str = ""


class AnswerBlock(Tagged, frozen=True, kw_only=True, tag="answer"):
    """What a slash command answered; `line` is what was typed."""

    line: str
    parts: tuple[AnswerPart, ...]


class ShellBlock(Tagged, frozen=True, kw_only=True, tag="shell"):
    """A line that a person ran with `!`, and what it wrote."""

    command: str
    output: str
    code: int | None = 0


class SummaryBlock(Tagged, frozen=True, kw_only=True, tag="summary"):
    """The conversation was made shorter here."""

    reason: str
    tokens_before: int = 0
    tokens_after: int = 0


class EndBlock(Tagged, frozen=True, kw_only=True, tag="end"):
    """A prompt is answered: what it took. `words` say why where it is no success."""

    duration_s: float
    turns: int
    cost_usd: float = 0.0
    words: str = ""


TranscriptBlock: TypeAlias = (
    PromptBlock
    | ReplyBlock
    | ReasoningBlock
    | CallBlock
    | NoticeBlock
    | AnswerBlock
    | ShellBlock
    | SummaryBlock
    | EndBlock
)
