"""The one pipeline that every tool call of every agent passes: hooks, rules, approver."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.given import expect_method
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.ports import ApprovalRequest, Approver, DecisionLog, Rules, RulesWithModel
from caliban_common.canonical import canonical_arguments
from caliban_common.hook import HookVerdict
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Action, Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolSpec


class Gate(Struct, frozen=True, kw_only=True):
    """Who judges tool calls, after the hooks.

    Without either everything is allowed: an embedder who hands over functions has decided. With an `approver`
    and no `rules` every call is asked about; without an `approver` a call that the rules, or a hook, leave to
    a person is denied. A `log` is told of every decision on a call. Raises `TypeError` for what is none.
    """

    rules: Rules | None = None
    approver: Approver | None = None
    log: DecisionLog | None = None

    def __post_init__(self) -> None:
        for name, value, method in (
            ("rules", self.rules, "decide"),
            ("approver", self.approver, "approve"),
            ("log", self.log, "record"),
        ):
            if value is not None:
                expect_method(name, value, method, "what judges calls is made before the gate")


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
        changed = canonical_arguments(tool.spec, answer.updated_input)
        wrong = _misfit(tool.spec, changed)
        if wrong is not None:
            decision = Decision(action="deny", reason=f"the input that a hook brought {wrong}", by="hook")
            return GateVerdict(decision=decision, call=call, context=context)
        call = replace(call, input=changed)
    decision = await _decide(gate, answer, call, tool)
    if decision.action == "ask" or decision.by == "headless":
        asked = await hooks.before_asking(call, turn, decision.reason)
        if asked.denies or hooks.stop is not None:
            reason = asked.reason or "a hook objected"
            decision = Decision(action="deny", reason=reason, by="hook", match=decision.match)
    if decision.action == "allow" and decision.updated_input is not None:
        call = replace(call, input=decision.updated_input)
    return GateVerdict(decision=decision, call=call, context=context)


async def ask_approver(gate: Gate, request: ApprovalRequest) -> GateVerdict:
    """The approver's answer; `ask` means that it comes later. The wall: one that fails allows nothing.

    What was shown is what runs, unless the answer carries another input, which the rules judge anew.
    """
    assert gate.approver is not None, "the gate says `ask` only where one is there"
    try:
        answer: object = gate.approver.approve(request)
        if isawaitable(answer):
            answer = await answer
        if not isinstance(answer, Decision):
            raise TypeError(f"it answered with a {type(answer).__name__}")
        if answer.action not in get_args(Action):
            raise TypeError(f"it answered {answer.action!r}, which is none of {', '.join(get_args(Action))}")
        changed: object = answer.updated_input
        if changed is not None and not isinstance(changed, Mapping):
            raise TypeError(f"it answered with an input that is a {type(changed).__name__}")
    except Exception as error:
        return GateVerdict(decision=_failed("the approver failed", error), call=request.call)
    decision = replace(answer, updated_input=None, by="person", suggestions=())
    if decision.action != "allow" or changed is None or dict(changed) == dict(request.call.input):
        return GateVerdict(decision=decision, call=request.call)
    return await _judge_changed(gate, request, changed, decision)


async def _judge_changed(
    gate: Gate, request: ApprovalRequest, changed: Mapping[str, Any], allowed: Decision
) -> GateVerdict:
    """The verdict on the input that an answer brought: a deny holds, and an ask was answered with it."""
    call = replace(request.call, input=canonical_arguments(request.tool, changed))
    decision = await _ruled(gate, call, request.tool)
    if decision.action == "deny":
        reason = f"the input that the answer brought: {decision.reason}"
        return GateVerdict(decision=replace(decision, reason=reason), call=request.call)
    if decision.action == "allow" and decision.updated_input is not None:
        call = replace(call, input=decision.updated_input)
    return GateVerdict(decision=replace(allowed, paths=decision.paths), call=call)


async def _decide(gate: Gate, answer: HookVerdict, call: ToolUseBlock, tool: Tool) -> Decision:
    if answer.decision == "ask" and isinstance(gate.rules, RulesWithModel):
        gate = replace(gate, rules=gate.rules.without_model())
    decision = await _ruled(gate, call, tool.spec)
    if answer.decision == "ask" and decision.action == "allow":
        reason = answer.reason or "a hook wants a person to decide"
        decision = replace(decision, action="ask", reason=reason, by="hook", updated_input=None)
    if decision.action == "ask" and gate.approver is None:
        reason = decision.reason or "nobody is there to be asked"
        return replace(decision, action="deny", reason=reason, by="headless", suggestions=())
    return decision


async def _ruled(gate: Gate, call: ToolUseBlock, tool: ToolSpec) -> Decision:
    """What the rules say. The wall: an input that they cannot judge must not run, nor end the run."""
    if gate.rules is None:
        return Decision(action="allow" if gate.approver is None else "ask")
    try:
        decision: Any = gate.rules.decide(tool, call.input)
        if isawaitable(decision):
            decision = await decision
        if not isinstance(decision, Decision) or decision.action not in ("allow", "ask", "deny"):
            raise TypeError(f"they gave {one_line(repr(decision), max_chars=80)} and no decision")
    except Exception as error:
        return _failed("the rules could not judge this call", error)
    return decision


def _misfit(spec: ToolSpec, args: Mapping[str, Any]) -> str | None:
    """Why `args` cannot be what the tool takes: a member too many, or one missing."""
    schema = spec.input_schema
    properties = schema.get("properties")
    names = properties.keys() if isinstance(properties, Mapping) else args.keys()
    more = [name for name in args if name not in names]
    if more and schema.get("additionalProperties") is not True:
        return f"has {one_line(more[0], max_chars=60)!r}, which {spec.name} does not take"
    less = [name for name in schema.get("required") or () if name not in args]
    return f"has no {less[0]!r}, which {spec.name} needs" if less else None


def _failed(what: str, error: Exception) -> Decision:
    reason = one_line(f"{type(error).__name__}: {error}")
    return Decision(action="deny", reason=f"{what}: {reason}", by="check")
