"""The prompt from a command file: its text, its arguments, and the output of its shell lines."""

from __future__ import annotations

from caliban.compose.app import App
from caliban.compose.slash import CalledCommand
from caliban.errors import CommandRefused
from caliban.faces.commandline import CommandTool, UnmodelledLine, command_tool, run_line
from caliban_agent_core.hooks import ask_hooks, context_text
from caliban_common.hook import UserPromptExpansion
from caliban_common.text import one_line
from caliban_skills.command import CommandLine, CommandText, command_pieces

MAX_OUTPUT_CHARS = 50_000
"""Of one line."""


async def command_texts(app: App, called: CalledCommand) -> tuple[str, str]:
    """The text to send, and the part of it that may name files with `@`: never a line's output.

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
    """What hooks add to the command's `prompt`. Raises `CommandRefused` where they object."""
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
    refusal = f"/{called.file.name}: {one_line(command, max_chars=120)!r} is not run"
    shell = command_tool(app.tools.tools(), refusal)
    if not _is_meant(app, called, shell, command):
        raise CommandRefused(
            f"{refusal}: it is none of its allowed-tools", hint=f"allowed-tools in {called.file.path}"
        )
    line = UnmodelledLine(text=command, session_id=app.sessions.saved.id, refusal=refusal, is_typed=False)
    text = (await run_line(app, shell, line)).text.strip()
    return text if len(text) <= MAX_OUTPUT_CHARS else f"{text[:MAX_OUTPUT_CHARS]}\n[cut]"


def _is_meant(app: App, called: CalledCommand, shell: CommandTool, command: str) -> bool:
    """Whether the command's own `allowed-tools`, where it has some, name the line."""
    if not called.file.allowed_tools:
        return True
    from caliban_permissions import Engine, RuleSet, parse_rules

    spec = shell.tool.spec
    rules = [{"pattern": pattern, "action": "allow"} for pattern in called.file.allowed_tools]
    engine = Engine(
        RuleSet(cli=parse_rules(rules, source="command line")),
        mode="default",
        workspace=app.workspace,
        interactive=False,
        vouched=(spec,),
        auto_allow_read_only=False,
    )
    return engine.decide(spec, shell.input(command)).action == "allow"
