"""An agent loop as a library: a provider, tools and a gate go in, events and a history come out."""

from caliban_agent_core.agent import Agent
from caliban_agent_core.errors import (
    AnswerMismatch,
    CompactionFailed,
    RunNotFinished,
    ToolDefinitionError,
)
from caliban_agent_core.function import tool
from caliban_agent_core.gate import Gate
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import ApprovalRequest, Approver, Compactor, InputSource, Rules
from caliban_agent_core.recovery import RecoveryLimits
from caliban_agent_core.run import Run
from caliban_common.codec import event_to_json, message_from_json, message_to_json
from caliban_common.errors import CalibanError, RunFailed
from caliban_common.event import (
    AgentEvent,
    ApprovalAsked,
    ApprovalGiven,
    AssistantTextDelta,
    AssistantThinkingDelta,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    ToolCallEnd,
    ToolCallReady,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.message import Message, assistant, system, user
from caliban_common.permission import Decision
from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.provider import Provider
from caliban_provider.registry import connect
from caliban_provider.retry import RetryPolicy

__all__ = [
    "Agent",
    "AgentEvent",
    "AgentOptions",
    "AnswerMismatch",
    "ApprovalAsked",
    "ApprovalGiven",
    "ApprovalRequest",
    "Approver",
    "AssistantTextDelta",
    "AssistantThinkingDelta",
    "CalibanError",
    "CompactionFailed",
    "Compactor",
    "Decision",
    "Gate",
    "InputSource",
    "Message",
    "MessageAdded",
    "Provider",
    "RecoveryLimits",
    "Remedy",
    "ReplyDiscarded",
    "RetryPolicy",
    "Rules",
    "Run",
    "RunEnd",
    "RunFailed",
    "RunNotFinished",
    "Stop",
    "Tool",
    "ToolCallEnd",
    "ToolCallReady",
    "ToolContext",
    "ToolDefinitionError",
    "ToolOutput",
    "ToolProgress",
    "ToolSpec",
    "TurnEnd",
    "TurnStart",
    "Usage",
    "Warned",
    "assistant",
    "connect",
    "event_to_json",
    "message_from_json",
    "message_to_json",
    "system",
    "tool",
    "user",
]
