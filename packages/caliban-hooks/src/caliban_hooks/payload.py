"""What hooks are told of an event: JSON data with the members that Claude's hook programs know, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, TypeAlias, assert_never

from msgspec import Struct, field

from caliban_common.hook import (
    ConfigChange,
    FileChanged,
    HookEvent,
    InstructionsLoaded,
    Notification,
    PermissionDenied,
    PermissionRequest,
    PostCompact,
    PostToolBatch,
    PostToolUse,
    PostToolUseFailure,
    PostTurn,
    PreCompact,
    PreToolUse,
    PreTurn,
    QuestionAnswered,
    QuestionAsked,
    RunStop,
    SessionEnd,
    SessionStart,
    StopFailure,
    SubagentStart,
    SubagentStop,
    TaskCompleted,
    TaskCreated,
    UserPromptExpansion,
    UserPromptSubmit,
)
from caliban_common.message import TextBlock, ToolResultBlock, ToolUseBlock
from caliban_hooks.ports import Dialect, SameNames


def _default_mode() -> str:
    return "default"


def _as_it_is(value: Any) -> Any:
    return value


class EventContext(Struct, frozen=True, kw_only=True):
    """What every hook is told beside the event itself: the workspace, and the permission mode at that moment.

    `transcript` says where one is kept, if it is. `dialect` says how tools are called; `masked` takes the
    secrets out of JSON data.
    """

    workspace: Path
    mode: Callable[[], str] = _default_mode
    transcript: Callable[[], str] = str
    dialect: Dialect = field(default_factory=SameNames)
    masked: Callable[[Any], Any] = _as_it_is


class Payload(Struct, frozen=True, kw_only=True):
    """An event as data. A matcher is compared with `subjects`; `call` is what it is about, if it is."""

    data: Mapping[str, Any]
    subjects: tuple[str, ...] = ()
    call: ToolUseBlock | None = None


def payload_of(event: HookEvent, context: EventContext) -> Payload:
    """What hooks read of `event`."""
    own, subjects, call = _own(event, context)
    agent = getattr(event, "agent", "")
    data: dict[str, Any] = {
        "session_id": event.session_id,
        "transcript_path": context.transcript(),
        "cwd": str(context.workspace),
        "permission_mode": context.mode(),
        "hook_event_name": event.type,
        "hookEventName": event.type,
        **({"agent_id": agent, "agent_type": agent} if agent else {}),
        **own,
    }
    return Payload(data=context.masked(data), subjects=subjects, call=call)


_About: TypeAlias = tuple[dict[str, Any], tuple[str, ...]]
"""The members of one event, and what a matcher is compared with."""


def _own(
    event: HookEvent, context: EventContext
) -> tuple[dict[str, Any], tuple[str, ...], ToolUseBlock | None]:
    match event:
        case PreToolUse() | PostToolUse() | PostToolUseFailure() | PermissionRequest() | PermissionDenied():
            return _of_call(event, context)
        case PostToolBatch():
            return _of_batch(event, context), (), None
        case UserPromptSubmit() | UserPromptExpansion() | InstructionsLoaded() | FileChanged():
            return (*_of_text(event), None)
        case SubagentStart() | SubagentStop() | TaskCreated() | TaskCompleted():
            return (*_of_work(event), None)
        case QuestionAsked() | QuestionAnswered():
            return _of_question(event), (event.server,), None
        case _:
            return (*_of_session(event), None)


def _of_session(
    event: SessionStart
    | SessionEnd
    | PreTurn
    | PostTurn
    | PreCompact
    | PostCompact
    | RunStop
    | StopFailure
    | Notification
    | ConfigChange,
) -> _About:
    match event:
        case SessionStart():
            shown = {"source": event.source, "provider": event.provider, "model": event.model}
            return shown, (event.source,)
        case SessionEnd():
            reason = event.reason or "other"
            return {"reason": reason}, (reason,)
        case PreTurn() | PostTurn():
            return {"turn_index": event.turn}, ()
        case PreCompact():
            return {"trigger": event.trigger, "custom_instructions": ""}, (event.trigger,)
        case PostCompact():
            return {"trigger": event.trigger}, (event.trigger,)
        case RunStop():
            return {"stop_hook_active": event.again, "last_assistant_message": event.last_text}, ()
        case ConfigChange():
            return {"source": event.source, "file_path": event.path}, (event.source,)
        case StopFailure():
            return {"error": event.kind, "error_details": event.message}, (event.kind,)
        case Notification():
            return {"message": event.message, "notification_type": event.kind}, (event.kind,)
        case _:
            assert_never(event)


def _of_work(event: SubagentStart | SubagentStop | TaskCreated | TaskCompleted) -> _About:
    match event:
        case SubagentStart():
            return {"tool_use_id": event.tool_use_id, "prompt": event.prompt}, (event.agent,)
        case SubagentStop():
            ending = {"stop_hook_active": event.again, "last_assistant_message": event.last_text}
            return {**ending, "agent_transcript_path": ""}, (event.agent,)
        case TaskCreated():
            return {"task_id": event.tool_use_id, "task_subject": event.title}, ()
        case TaskCompleted():
            task = {"task_id": event.tool_use_id, "task_subject": event.title}
            return {**task, "failed": event.failed}, ()
        case _:
            assert_never(event)


def _of_text(event: UserPromptSubmit | UserPromptExpansion | InstructionsLoaded | FileChanged) -> _About:
    match event:
        case UserPromptSubmit():
            typed = {"command": event.command, "args": event.args} if event.command else {}
            return {"prompt": event.prompt, "is_slash": bool(event.command), **typed}, ()
        case UserPromptExpansion():
            return _of_expansion(event), (event.command,)
        case InstructionsLoaded():
            return _of_instructions(event), (event.cause,)
        case FileChanged():
            names = (PurePath(event.path).name, event.path)
            return {"file_path": event.path, "event": event.change}, names
        case _:
            assert_never(event)


def _of_question(event: QuestionAsked | QuestionAnswered) -> dict[str, Any]:
    shown: dict[str, Any] = {"mcp_server_name": event.server, "mode": event.mode}
    if event.elicitation_id:
        shown["elicitation_id"] = event.elicitation_id
    match event:
        case QuestionAsked():
            asked = {"url": event.url} if event.mode == "url" else {"requested_schema": event.schema or {}}
            return {**shown, "message": event.message, **asked}
        case QuestionAnswered():
            content = {} if event.content is None else {"content": event.content}
            return {**shown, "action": event.action, **content}
        case _:
            assert_never(event)


def _of_expansion(event: UserPromptExpansion) -> dict[str, Any]:
    return {
        "expansion_type": "slash_command",
        "command_name": event.command,
        "command_args": event.args,
        "command_source": event.source,
        "prompt": event.prompt,
    }


def _of_instructions(event: InstructionsLoaded) -> dict[str, Any]:
    more = {
        "globs": list(event.patterns),
        "trigger_file_path": event.trigger,
        "parent_file_path": event.parent,
    }
    extras = {name: value for name, value in more.items() if value}
    return {"file_path": event.path, "memory_type": event.tier, "load_reason": event.cause, **extras}


def _of_batch(event: PostToolBatch, context: EventContext) -> dict[str, Any]:
    dialect, results = context.dialect, {result.tool_use_id: result for result in event.results}
    calls = []
    for call in event.calls:
        text = _text_of(results[call.id]) if call.id in results else ""
        calls.append(
            {
                "tool_name": dialect.names(call.name)[0],
                "tool_input": dialect.told(call.name, call.input),
                "tool_use_id": call.id,
                "tool_response": dialect.response(call.name, call.input, text),
            }
        )
    return {"turn_index": event.turn, "tool_calls": calls}


def _of_call(
    event: PreToolUse | PostToolUse | PostToolUseFailure | PermissionRequest | PermissionDenied,
    context: EventContext,
) -> tuple[dict[str, Any], tuple[str, ...], ToolUseBlock]:
    call, dialect = event.call, context.dialect
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
