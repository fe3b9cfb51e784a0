"""The one pipeline that every tool call of every agent passes: hooks, rules, approver."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.ports import ApprovalRequest, Approver, Rules
from caliban_common.hook import HookVerdict
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool


class Gate(Struct, frozen=True, kw_only=True):
    """Who judges tool calls, after the hooks.

    Without `rules` everything is allowed: an embedder who hands over functions has decided. Without an
    `approver` a call that the rules, or a hook, leave to a person is denied.
    """

    rules: Rules | None = None
    approver: Approver | None = None


class GateVerdict(Struct, frozen=True, kw_only=True):
    """What the gate says: the decision, and the call as it may run (a hook may have changed its input).

    `context` is what the hooks want the model to read beside the result.
    """

    decision: Decision
    call: ToolUseBlock
    context: str = ""


async def judge(gate: Gate, hooks: HookCaller, call: ToolUseBlock, tool: Tool, turn: int) -> GateVerdict:
    """The verdict on `call`. What the rules judge is always the input that would run."""
    answer, context = await hooks.before_tool(call, turn)
    if hooks.stop is not None:
        return GateVerdict(
            decision=Decision(action="deny", reason=hooks.stop.message), call=call, context=context
        )
    if answer.denies:
        decision = Decision(action="deny", reason=answer.reason or "a hook objected")
        return GateVerdict(decision=decision, call=call, context=context)
    if answer.updated_input is not None:
        call = replace(call, input=answer.updated_input)
    return GateVerdict(decision=await _decide(gate, answer, call, tool), call=call, context=context)


async def _decide(gate: Gate, answer: HookVerdict, call: ToolUseBlock, tool: Tool) -> Decision:
    decision = Decision(action="allow") if gate.rules is None else _ruled(gate.rules, call, tool)
    if answer.decision == "ask" and decision.action == "allow":
        decision = Decision(action="ask", reason=answer.reason or "a hook wants a person to decide")
    if decision.action != "ask":
        return decision
    if gate.approver is None:
        return replace(decision, action="deny", reason=decision.reason or "nobody is there to be asked")
    answered = await gate.approver.approve(ApprovalRequest(call=call, tool=tool.spec, reason=decision.reason))
    return answered if answered.action == "allow" else replace(answered, action="deny")


def _ruled(rules: Rules, call: ToolUseBlock, tool: Tool) -> Decision:
    """What the rules say. The wall: an input that they cannot judge must not run, nor end the run."""
    try:
        return rules.decide(tool.spec, call.input)
    except Exception as error:
        said = one_line(f"{type(error).__name__}: {error}")
        return Decision(action="deny", reason=f"the rules could not judge this call: {said}")
