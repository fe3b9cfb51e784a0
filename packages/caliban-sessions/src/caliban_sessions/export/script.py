"""What an export is made of: a session, and each message with its time, its tokens and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import is_
from typing import TypeAlias, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_common.mask import Masker
from caliban_common.masked import masked_data, masked_message
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.entry import StoredMessage, usage_of
from caliban_sessions.state import SessionState

PriceOf: TypeAlias = Callable[[str, Usage, datetime], float | None]
"""What tokens of a `provider/model` cost at a time, in dollars; `None` where nobody knows."""
PriceOfSum: TypeAlias = Callable[[Mapping[str, Usage], datetime], float | None]
"""The same of sums of tokens by `provider/model`."""


class Step(Struct, frozen=True, kw_only=True):
    """One message. What a session of an earlier version did not write down is `None`, or not there.

    `finished` says when each call's result came, by the call's id; `usage` and `cost_usd` are those of the
    model calls that gave the message, with what its tools asked models.
    """

    message: Message
    at: datetime | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    finished: Mapping[str, datetime] = field(default_factory=dict)


class Script(Struct, frozen=True, kw_only=True):
    """A whole session. `by_model` divides `cost_usd`; each is `None` where a price is not known."""

    state: SessionState
    steps: tuple[Step, ...]
    cost_usd: float | None = None
    by_model: Mapping[str, float | None] = field(default_factory=dict)


def script_of(
    state: SessionState, entries: tuple[StoredMessage, ...], price: PriceOf, price_sum: PriceOfSum
) -> Script:
    """The script of a session as `SessionStore.entries` gives it.

    `price` is asked for single calls, `price_sum` for what many calls took together.
    """
    steps = tuple(_step(state, entry, price) for entry in entries)
    by_model = {name: price_sum({name: usage}, state.updated_at) for name, usage in state.spent.items()}
    costs = list(by_model.values())
    total = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Script(state=state, steps=steps, cost_usd=total, by_model=by_model)


def masked_script(script: Script, masker: Masker) -> Script:
    """`script` without the secrets that `masker` knows, wherever text is."""
    state = script.state
    shown = replace(
        state,
        title=masker.text(state.title),
        labels=tuple(map(masker.text, state.labels)),
        workspace=masker.text(state.workspace),
        todos=masked_data(state.todos, masker),
        warnings=tuple(map(masker.text, state.warnings)),
        messages=tuple(_masked(message, masker) for message in state.messages),
    )
    steps = tuple(replace(step, message=_masked(step.message, masker)) for step in script.steps)
    return replace(script, state=shown, steps=steps)


def _masked(message: Message, masker: Masker) -> Message:
    """`message` without secrets also in what is signed, encrypted or data, which a run would have to keep."""
    message = masked_message(message, masker)
    content = tuple(_masked_block(block, masker) for block in message.content)
    return message if all(map(is_, content, message.content)) else replace(message, content=content)


def _masked_block(block: Block, masker: Masker) -> Block:
    match block:
        case ThinkingBlock() if masker.holds(block.text):
            return replace(block, text=masker.text(block.text), signature=None)
        case ToolResultBlock():
            content = tuple(_masked_part(part, masker) for part in block.content)
            return block if all(map(is_, content, block.content)) else replace(block, content=content)
        case ImageBlock() | DocumentBlock():
            return _masked_part(block, masker)
        case OpaqueBlock():
            return replace(block, data=masked_data(block.data, masker))
        case RedactedThinkingBlock() | ThinkingBlock() | TextBlock() | ToolUseBlock():
            return block
        case _:
            assert_never(block)


def _masked_part(part: ResultPart, masker: Masker) -> ResultPart:
    """`part`; one with a secret in its data or address is a line of text."""
    match part:
        case ImageBlock():
            texts = [part.data or "", part.url or ""]
        case DocumentBlock():
            texts = [part.data, part.title or ""]
        case _:
            return part
    if any(map(masker.holds, texts)):
        return TextBlock(
            text=f"[a {'image' if isinstance(part, ImageBlock) else 'document'} with a secret in it]"
        )
    return part


def _step(state: SessionState, entry: StoredMessage, price: PriceOf) -> Step:
    raw, message = entry.raw, entry.message
    at, usage = stamp.from_text(raw.get("at")), usage_of(raw)
    cost = None
    if usage is not None:
        cost = price(f"{state.provider}/{message.model or state.model}", usage, at or state.updated_at)
    moments = raw.get("finished")
    finished = {
        id: moment
        for id, text in (moments.items() if isinstance(moments, Mapping) else ())
        if (moment := stamp.from_text(text)) is not None
    }
    return Step(message=message, at=at, usage=usage, cost_usd=cost, finished=finished)
