"""An agent loop as a library: a provider, tools and a gate go in, events and a history come out."""

from caliban_agent_core.agent import Agent
from caliban_agent_core.errors import CompactionFailed, RunNotFinished, ToolDefinitionError
from caliban_agent_core.function import tool
from caliban_agent_core.gate import Gate
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import ApprovalRequest, Approver, Compactor, InputSource, Rules
from caliban_agent_core.recovery import RecoveryLimits
from caliban_agent_core.run import Run

__all__ = [
    "Agent",
    "AgentOptions",
    "ApprovalRequest",
    "Approver",
    "CompactionFailed",
    "Compactor",
    "Gate",
    "InputSource",
    "RecoveryLimits",
    "Rules",
    "Run",
    "RunNotFinished",
    "ToolDefinitionError",
    "tool",
]
