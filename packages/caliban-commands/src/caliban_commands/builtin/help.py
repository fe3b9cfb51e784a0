"""`/help`: the commands of a registry by their groups, or one of them."""

from __future__ import annotations

from caliban_commands.answer import CommandAnswer, OpenView, ShownTable
from caliban_commands.command import EVERYWHERE, GROUPS, SlashCommand, SlashContext
from caliban_commands.errors import UnknownCommand
from caliban_commands.registry import CommandRegistry
from caliban_common.near import did_you_mean
from caliban_common.text import one_line

MAX_WORDS = 100


def help_command(registry: CommandRegistry) -> SlashCommand:
    """The row of `/help` for `registry`, which it is to be added to."""

    async def show(context: SlashContext, arguments: str) -> CommandAnswer:
        name = arguments.removeprefix("/")
        return _one(registry, name) if name else _all(registry)

    return SlashCommand(
        name="help",
        summary="list the commands, or say what one does",
        group="Diagnostics",
        run=show,
        arguments="[command]",
        places=EVERYWHERE,
        opens="bare",
        complete=lambda start: tuple(row.name for row in registry if row.name.startswith(start)),
    )


def _all(registry: CommandRegistry) -> CommandAnswer:
    rows = [row for row in registry if not row.hidden]
    parts = []
    for group in GROUPS:
        lines = tuple(_line(row) for row in rows if row.group == group)
        if lines:
            parts.append(ShownTable(title=group, columns=("", ""), rows=lines))
    return CommandAnswer(parts=tuple(parts), effect=OpenView(view="help"))


def _line(row: SlashCommand) -> tuple[str, str]:
    later = " (not part of this version)" if row.later else ""
    call = f"/{row.name} {row.arguments}".rstrip()
    return f"  {one_line(call, max_chars=60)}", one_line(row.summary, max_chars=MAX_WORDS) + later


def _one(registry: CommandRegistry, name: str) -> CommandAnswer:
    row = registry.find(name)
    if row is None:
        near = did_you_mean(name, [row.name for row in registry], sign="/")
        shown = one_line(name, max_chars=80)
        raise UnknownCommand(f"there is no command /{shown}", hint=near or "/help lists all")
    lines = [f"/{row.name} {row.arguments}".rstrip(), row.summary]
    if row.aliases:
        lines.append(f"also {', '.join(f'/{alias}' for alias in row.aliases)}")
    if row.source != "built-in":
        lines.append(f"comes from: {row.source}")
    if row.later:
        lines.append(f"not part of this version: {row.later}")
    elif "headless" not in row.places:
        lines.append(f"on the terminal only; else: {row.instead}" if row.instead else "on the terminal only")
    return CommandAnswer.of("\n".join(lines))
