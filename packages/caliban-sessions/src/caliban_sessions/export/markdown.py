"""A session as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import assert_never

from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.text import one_line
from caliban_sessions.export.script import Script, Step
from caliban_sessions.export.words import arguments, dollars, moment, safe, stand_in, tokens


def as_markdown(script: Script) -> str:
    """Headings for who speaks; text as it is, calls and results in fences that nothing inside them ends."""
    return "".join(_lines(script))


def _lines(script: Script) -> Iterator[str]:
    state = script.state
    yield f"# {_plain(state.title or state.name)}\n\n"
    yield f"- session: {state.name}\n"
    yield f"- model: {_plain(f'{state.provider}/{state.model}')}\n"
    if state.workspace:
        yield f"- directory: {_plain(state.workspace)}\n"
    yield f"- from {moment(state.created_at)} to {moment(state.updated_at)}\n"
    yield f"- spent: {tokens(state.total_usage)}; {dollars(script.cost_usd)}\n"
    if state.labels:
        yield f"- labels: {_plain(', '.join(state.labels))}\n"
    if state.forked_from is not None:
        yield f"- fork of {_plain(state.forked_from.session)}\n"
    for step in script.steps:
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    message = step.message
    is_results = bool(message.tool_results)
    who = {"system": "System", "user": "Results" if is_results else "User", "assistant": "Assistant"}
    facts = [moment(step.at)] if step.at else []
    if step.usage is not None:
        facts += [tokens(step.usage), dollars(step.cost_usd)]
    yield f"\n## {who[message.role]}\n"
    if facts:
        yield f"\n_{'; '.join(facts)}_\n"
    for block in message.content:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case TextBlock():
            yield f"\n{safe(block.text).strip()}\n"
        case ThinkingBlock():
            yield "\nReasoning:\n\n" + _fenced(block.text, "")
        case ToolUseBlock():
            yield f"\nCall of {_plain(block.name)}:\n\n" + _fenced(arguments(block), "json")
        case ToolResultBlock():
            text = "\n".join(
                part.text if isinstance(part, TextBlock) else stand_in(part) for part in block.content
            )
            yield f"\n{'Error' if block.is_error else 'Result'}:\n\n" + _fenced(text, "")
        case ImageBlock() | DocumentBlock() | RedactedThinkingBlock() | OpaqueBlock():
            yield f"\n{_plain(stand_in(block))}\n"
        case _:
            assert_never(block)


def _fenced(text: str, language: str) -> str:
    text = safe(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", one_line(text, max_chars=300))
