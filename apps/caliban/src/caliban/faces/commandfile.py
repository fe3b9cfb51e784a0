"""The prompt that a command file makes: its words, what was said to it, and the output of its lines."""

from __future__ import annotations

from typing import Any

from caliban.compose.app import App
from caliban.compose.slash import CalledCommand
from caliban.errors import CommandRefused
from caliban_agent_core.hooks import ask_hooks, context_text, listening
from caliban_agent_core.ports import JudgedCall
from caliban_common.hook import PreToolUse, UserPromptExpansion
from caliban_common.masked import masked_output
from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolContext, ToolSpec
from caliban_skills.command import CommandLine, CommandText, command_pieces

MAX_OUTPUT_CHARS = 50_000
"""Of one line."""


async def command_texts(app: App, called: CalledCommand) -> tuple[str, str]:
    """What is sent, and the part of it that may name files with `@`: never what a line has printed.

    Each line is a call of the tool for commands, and passes hooks and rules as one of the model's does.
    Raises `CommandRefused` for a line that may not run, and the errors of what was said.
    """
    whole, written = [], []
    for piece in command_pieces(called.file, called.arguments):
        match piece:
            case CommandText(text=text):
                whole.append(text)
                written.append(text)
            case CommandLine(command=command):
                whole.append(await _output(app, called, command))
    text = "".join(whole)
    return text + await _expanded(app, called, text), "\n".join(written)


async def _expanded(app: App, called: CalledCommand, prompt: str) -> str:
    """What hooks add to the `prompt` that the command makes. Raises `CommandRefused` where they object."""
    if app.hooks is None:
        return ""
    event = UserPromptExpansion(
        session_id=app.sessions.saved.id,
        command=called.file.name,
        args=called.arguments,
        source=str(called.file.path),
        prompt=prompt,
    )
    verdict = await ask_hooks(app.hooks, event)
    if verdict.denies or verdict.stop:
        why = verdict.reason or "no reason given"
        raise CommandRefused(f"/{called.file.name} is not sent: a hook objects: {why}")
    added = context_text(event, verdict)
    return f"\n\n{added}" if added else ""


async def _output(app: App, called: CalledCommand, command: str) -> str:
    shown = f"/{called.file.name}: {one_line(command, max_chars=120)!r} is not run"
    tool = next((tool for tool in app.tools.tools() if _argument(tool.spec) is not None), None)
    if tool is None:
        raise CommandRefused(f"{shown}: this run has no tool for commands")
    if not _is_meant(app, called, tool, command):
        raise CommandRefused(
            f"{shown}: it is none of its allowed-tools", hint=f"allowed-tools in {called.file.path}"
        )
    call = ToolUseBlock(
        id=app.wiring.new_id(), name=tool.spec.name, input={_argument(tool.spec) or "": command}
    )
    call = await _judged(app, call, tool, shown)
    context = ToolContext(session_id=app.sessions.saved.id, turn=0, tool_use_id=call.id)
    output = masked_output(await tool.invoke(call.input, context), app.masker)
    text = output.text.strip()
    return text if len(text) <= MAX_OUTPUT_CHARS else f"{text[:MAX_OUTPUT_CHARS]}\n[cut]"


async def _judged(app: App, call: ToolUseBlock, tool: Tool, shown: str) -> ToolUseBlock:
    """The call as it may run. Raises `CommandRefused`."""
    session_id = app.sessions.saved.id
    hooks = listening(app.hooks)
    if hooks is not None:
        verdict = await ask_hooks(hooks, PreToolUse(session_id=session_id, turn=0, call=call))
        if verdict.denies or verdict.stop or verdict.decision == "ask":
            raise CommandRefused(f"{shown}: a hook objects: {verdict.reason or 'no reason given'}")
        if verdict.updated_input is not None:
            call = _with(call, verdict.updated_input)
    decision = app.permissions.decide(tool.spec, call.input)
    if decision.action == "ask":
        reason = decision.reason or "nobody is there to be asked"
        decision = Decision(action="deny", reason=reason, by="headless")
    kept = app.permissions.log
    problem = None
    if kept is not None:
        judged = JudgedCall(session_id=session_id, agent="", turn=0, call=call, decision=decision)
        problem = kept.record(judged)
    if problem is not None or decision.action == "deny":
        raise CommandRefused(f"{shown}: {problem or decision.reason}")
    return call if decision.updated_input is None else _with(call, decision.updated_input)


def _with(call: ToolUseBlock, arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(id=call.id, name=call.name, input=arguments)


def _argument(spec: ToolSpec) -> str | None:
    """The argument that is a command, of a tool that runs them."""
    if spec.kind != "execute":
        return None
    return next((name for name, role in spec.roles.items() if role == "command"), None)


def _is_meant(app: App, called: CalledCommand, tool: Tool, command: str) -> bool:
    """Whether the command's own `allowed-tools`, where it has some, name the line."""
    if not called.file.allowed_tools:
        return True
    from caliban_permissions import Engine, RuleSet, parse_rules

    rules = [{"pattern": pattern, "action": "allow"} for pattern in called.file.allowed_tools]
    engine = Engine(
        RuleSet(cli=parse_rules(rules, source="command line")),
        mode="default",
        workspace=app.workspace,
        interactive=False,
        vouched=(tool.spec,),
        auto_allow_read_only=False,
    )
    return engine.decide(tool.spec, {_argument(tool.spec) or "": command}).action == "allow"
