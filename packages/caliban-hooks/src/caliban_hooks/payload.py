"""What hooks are told of an event: JSON data with the members that Claude's hook programs know, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, assert_never

from msgspec import Struct, field

from caliban_common.hook import (
    ConfigChange,
    HookEvent,
    Notification,
    PermissionDenied,
    PermissionRequest,
    PostCompact,
    PostToolUse,
    PostToolUseFailure,
    PostTurn,
    PreCompact,
    PreToolUse,
    PreTurn,
    RunStop,
    SessionEnd,
    SessionStart,
    StopFailure,
    SubagentStart,
    SubagentStop,
    UserPromptSubmit,
)
from caliban_common.message import TextBlock, ToolResultBlock, ToolUseBlock
from caliban_hooks.ports import Dialect, SameNames


def _default_mode() -> str:
    return "default"


def _as_it_is(value: Any) -> Any:
    return value


class Surroundings(Struct, frozen=True, kw_only=True):
    """What every event is told with: the workspace, and the permission mode of that moment.

    `dialect` says how tools are called; `masked` takes the secrets out of JSON data.
    """

    workspace: Path
    mode: Callable[[], str] = _default_mode
    dialect: Dialect = field(default_factory=SameNames)
    masked: Callable[[Any], Any] = _as_it_is


class Payload(Struct, frozen=True, kw_only=True):
    """An event as data. A matcher is compared with `subjects`; `call` is what it is about, if it is."""

    data: Mapping[str, Any]
    subjects: tuple[str, ...] = ()
    call: ToolUseBlock | None = None


def payload_of(event: HookEvent, around: Surroundings) -> Payload:
    """What hooks read of `event`."""
    own, subjects, call = _own(event, around)
    agent = getattr(event, "agent", "")
    data: dict[str, Any] = {
        "session_id": event.session_id,
        "transcript_path": "",
        "cwd": str(around.workspace),
        "permission_mode": around.mode(),
        "hook_event_name": event.type,
        "hookEventName": event.type,
        **({"agent_id": agent, "agent_type": agent} if agent else {}),
        **own,
    }
    return Payload(data=around.masked(data), subjects=subjects, call=call)


def _own(
    event: HookEvent, around: Surroundings
) -> tuple[dict[str, Any], tuple[str, ...], ToolUseBlock | None]:
    match event:
        case SessionStart():
            shown = {"source": event.source, "provider": event.provider, "model": event.model}
            return shown, (event.source,), None
        case SessionEnd():
            reason = event.reason or "other"
            return {"reason": reason}, (reason,), None
        case UserPromptSubmit():
            return {"prompt": event.prompt, "is_slash": False}, (), None
        case PreTurn() | PostTurn():
            return {"turn_index": event.turn}, (), None
        case PreToolUse() | PostToolUse() | PostToolUseFailure() | PermissionRequest() | PermissionDenied():
            return _of_call(event, around)
        case PreCompact():
            return {"trigger": event.trigger, "custom_instructions": ""}, (event.trigger,), None
        case PostCompact():
            return {"trigger": event.trigger}, (event.trigger,), None
        case RunStop():
            return {"stop_hook_active": event.again, "last_assistant_message": event.last_text}, (), None
        case SubagentStop():
            said = {"stop_hook_active": event.again, "last_assistant_message": event.last_text}
            return {**said, "agent_transcript_path": ""}, (event.agent,), None
        case ConfigChange():
            return {"source": event.source, "file_path": event.path}, (event.source,), None
        case SubagentStart():
            return {"tool_use_id": event.tool_use_id, "prompt": event.prompt}, (event.agent,), None
        case Notification():
            return {"message": event.message, "notification_type": event.kind}, (event.kind,), None
        case StopFailure():
            return {"error": event.kind, "error_details": event.message}, (event.kind,), None
        case _:
            assert_never(event)


def _of_call(
    event: PreToolUse | PostToolUse | PostToolUseFailure | PermissionRequest | PermissionDenied,
    around: Surroundings,
) -> tuple[dict[str, Any], tuple[str, ...], ToolUseBlock]:
    call, dialect = event.call, around.dialect
    names = dialect.names(call.name)
    shown: dict[str, Any] = {
        "tool_name": names[0],
        "tool_input": dialect.told(call.name, call.input),
        "tool_use_id": call.id,
        "turn_index": event.turn,
        "tool": {"name": call.name, "useId": call.id, "input": call.input},
    }
    match event:
        case PreToolUse():
            pass
        case PostToolUse():
            text = _text_of(event.result)
            shown["tool_response"] = dialect.response(call.name, call.input, text)
            shown["duration_ms"] = round(event.duration_ms)
        case PostToolUseFailure():
            shown["error"] = _text_of(event.result)
            shown["is_interrupt"] = event.interrupted
            shown["duration_ms"] = round(event.duration_ms)
        case PermissionRequest() | PermissionDenied():
            shown["reason"] = event.reason
        case _:
            assert_never(event)
    return shown, names, call


def _text_of(result: ToolResultBlock) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextBlock))
