"""Lines that a person types behind `!`: the tool for commands, past the same hooks and rules and audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from caliban.compose.app import App
from caliban.errors import CommandRefused
from caliban_agent_core.hooks import ask_hooks, listening
from caliban_agent_core.ports import JudgedCall
from caliban_common.event import AgentEvent, ToolProgress
from caliban_common.hook import PreToolUse
from caliban_common.masked import masked_output
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolContext
from caliban_drive.session import Session
from caliban_tui.transcript.blocks import ShellBlock

MAX_OUTPUT_CHARS: Final = 200_000
STDOUT, STDERR, NONE = "→ Stdout:", "→ Stderr:", "(empty)"
"""As the tool writes them."""


async def run_typed(app: App, session: Session, line: str, progress: Callable[[str], None]) -> ShellBlock:
    """Run `line`; `progress` hears of what it prints meanwhile. Nothing of it enters the history.

    A rule that denies it, plan mode and hooks hold for a person too; what a rule would ask, the person has
    answered by typing it. Raises `CommandRefused`.
    """
    shown = f"{one_line(line, max_chars=120)!r} is not run"
    if not line.strip():
        raise CommandRefused("there is no command behind the !")
    tool, argument = _tool(app, session, shown)
    call = ToolUseBlock(id=app.wiring.new_id(), name=tool.spec.name, input={argument: line})
    call = await _judged(app, session, call, tool, shown)

    async def emit(event: AgentEvent) -> None:
        if isinstance(event, ToolProgress):
            progress(event.text)

    context = ToolContext(session_id=session.id, turn=0, tool_use_id=call.id, emit=emit)
    output = masked_output(await tool.invoke(call.input, context), app.masker)
    text = for_a_person(output.text)
    if len(text) > MAX_OUTPUT_CHARS:
        text = f"{text[:MAX_OUTPUT_CHARS]}\n[cut]"
    return ShellBlock(command=line, output=text, code=output.details.get("exit_code", int(output.is_error)))


def for_a_person(report: str) -> str:
    """What a command wrote, without the headings that its report has for a model."""
    _, found, rest = report.partition(f"{STDOUT}\n")
    if not found:
        return report.strip("\n")
    stdout, _, stderr = rest.rpartition(f"{STDERR}\n")
    return "\n".join(
        text for text in (part.strip("\n") for part in (stdout, stderr)) if text not in ("", NONE)
    )


def _tool(app: App, session: Session, shown: str) -> tuple[Tool, str]:
    """The tool for commands, and which of its arguments is the command."""
    for tool in session.agent.tools.tools():
        if tool.spec.kind == "execute":
            for name, role in tool.spec.roles.items():
                if role == "command":
                    return tool, name
    raise CommandRefused(f"{shown}: this run has no tool for commands")


async def _judged(app: App, session: Session, call: ToolUseBlock, tool: Tool, shown: str) -> ToolUseBlock:
    """The call as it may run. Raises `CommandRefused`."""
    hooks = listening(app.hooks)
    if hooks is not None:
        verdict = await ask_hooks(hooks, PreToolUse(session_id=session.id, turn=0, call=call))
        if verdict.denies or verdict.stop:
            raise CommandRefused(f"{shown}: a hook objects: {verdict.reason or 'no reason given'}")
        if verdict.updated_input is not None:
            call = ToolUseBlock(id=call.id, name=call.name, input=dict(verdict.updated_input))
    decision = await _decided(app, call, tool)
    if decision.action == "ask":
        decision = Decision(action="allow", reason="a person typed it", by="person")
    problem = None
    if app.permissions.log is not None:
        judged = JudgedCall(session_id=session.id, agent="", turn=0, call=call, decision=decision)
        problem = app.permissions.log.record(judged)
    if problem is not None or decision.action == "deny":
        raise CommandRefused(f"{shown}: {problem or decision.reason}")
    if decision.updated_input is None:
        return call
    return ToolUseBlock(id=call.id, name=call.name, input=dict(decision.updated_input))


async def _decided(app: App, call: ToolUseBlock, tool: Tool) -> Decision:
    return app.permissions.asking().decide(tool.spec, call.input)
