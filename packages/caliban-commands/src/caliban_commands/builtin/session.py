"""Commands on the conversation itself."""

from __future__ import annotations

from caliban_commands.answer import CommandAnswer, Quit, ShownTable
from caliban_commands.command import SlashContext
from caliban_commands.errors import CommandError
from caliban_common.event import Warned


async def compact(context: SlashContext, arguments: str) -> CommandAnswer:
    """Summarise the conversation now."""
    compacted = await context.session.compact()
    if not compacted.is_done:
        words = [event.message for event in compacted.events if isinstance(event, Warned)]
        raise CommandError(words[-1] if words else "there is nothing to summarise yet")
    return CommandAnswer.of("The conversation is a summary now; the whole of it stays in the session.")


async def cost(context: SlashContext, arguments: str) -> CommandAnswer:
    """What the session has cost so far, per model."""
    rows = tuple(
        (model, f"{usage.input_tokens:,}", f"{usage.output_tokens:,}", "?" if usd is None else f"${usd:.4f}")
        for model, usage, usd in context.costs.by_model()
    )
    table = ShownTable(
        columns=("Model", "Input", "Output", "Cost"),
        rows=rows,
        notes=(f"in all ${context.costs.total_usd():.4f}",),
    )
    return CommandAnswer(parts=(table,))


async def leave(context: SlashContext, arguments: str) -> CommandAnswer:
    """Leave the program."""
    return CommandAnswer(effect=Quit())
