"""The one pipeline that every tool call of every agent passes: hooks, rules, approver."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.ports import ApprovalRequest, Approver, DecisionLog, Rules
from caliban_common.hook import HookVerdict
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool


class Gate(Struct, frozen=True, kw_only=True):
    """Who judges tool calls, after the hooks.

    Without either everything is allowed: an embedder who hands over functions has decided. With an `approver`
    and no `rules` every call is asked about; without an `approver` a call that the rules, or a hook, leave to
    a person is denied. A `log` is told of every decision on a call.
    """

    rules: Rules | None = None
    approver: Approver | None = None
    log: DecisionLog | None = None


class GateVerdict(Struct, frozen=True, kw_only=True):
    """What the gate says: the decision, and the call as it may run.

    Its input may be another than the model's: a hook changed it, or a rule allowed it as it was read.
    `context` is what the hooks want the model to read beside the result.
    """

    decision: Decision
    call: ToolUseBlock
    context: str = ""


async def judge(gate: Gate, hooks: HookCaller, call: ToolUseBlock, tool: Tool, turn: int) -> GateVerdict:
    """The verdict on `call`, without the approver's: `ask` is only said where there is one.

    What the rules judge is always the input that would run.
    """
    answer, context = await hooks.before_tool(call, turn)
    if hooks.stop is not None:
        return GateVerdict(
            decision=Decision(action="deny", reason=hooks.stop.message, by="hook"), call=call, context=context
        )
    if answer.denies:
        decision = Decision(action="deny", reason=answer.reason or "a hook objected", by="hook")
        return GateVerdict(decision=decision, call=call, context=context)
    if answer.updated_input is not None:
        call = replace(call, input=answer.updated_input)
    decision = await _decide(gate, answer, call, tool)
    if decision.action == "allow" and decision.updated_input is not None:
        call = replace(call, input=decision.updated_input)
    return GateVerdict(decision=decision, call=call, context=context)


async def ask_approver(approver: Approver, call: ToolUseBlock, tool: Tool, reason: str) -> Decision:
    """The approver's answer; `ask` means that it comes later. The wall: one that fails allows nothing."""
    try:
        answer: object = await approver.approve(ApprovalRequest(call=call, tool=tool.spec, reason=reason))
        if not isinstance(answer, Decision):
            raise TypeError(f"it answered with a {type(answer).__name__}")
    except Exception as error:
        return _failed("the approver failed", error)
    return replace(
        answer, updated_input=None, by="person"
    )  # what was shown is what runs: an approver says yes or no


async def _decide(gate: Gate, answer: HookVerdict, call: ToolUseBlock, tool: Tool) -> Decision:
    decision = await _ruled(gate, call, tool)
    if answer.decision == "ask" and decision.action == "allow":
        reason = answer.reason or "a hook wants a person to decide"
        decision = replace(decision, action="ask", reason=reason, by="hook", updated_input=None)
    if decision.action == "ask" and gate.approver is None:
        reason = decision.reason or "nobody is there to be asked"
        return replace(decision, action="deny", reason=reason, by="headless")
    return decision


async def _ruled(gate: Gate, call: ToolUseBlock, tool: Tool) -> Decision:
    """What the rules say. The wall: an input that they cannot judge must not run, nor end the run."""
    if gate.rules is None:
        return Decision(action="allow" if gate.approver is None else "ask")
    try:
        decision: Any = gate.rules.decide(tool.spec, call.input)
        if isawaitable(decision):
            decision = await decision
        if not isinstance(decision, Decision) or decision.action not in ("allow", "ask", "deny"):
            raise TypeError(f"they gave {one_line(repr(decision), max_chars=80)} and no decision")
    except Exception as error:
        return _failed("the rules could not judge this call", error)
    return decision


def _failed(what: str, error: Exception) -> Decision:
    reason = one_line(f"{type(error).__name__}: {error}")
    return Decision(action="deny", reason=f"{what}: {reason}", by="check")
