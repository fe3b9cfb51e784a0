"""`caliban memory`: files of instructions and notes, for the person who looks after them."""

from __future__ import annotations

import os

from caliban.cli.invocation import Invocation
from caliban.commands.memory.imports import imports
from caliban.commands.report import report
from caliban.compose.memory.options import memory_options
from caliban.compose.memory.places import MemoryPlaces, memory_places
from caliban.compose.memory.run import RunMemory
from caliban.compose.project import build_settings
from caliban.compose.workspace import build_workspace
from caliban.errors import MissingError, UsageError
from caliban.stdio import print_text
from caliban_common.text import one_line, plural
from caliban_memory import MemorySet, TopicMissing, TopicRefused, Topics, edit_path, memory_rows, summary
from caliban_memory.operations import topic_line

NAMED = ("show", "path", "rm")
OF_IMPORTS = ("imports", "approve", "revoke")


def memory(invocation: Invocation) -> int:
    """Do what the verb says. Raises `UsageError`, `MissingError` and `MemoryFailed`."""
    options, verb, name = invocation.options, invocation.values["verb"], invocation.values["name"]
    workspace = build_workspace(options.workspace.workspace)
    settings = build_settings(options.settings, workspace)
    places = memory_places(options, settings, workspace, os.environ)
    assert places is not None, "no flag of this command replaces the system prompt"
    if verb in OF_IMPORTS:
        return imports(invocation, places)
    if (name is not None) != (verb in NAMED):
        raise UsageError(f"memory {verb} takes {'the name of a note' if verb in NAMED else 'no name'}")
    if verb == "list":
        return print_text(memory_text(places, RunMemory(places, workspace, report)))
    try:
        return print_text(note_text(verb, name, places))
    except TopicMissing as error:
        raise MissingError(error.message) from error
    except TopicRefused as error:
        raise UsageError(error.message) from error


def note_text(verb: str, name: str, places: MemoryPlaces) -> str:
    """What a verb other than `list` does and says. Raises `MissingError` and the errors of `Topics`."""
    if verb == "path":
        return f"{edit_path(name, memory_options(places))}\n"
    if places.auto_dir is None:
        raise MissingError("there are no notes: they are switched off")
    topics = Topics(places.auto_dir)
    if verb == "show":
        topic = topics.read(name)
        return f"{topic_line(topic)}\n\n{topic.body}\n"
    if verb == "rm":
        topics.delete(name)
        return f"{name} is removed\n"
    return f"the index has {plural(topics.rebuild(), 'note')}\n"


def memory_text(places: MemoryPlaces, told: RunMemory) -> str:
    """The files that are told, with their sizes, and the notes."""
    files = told.found or MemorySet()
    rows = [
        f"{row.tier:<8} {one_line(str(row.path))} ({row.tokens:,} tokens{_more(row.cut_bytes, row.patterns)})"
        for row in memory_rows(files)
    ]
    rows += [f"left out {summary(note)}" for note in files.left_out if not note.matters]
    lines = "\n".join(rows) or "no files of instructions and no notes"
    if places.auto_dir is None:
        return f"{lines}\n\nnotes are switched off\n"
    topics = Topics(places.auto_dir)
    notes = [topic_line(topic) for topic in topics.list()] + [f"broken: {words}" for words in topics.broken()]
    head = f"notes in {places.auto_dir}: {len(notes) or 'none'}"
    return "\n".join((lines, "", head, *(f"  {note}" for note in notes))) + "\n"


def _more(cut_bytes: int, patterns: tuple[str, ...]) -> str:
    cut = f", {cut_bytes:,} bytes cut" if cut_bytes else ""
    return f"{cut}, waits for {one_line(', '.join(patterns), max_chars=80)}" if patterns else cut
