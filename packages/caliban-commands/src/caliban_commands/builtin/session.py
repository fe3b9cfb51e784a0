"""Commands about the conversation itself."""

from __future__ import annotations

import math
import re
from typing import Final

from caliban_commands.answer import (
    ClearTranscript,
    CommandAnswer,
    CopyText,
    Quit,
    RepeatPrompt,
    ShownText,
)
from caliban_commands.command import SlashContext
from caliban_commands.costs import cost_table
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.event import HistoryReplaced, Warned
from caliban_common.text import one_line, plural
from caliban_drive.session import Session

REPEATS: Final = 3
INTERVAL_S: Final = 15.0
MAX_REPEATS: Final = 1000
MAX_INTERVAL_S: Final = 86_400.0
FLAG: Final = r"(?<!\S)--\S*[ \t]*"


async def clear(context: SlashContext, arguments: str) -> CommandAnswer:
    """Begin again behind the system prompt."""
    no_arguments("clear", arguments)
    cleared = context.session.clear()
    words = "nothing was said yet" if cleared is None else "the conversation begins again"
    return CommandAnswer.of(words, ClearTranscript())


async def compact(context: SlashContext, arguments: str) -> CommandAnswer:
    """Summarise the conversation now."""
    no_arguments("compact", arguments)
    compacted = await context.session.compact()
    if not compacted.is_done:
        words = [event.message for event in compacted.events if isinstance(event, Warned)]
        raise CommandError(words[-1] if words else "there is nothing to summarise yet")
    sizes = [
        (event.tokens_before, event.tokens_after)
        for event in compacted.events
        if isinstance(event, HistoryReplaced) and event.tokens_before
    ]
    note = f" (about {sizes[-1][0]:,} tokens are {sizes[-1][1]:,} now)" if sizes else ""
    shown = ShownText(markdown=f"the conversation is a summary now{note}; /undo puts it back")
    return CommandAnswer(parts=(shown,), events=compacted.events)


async def undo(context: SlashContext, arguments: str) -> CommandAnswer:
    """Take the summaries back."""
    no_arguments("undo", arguments)
    event = context.session.undo_compaction()
    if event is None:
        raise CommandError("nothing of this conversation was summarised, or what was is not known any more")
    count = sum(message.role != "system" for message in event.messages)
    return CommandAnswer.of(f"what was summarised is there again: {plural(count, 'message')}")


async def cost(context: SlashContext, arguments: str) -> CommandAnswer:
    """What this run has cost so far, per model."""
    no_arguments("cost", arguments)
    agents = tuple(
        f"of that the agent {one_line(name, max_chars=60)}: {'?' if usd is None else f'${usd:.4f}'}"
        for name, _, usd in context.costs.by_agent()
    )
    costs = context.costs
    return CommandAnswer(parts=(cost_table(costs.by_model(), costs.total_usd(), notes=agents),))


async def copy(context: SlashContext, arguments: str) -> CommandAnswer:
    """Put an answer on the clipboard, as the model wrote it."""
    if arguments and (not arguments.isascii() or not arguments.isdigit() or len(arguments) > 4):
        raise BadArguments("/copy takes a number: 1 is the last answer, 2 the one before")
    number = int(arguments or 1)
    answers = [
        message.text
        for message in reversed(context.session.messages)
        if message.role == "assistant" and message.text.strip()
    ]
    if not 0 < number <= len(answers):
        raise CommandError(f"there is no answer {number}: {plural(len(answers), 'answer')} so far")
    text = answers[number - 1]
    return CommandAnswer.of(f"{len(text):,} characters are on the clipboard", CopyText(text=text))


async def loop(context: SlashContext, arguments: str) -> CommandAnswer:
    """Send a prompt repeatedly; the usual limits hold for each."""
    count, interval_s = REPEATS, INTERVAL_S
    for flag in map(str.strip, re.findall(FLAG, arguments)):
        name, _, value = flag.partition("=")
        if name == "--n":
            count = int(_bounded(name, value, 1, MAX_REPEATS, whole=True))
        elif name == "--interval":
            interval_s = _bounded(name, value, 0, MAX_INTERVAL_S)
        else:
            shown = one_line(flag, max_chars=60)
            raise BadArguments(f"/loop does not know {shown}", hint="/loop [--n=COUNT] [--interval=SECONDS]")
    prompt = re.sub(FLAG, "", arguments).strip()
    has_prompt = any(m.role == "user" and m.text and not m.tool_results for m in context.session.messages)
    if not prompt and not has_prompt:
        raise CommandError("there is no prompt yet to be sent again", hint="/loop [prompt] says one")
    effect = RepeatPrompt(count=count, interval_s=interval_s, text=prompt)
    return CommandAnswer.of(
        f"{plural(count, 'time')} more, {interval_s:g} s apart; an interrupt ends it", effect
    )


async def leave(context: SlashContext, arguments: str) -> CommandAnswer:
    """Leave the program."""
    no_arguments("quit", arguments)
    return CommandAnswer(effect=Quit())


def has_said(session: Session) -> bool:
    """Whether anything was said in it."""
    return any(message.role != "system" for message in session.messages)


def no_arguments(name: str, arguments: str) -> None:
    """Raise `BadArguments` where a command that takes no arguments was given some."""
    if arguments:
        raise BadArguments(f"/{name} takes no words, and got {one_line(arguments, max_chars=60)!r}")


def _bounded(flag: str, text: str, least: float, most: float, *, whole: bool = False) -> float:
    try:
        value = float(text) if len(text) < 20 else math.nan
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and not value.is_integer()):
        shown = one_line(text, max_chars=40)
        raise BadArguments(f"{flag} is a number from {least:g} to {most:,.0f}, not {shown!r}")
    return value
