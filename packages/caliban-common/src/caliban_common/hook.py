"""What hooks are told and what they may answer: one type per event, one verdict for all.

The tags are the documented names of the events; `agent` is whose run it is, empty for the main one. What hook
programs read and write is made of these values elsewhere; nothing here knows a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from caliban_common.message import ResultPart, ToolResultBlock, ToolUseBlock
from caliban_common.tagged import Tagged

HookDecision: TypeAlias = Literal["continue", "ask", "deny"]


class SessionStart(Tagged, frozen=True, kw_only=True, tag="SessionStart"):
    """A session begins or goes on; `source` says which.

    `compact`: it goes on from a summary of itself; `clear`: it begins again, for a person took what was said
    away.
    """

    session_id: str
    cwd: str
    provider: str
    model: str
    source: Literal["startup", "resume", "fork", "compact", "clear"] = "startup"


class SessionEnd(Tagged, frozen=True, kw_only=True, tag="SessionEnd"):
    """A session is closed by its face."""

    session_id: str
    reason: str = ""


class InstructionsLoaded(Tagged, frozen=True, kw_only=True, tag="InstructionsLoaded"):
    """The model is told what the file `path` says, which is one of `tier`; `cause` says why now.

    `trigger` is the file whose use brought it, `patterns` are those that it waited with.
    """

    session_id: str
    path: str
    tier: str
    cause: Literal["session_start", "include", "nested_traversal", "path_glob_match"]
    parent: str = ""
    trigger: str = ""
    patterns: tuple[str, ...] = ()
    agent: str = ""


class UserPromptExpansion(Tagged, frozen=True, kw_only=True, tag="UserPromptExpansion"):
    """A command that was typed becomes the `prompt` that its file makes; denied, nothing is sent."""

    session_id: str
    command: str
    args: str
    source: str
    prompt: str


class UserPromptSubmit(Tagged, frozen=True, kw_only=True, tag="UserPromptSubmit"):
    """A prompt came in; denied, it never enters the history. `command` and `args` are what it was made of."""

    session_id: str
    prompt: str
    command: str = ""
    args: str = ""


class PreTurn(Tagged, frozen=True, kw_only=True, tag="PreTurn"):
    """Turn number `turn` (from 0 within a run) is about to begin."""

    session_id: str
    turn: int
    agent: str = ""


class PostTurn(Tagged, frozen=True, kw_only=True, tag="PostTurn"):
    """A turn is over."""

    session_id: str
    turn: int
    agent: str = ""


class PreToolUse(Tagged, frozen=True, kw_only=True, tag="PreToolUse"):
    """A tool call is complete and about to be judged by the rules."""

    session_id: str
    turn: int
    call: ToolUseBlock
    agent: str = ""


class PermissionRequest(Tagged, frozen=True, kw_only=True, tag="PermissionRequest"):
    """The rules leave a tool call to a person, for `reason`; denied, nobody is asked."""

    session_id: str
    turn: int
    call: ToolUseBlock
    reason: str = ""
    agent: str = ""


class PermissionDenied(Tagged, frozen=True, kw_only=True, tag="PermissionDenied"):
    """A tool call was denied, by whomever, for `reason`: it does not run."""

    session_id: str
    turn: int
    call: ToolUseBlock
    reason: str = ""
    agent: str = ""


class PostToolUse(Tagged, frozen=True, kw_only=True, tag="PostToolUse"):
    """A tool call has run and has its result, which is no error."""

    session_id: str
    turn: int
    call: ToolUseBlock
    result: ToolResultBlock
    duration_ms: float = 0.0
    agent: str = ""


class PostToolUseFailure(Tagged, frozen=True, kw_only=True, tag="PostToolUseFailure"):
    """A tool call has come to nothing but an error: its tool failed, was stopped, or could not take it."""

    session_id: str
    turn: int
    call: ToolUseBlock
    result: ToolResultBlock
    interrupted: bool = False
    duration_ms: float = 0.0
    agent: str = ""


class PostToolBatch(Tagged, frozen=True, kw_only=True, tag="PostToolBatch"):
    """All calls of one reply have their results; denied, the run ends before the model reads them."""

    session_id: str
    turn: int
    calls: tuple[ToolUseBlock, ...]
    results: tuple[ToolResultBlock, ...]
    agent: str = ""


class FileChanged(Tagged, frozen=True, kw_only=True, tag="FileChanged"):
    """A file that an agent has written is not as that left it: somebody else changed or removed it."""

    session_id: str
    path: str
    change: Literal["change", "unlink"]
    agent: str = ""


class TaskCreated(Tagged, frozen=True, kw_only=True, tag="TaskCreated"):
    """The call `tool_use_id` left work to the background, called `title`."""

    session_id: str
    tool_use_id: str
    title: str
    agent: str = ""


class TaskCompleted(Tagged, frozen=True, kw_only=True, tag="TaskCompleted"):
    """Work in the background has come to its end by itself; `failed` says that it came to nothing."""

    session_id: str
    tool_use_id: str
    title: str
    failed: bool = False
    agent: str = ""


class Notification(Tagged, frozen=True, kw_only=True, tag="Notification"):
    """A person is wanted, for what `kind` says."""

    session_id: str
    message: str
    kind: Literal["permission_prompt"] = "permission_prompt"
    agent: str = ""


class PreCompact(Tagged, frozen=True, kw_only=True, tag="PreCompact"):
    """The history is about to be made shorter; `trigger` says whether a person asked for it."""

    session_id: str
    trigger: Literal["auto", "manual"] = "auto"
    agent: str = ""


class PostCompact(Tagged, frozen=True, kw_only=True, tag="PostCompact"):
    """The history was made shorter."""

    session_id: str
    trigger: Literal["auto", "manual"] = "auto"
    agent: str = ""


class RunStop(Tagged, frozen=True, kw_only=True, tag="Stop"):
    """The model has said its last word of a run; `again` says that hooks have kept the run going before."""

    session_id: str
    last_text: str
    again: bool = False


class StopFailure(Tagged, frozen=True, kw_only=True, tag="StopFailure"):
    """A run has ended before the model was done; `kind` is that of the end, `message` says why."""

    session_id: str
    kind: str
    message: str
    agent: str = ""


class SubagentStart(Tagged, frozen=True, kw_only=True, tag="SubagentStart"):
    """The call `tool_use_id` is about to start the agent `agent` on `prompt`; denied, it does not run."""

    session_id: str
    agent: str
    tool_use_id: str
    prompt: str


class SubagentStop(Tagged, frozen=True, kw_only=True, tag="SubagentStop"):
    """The model of a sub-agent has said its last word; `again` as for the end of a run."""

    session_id: str
    agent: str
    last_text: str
    again: bool = False


class QuestionAsked(Tagged, frozen=True, kw_only=True, tag="Elicitation"):
    """The MCP server `server` asks a person, by a form (`schema`) or to open an address (`url`).

    A hook may answer in the person's place; denied, the question is declined.
    """

    session_id: str
    server: str
    message: str
    mode: Literal["form", "url"] = "form"
    schema: Mapping[str, Any] | None = None
    url: str = ""
    elicitation_id: str = ""


class QuestionAnswered(Tagged, frozen=True, kw_only=True, tag="ElicitationResult"):
    """What a server asked has its answer, which it has not been told yet; denied, that is a no."""

    session_id: str
    server: str
    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None
    mode: Literal["form", "url"] = "form"
    elicitation_id: str = ""


class ConfigChange(Tagged, frozen=True, kw_only=True, tag="ConfigChange"):
    """The settings of one `source`, with its file, have changed while the session goes on."""

    session_id: str
    source: str
    path: str = ""


HookEvent: TypeAlias = (
    SessionStart
    | SessionEnd
    | InstructionsLoaded
    | UserPromptExpansion
    | UserPromptSubmit
    | PreTurn
    | PostTurn
    | PreToolUse
    | PermissionRequest
    | PermissionDenied
    | PostToolUse
    | PostToolUseFailure
    | PostToolBatch
    | FileChanged
    | TaskCreated
    | TaskCompleted
    | Notification
    | PreCompact
    | PostCompact
    | RunStop
    | StopFailure
    | SubagentStart
    | SubagentStop
    | ConfigChange
    | QuestionAsked
    | QuestionAnswered
)


class HookReply(Struct, frozen=True, kw_only=True):
    """What a hook answers a server in a person's place; `content` are the values of a form."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


class HookVerdict(Struct, frozen=True, kw_only=True):
    """The answer of all hooks together: the strictest one. What an event cannot use is ignored.

    `deny` objects to what is about to happen: a prompt, a turn, a tool call, a sub-agent, a compaction. That
    of `RunStop` and `SubagentStop` keeps the run going, with `reason` as the next prompt. `ask` leaves a tool
    call to a person, also one that the rules allow; no hook can allow what the rules do not. `updated_input`
    replaces the input of a `PreToolUse` before the rules judge it, `updated_output` what the model reads of a
    `PostToolUse` or a `PostToolUseFailure`.
    `added_context` is told to the model; `stop` ends the run, for `reason`. `reply` answers what a server
    asks, or takes the place of the answer.
    """

    decision: HookDecision = "continue"
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    updated_output: tuple[ResultPart, ...] | None = None
    added_context: str = ""
    stop: bool = False
    reply: HookReply | None = None

    @property
    def denies(self) -> bool:
        """Whether the hooks object."""
        return self.decision == "deny"


class Hooks(Protocol):
    """Whoever may object to what happens in a session."""

    async def fire(self, event: HookEvent) -> HookVerdict:
        """Tell all hooks of `event`; what they say to it together."""
        ...
