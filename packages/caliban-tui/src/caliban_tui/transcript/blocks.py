"""What a transcript is made of: blocks that are finished and never change again.

A block holds what a viewer can show of it; how much of it the transcript shows is for the renderer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from caliban_commands.answer import AnswerPart
from caliban_common.message import ImageBlock
from caliban_common.tagged import Tagged


class PromptBlock(Tagged, frozen=True, kw_only=True, tag="prompt"):
    """What a person said. `attached` names what went with it; `steered` says that a run was at work."""

    text: str
    attached: tuple[str, ...] = ()
    steered: bool = False


class ReplyBlock(Tagged, frozen=True, kw_only=True, tag="reply"):
    """A block of the model's Markdown: a paragraph, a list, a table, a fence of code; one closes at a time.

    `is_first` stands at the beginning of a reply, `is_joined` directly below the block before. An item of an
    ordered list has its number in `ordinal`. Of a later part of a long fence, `fence` is the line that opened
    it. `references` are names that it may mean, with the addresses that were given to them before it closed.
    """

    markdown: str
    is_first: bool = False
    is_joined: bool = False
    ordinal: int = 0
    fence: str = ""
    references: tuple[tuple[str, str], ...] = ()


class ReasoningBlock(Tagged, frozen=True, kw_only=True, tag="reasoning"):
    """What the model thought; `duration_s` is how long."""

    text: str
    duration_s: float = 0.0


class CallBlock(Tagged, frozen=True, kw_only=True, tag="call"):
    """A tool call and what came of it. `summary` is its one line; `details` are the tool's for a screen.

    `outcome` is that of `ToolCallEnd`; `agent` is whose call it is, empty for the main one. `inner` is what a
    sub-agent of it did, as far as it was kept; `left_out` counts the rest. One that `is_apart` follows words.
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
    images: tuple[ImageBlock, ...] = ()
    is_apart: bool = False
    inner: tuple[TranscriptBlock, ...] = ()
    left_out: int = 0


class TodoRow(Struct, frozen=True, kw_only=True):
    """One task of the model's list; `is_changed` says that it is new, or stands elsewhere than before."""

    content: str
    status: str
    is_changed: bool = True


class TodoBlock(Tagged, frozen=True, kw_only=True, tag="todos"):
    """The model's list of tasks as it is now; one that `is_apart` follows words."""

    rows: tuple[TodoRow, ...]
    is_apart: bool = False


class TaskBlock(Tagged, frozen=True, kw_only=True, tag="task"):
    """Work that a call had left to the background is over; `inner` and `left_out` are as those of a call."""

    title: str
    status: str
    duration_s: float = 0.0
    inner: tuple[TranscriptBlock, ...] = ()
    left_out: int = 0


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
    """A prompt is answered: what it took. `words` say why where it is no success, `hint` what helps.

    `cost_usd` is that of this prompt, `None` where a price is not known.
    """

    duration_s: float
    turns: int
    cost_usd: float | None = 0.0
    words: str = ""
    hint: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


TranscriptBlock: TypeAlias = (
    PromptBlock
    | ReplyBlock
    | ReasoningBlock
    | CallBlock
    | TodoBlock
    | TaskBlock
    | NoticeBlock
    | AnswerBlock
    | ShellBlock
    | SummaryBlock
    | EndBlock
)
