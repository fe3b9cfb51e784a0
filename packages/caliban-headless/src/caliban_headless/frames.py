"""The frames of the guide's stream-json dialect, as plain data with the keys in the documented order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from caliban_common.codec import block_to_json, usage_to_json
from caliban_common.event import (
    ApiRetry,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    ReplyDiscarded,
    TaskChanged,
    ToolCallEnd,
    ToolCallReady,
    Warned,
)
from caliban_common.message import Block, DocumentBlock, ImageBlock, Message, ThinkingBlock
from caliban_common.usage import Usage
from caliban_drive.remedies import result_advice
from caliban_drive.result import ModelUsage, PromptResult

ERROR_CATEGORIES = frozenset({"overloaded", "rate_limit", "timeout", "network", "server_error"})


class Init(Struct, frozen=True, kw_only=True):
    """What the first frame says of a run. Models are `provider/model`, `prices_as_of` is a date.

    Each of `plugins` has name, version, source and path; `mcp_servers` has names, and how each is.
    `slash_commands` are the names of commands that a prompt may call.
    """

    session_id: str
    model: str
    tools: tuple[str, ...]
    setting_sources: tuple[str, ...]
    bare: bool
    cwd: str
    permission_mode: str
    fallback_model: str | None = None
    prices_as_of: str | None = None
    plugins: tuple[Mapping[str, str], ...] = ()
    mcp_servers: tuple[tuple[str, str], ...] = ()
    slash_commands: tuple[str, ...] = ()


def init_frame(init: Init) -> dict[str, Any]:
    """`system/init`, the first frame."""
    return {
        "type": "system",
        "subtype": "init",
        "session_id": init.session_id,
        "model": init.model,
        "tools": sorted(init.tools),
        "plugins": list(init.plugins),
        "settingSources": list(init.setting_sources),
        "mcp_servers": [{"name": name, "status": status} for name, status in init.mcp_servers],
        "slash_commands": list(init.slash_commands),
        "bare_mode": init.bare,
        "cwd": init.cwd,
        "permission_mode": init.permission_mode,
        **({} if init.fallback_model is None else {"fallback_model": init.fallback_model}),
        **({} if init.prices_as_of is None else {"prices_as_of": init.prices_as_of}),
    }


def user_frame(message: Message) -> dict[str, Any]:
    """`user`: the echo of a prompt; by its `uuid` a host names the prompt in a request."""
    return {"type": "user", "content": [shown_block(block) for block in message.content], "uuid": message.id}


def tool_use_frame(event: ToolCallReady) -> dict[str, Any]:
    """`tool_use`: a call whose input is complete; `raw_input` is what was no JSON object."""
    call = event.call
    frame = {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.input)}
    return frame if call.raw_input is None else {**frame, "raw_input": call.raw_input}


def tool_result_frame(event: ToolCallEnd, t_ms: float | None) -> dict[str, Any]:
    """`tool_result`; `t_ms` counts from the start of the run."""
    result = event.result
    frame = {
        "type": "tool_result",
        "tool_use_id": result.tool_use_id,
        "is_error": result.is_error,
        "content": [shown_block(part) for part in result.content],
    }
    return frame if t_ms is None else {**frame, "t_ms": round(t_ms, 3)}


def message_frame(message: Message, usage: Usage) -> dict[str, Any]:
    """`message`: a whole reply, or what came of it, and what its turn used."""
    content = [shown_block(block) for block in message.content]
    return {"type": "message", "role": "assistant", "content": content, "usage": full_usage(usage)}


def compact_frame(event: HistoryReplaced) -> dict[str, Any]:
    """`system/compact_boundary`: what was said before is a summary now; sizes in estimated tokens."""
    sizes = {"pre_tokens": event.tokens_before, "post_tokens": event.tokens_after}
    metadata = {"trigger": event.trigger, **sizes}
    return {"type": "system", "subtype": "compact_boundary", "compact_metadata": metadata}


def local_frame(text: str) -> dict[str, Any]:
    """`system/local_command_output`: what a command of ours shows; no model was asked for it."""
    return {"type": "system", "subtype": "local_command_output", "content": text}


def retry_frame(event: ApiRetry) -> dict[str, Any]:
    """`system/api_retry`: the provider failed and is asked again."""
    frame: dict[str, Any] = {
        "type": "system",
        "subtype": "api_retry",
        "attempt": event.attempt,
        "max_retries": event.max_retries,
        "retry_delay_ms": event.delay_ms,
    }
    if event.status is not None:
        frame["error_status"] = event.status
    category = "network" if event.category == "interrupted" else event.category
    return {**frame, "error_category": category if category in ERROR_CATEGORIES else "other"}


def warning_frame(event: Warned) -> dict[str, Any]:
    """`warning`: something to know that ends nothing."""
    details = dict(event.details)
    return {"type": "warning", "subtype": event.subtype, "message": event.message, "details": details}


def control_frame(event: Warned, *, withdraws: bool) -> dict[str, Any]:
    """`control_request` or `control_cancel_request`: a question to whoever reads, or one taken back."""
    return {"type": "control_cancel_request" if withdraws else "control_request", **event.details}


def discarded_frame(event: ReplyDiscarded) -> dict[str, Any]:
    """`warning/reply_discarded`: the deltas of the reply so far do not count, it starts again."""
    return {"type": "warning", "subtype": event.type, "message": event.reason, "details": {}}


def of_child(frame: dict[str, Any], child: ChildEvent) -> dict[str, Any]:
    """`frame` of a sub-agent's run, with the call that started it and what it is called."""
    return {**frame, "parent_tool_use_id": child.tool_use_id, "subagent_type": child.agent}


