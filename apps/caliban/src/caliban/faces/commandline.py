"""A command line that no model wrote, run as a call of the tool for commands, past hooks, rules and log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from caliban.compose.app import App
from caliban.errors import CommandRefused
from caliban_agent_core.hooks import ask_hooks, listening
from caliban_agent_core.ports import JudgedCall
from caliban_common.hook import PreToolUse
from caliban_common.masked import masked_output
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.tool import Emit, Tool, ToolContext, ToolOutput, drop


class CommandTool(Struct, frozen=True, kw_only=True):
    """The tool for commands of a run, and which of its arguments is the command."""

    tool: Tool
    argument: str

    def input(self, line: str) -> dict[str, Any]:
        """The input of a call that runs `line`."""
        return {self.argument: line}


class UnmodelledLine(Struct, frozen=True, kw_only=True):
    """A line to run in the session `session_id`; `refusal` begins the words where it may not.

    `is_typed` says that a person typed just this line, which answers what a hook or a rule would ask.
    """

    text: str
    session_id: str
    refusal: str
    is_typed: bool


def command_tool(tools: Iterable[Tool], refusal: str) -> CommandTool:
    """The tool for commands among `tools`. Raises `CommandRefused`, whose words `refusal` begins."""
    for tool in tools:
        if tool.spec.kind == "execute":
            for name, role in tool.spec.roles.items():
                if role == "command":
                    return CommandTool(tool=tool, argument=name)
    raise CommandRefused(f"{refusal}: this run has no tool for commands")


async def run_line(app: App, found: CommandTool, line: UnmodelledLine, emit: Emit = drop) -> ToolOutput:
    """What the line prints, without secrets. Raises `CommandRefused` where it may not run."""
    call = ToolUseBlock(id=app.wiring.new_id(), name=found.tool.spec.name, input=found.input(line.text))
    call = await _hooked(app, call, line)
    decision = _decided(app, found.tool, call, line)
    problem = None
    if app.permissions.log is not None:
        judged = JudgedCall(session_id=line.session_id, agent="", turn=0, call=call, decision=decision)
        problem = app.permissions.log.record(judged)
    if problem is not None or decision.action == "deny":
        raise CommandRefused(f"{line.refusal}: {problem or decision.reason}")
    if decision.updated_input is not None:
        call = _with_input(call, decision.updated_input)
    context = ToolContext(session_id=line.session_id, turn=0, tool_use_id=call.id, emit=emit)
    return masked_output(await found.tool.invoke(call.input, context), app.masker)


async def _hooked(app: App, call: ToolUseBlock, line: UnmodelledLine) -> ToolUseBlock:
    """The call as hooks leave it. Raises `CommandRefused` where one objects."""
    hooks = listening(app.hooks)
    if hooks is None:
        return call
    verdict = await ask_hooks(hooks, PreToolUse(session_id=line.session_id, turn=0, call=call))
    if verdict.denies or verdict.stop or (verdict.decision == "ask" and not line.is_typed):
        raise CommandRefused(f"{line.refusal}: a hook objects: {verdict.reason or 'no reason given'}")
    return call if verdict.updated_input is None else _with_input(call, verdict.updated_input)


def _decided(app: App, tool: Tool, call: ToolUseBlock, line: UnmodelledLine) -> Decision:
    permissions = app.permissions.asking() if line.is_typed else app.permissions
    decision = permissions.decide(tool.spec, call.input)
    if decision.action != "ask":
        return decision
    if line.is_typed:
        return Decision(action="allow", reason="a person typed it", by="person")
    return Decision(action="deny", reason=decision.reason or "nobody is there to be asked", by="headless")


def _with_input(call: ToolUseBlock, arguments: Mapping[str, Any]) -> ToolUseBlock:
    return ToolUseBlock(id=call.id, name=call.name, input=dict(arguments))
