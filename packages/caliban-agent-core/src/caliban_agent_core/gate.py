"""The one pipeline that every tool call of every agent passes: hooks, rules, approver."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.ports import ApprovalRequest, Approver, Rules
from caliban_common.hook import Hooks
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolContext


class Gate(Struct, frozen=True, kw_only=True):
    """Who judges tool calls.

    Without `rules` everything is allowed: an embedder who hands over functions has decided. Without an
    `approver` a call that the rules leave open is denied.
    """

    rules: Rules | None = None
    approver: Approver | None = None
    hooks: Hooks | None = None


class GateVerdict(Struct, frozen=True, kw_only=True):
    """What the gate says: the decision, and the call as it may run (a hook may have changed its input)."""

    decision: Decision
    call: ToolUseBlock


async def judge(
    gate: Gate, hooks: HookCaller, call: ToolUseBlock, tool: Tool, context: ToolContext
) -> GateVerdict:
    """The verdict on `call`. What the rules judge is always the input that would run."""
    answer = await hooks.before_tool(call, context)
    if answer.deny:
        return GateVerdict(
            decision=Decision(action="deny", reason=answer.reason or "a hook objected"), call=call
        )
    if answer.updated_input is not None:
        call = replace(call, input=answer.updated_input)
    return GateVerdict(decision=await _decide(gate, call, tool), call=call)


async def _decide(gate: Gate, call: ToolUseBlock, tool: Tool) -> Decision:
    if gate.rules is None:
        return Decision(action="allow")
    decision = _ruled(gate.rules, call, tool)
    if decision.action != "ask":
        return decision
    if gate.approver is None:
        return replace(decision, action="deny", reason=decision.reason or "nobody is there to be asked")
    answer = await gate.approver.approve(ApprovalRequest(call=call, tool=tool.spec, reason=decision.reason))
    return answer if answer.action == "allow" else replace(answer, action="deny")


def _ruled(rules: Rules, call: ToolUseBlock, tool: Tool) -> Decision:
    """What the rules say. The wall: an input that they cannot judge must not run, nor end the run."""
    try:
        return rules.decide(tool.spec, call.input)
    except Exception as error:
        said = one_line(f"{type(error).__name__}: {error}")
        return Decision(action="deny", reason=f"the rules could not judge this call: {said}")