def task_frame(event: TaskChanged) -> dict[str, Any]:
    """`system/task_started` and `system/task_notification`: work in the background begins, and has ended."""
    ids = {"task_id": event.tool_use_id, "tool_use_id": event.tool_use_id}
    if event.status == "started":
        return {"type": "system", "subtype": "task_started", **ids, "description": event.title}
    ended = {"status": event.status, "summary": event.title}
    return {"type": "system", "subtype": "task_notification", **ids, **ended}


def hook_frame(event: HookFired) -> dict[str, Any]:
    """`hook_event`: a hook was asked or told."""
    return {"type": "hook_event", "hookEventName": event.name, "hookSpecificOutput": dict(event.payload)}


def result_frame(result: PromptResult) -> dict[str, Any]:
    """`result`, the last frame of a prompt."""
    frame: dict[str, Any] = {"type": "result", "subtype": result.subtype, "is_error": result.is_error}
    if not result.is_error:
        frame["result"] = result.text
    frame |= {
        "session_id": result.session_id,
        "total_cost_usd": result.cost_usd,
        "turns": result.turns,
        "num_turns": result.turns,
        "total_input_tokens": result.usage.input_tokens,
        "total_output_tokens": result.usage.output_tokens,
        "duration_ms": round(result.duration_ms),
        "duration_api_ms": round(result.api_ms),
        "usage": full_usage(result.usage),
        "model_usage": _spent_by(result.model_usage),
        "permission_denials": list(result.denials),
    }
    if result.agent_usage:
        frame["agent_usage"] = _spent_by(result.agent_usage)
    if result.has_structured:
        frame["structured_output"] = result.structured
    if result.is_error:
        frame |= _failure(result)
    if result.pending:
        from caliban_drive.pending import pending_data

        frame["pending_approvals"] = [pending_data(call) for call in result.pending]
    frame["turns_without_edit"] = result.turns_without_edit
    frame["no_edit_nudge_emitted"] = result.no_edit_nudge_emitted
    return frame


def _spent_by(rows: tuple[ModelUsage, ...]) -> dict[str, Any]:
    return {name: {**full_usage(usage), "cost_usd": cost} for name, usage, cost in rows}


def full_usage(usage: Usage) -> dict[str, float]:
    """`usage` with every documented count, zeros included, and the share of the prompt found in the cache."""
    zeros = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    ratio = usage.cache_hit_ratio
    share = {} if ratio is None else {"cache_hit_ratio": round(ratio, 4)}
    return {**zeros, **usage_to_json(usage), **share}


def shown_block(block: Block) -> dict[str, Any]:
    """A block as a frame shows it: no signatures, no data of images and documents."""
    match block:
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.text}
        case ImageBlock():
            return {"type": "image"}
        case DocumentBlock():
            return {"type": "document", **({} if block.title is None else {"title": block.title})}
        case _:
            return block_to_json(block)


def _failure(result: PromptResult) -> dict[str, Any]:
    failure: dict[str, Any] = {}
    if result.subtype == "error":
        hint = result_advice(result)
        failure["error"] = f"{result.error}\nhint: {hint}" if hint else result.error
    if result.text:
        failure["last_assistant_text"] = result.text
    failure["tool_calls_seen"] = result.tool_calls_seen
    return failure
