"""`/memory`: files of instructions and notes."""

from __future__ import annotations

from caliban.commands.memory.list import memory_text, note_text
from caliban.compose.app import App
from caliban.compose.memory.run import RunMemory
from caliban_commands.answer import CommandAnswer, EditFile
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_drive.notice import Report
from caliban_memory import TopicMissing, TopicRefused

VERBS = ("list", "show", "edit", "delete")


async def memory(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the files of instructions and notes; show, edit or delete one note."""
    places = app.memory.places
    if places is None:
        raise CommandError("this run is without memory: a flag leaves it out")
    verb, _, name = arguments.partition(" ")
    verb, name = verb or "list", name.strip()
    if verb not in VERBS:
        near = did_you_mean(verb, VERBS)
        shown = one_line(verb, max_chars=40)
        raise BadArguments(
            f"/memory does not know {shown!r}", hint=f"{near} /memory [{'|'.join(VERBS)}] [note]"
        )
    if bool(name) != (verb != "list"):
        raise BadArguments(f"/memory {verb} takes {'no name' if verb == 'list' else 'the name of a note'}")
    report: Report = app.reporter
    if verb == "list":
        return CommandAnswer.of(memory_text(places, RunMemory(places, app.workspace, report)).rstrip())
    verb = {"edit": "path", "delete": "rm"}.get(verb, verb)
    try:
        text = note_text(verb, name, places).rstrip()
    except (TopicMissing, TopicRefused) as error:
        raise CommandError(error.message, hint=error.hint or "/memory lists them") from error
    return CommandAnswer.of(text, EditFile(path=text) if verb == "path" else None)
