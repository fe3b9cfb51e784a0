"""Lines typed after `!`, run by the tool for commands under the same hooks, rules and audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from caliban.compose.app import App
from caliban.errors import CommandRefused
from caliban.faces.commandline import UnmodelledLine, command_tool, run_line
from caliban_common.event import AgentEvent, ToolProgress
from caliban_common.text import one_line
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
    if not line.strip():
        raise CommandRefused("there is no command behind the !")
    refusal = f"{one_line(line, max_chars=120)!r} is not run"
    shell = command_tool(session.agent.tools.tools(), refusal)

    async def emit(event: AgentEvent) -> None:
        if isinstance(event, ToolProgress):
            progress(event.text)

    typed = UnmodelledLine(text=line, session_id=session.id, refusal=refusal, is_typed=True)
    output = await run_line(app, shell, typed, emit)
    text = for_a_person(output.text)
    if len(text) > MAX_OUTPUT_CHARS:
        text = f"{text[:MAX_OUTPUT_CHARS]}\n[cut]"
    return ShellBlock(command=line, output=text, code=output.details.get("exit_code", int(output.is_error)))


def for_a_person(report: str) -> str:
    """A command's output, without the headings that its report has for a model."""
    _, heading, rest = report.partition(f"{STDOUT}\n")
    if not heading:
        return report.strip("\n")
    stdout, _, stderr = rest.rpartition(f"{STDERR}\n")
    return "\n".join(
        text for text in (part.strip("\n") for part in (stdout, stderr)) if text not in ("", NONE)
    )
