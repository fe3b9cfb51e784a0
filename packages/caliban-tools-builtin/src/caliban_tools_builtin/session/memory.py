"""ReadMemoryTopic and WriteMemoryTopic: notes for later sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.arguments import Arguments
from caliban_common.errors import CalibanError
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import off_loop
from caliban_tools_builtin.errors import ToolFailed
from caliban_tools_builtin.session.ports import TopicNote, TopicStore


class ReadMemoryTopic:
    """The tool ReadMemoryTopic."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The note: it is not read while it is written."""
        return _key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Read the note; see `Tool`."""
        return await off_loop(lambda: self._read(args))

    def _read(self, args: Mapping[str, Any]) -> ToolOutput:
        name = Arguments(args, known=("name",)).string("name")
        try:
            note = self._store.read(name)
        except CalibanError as error:
            raise ToolFailed(error.message) from error
        return ToolOutput.of(f"→ Note {note.name} ({note.type}): {note.description}\n\n{note.body}")


class WriteMemoryTopic:
    """The tool WriteMemoryTopic."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The note; the index has a lock of its own."""
        return _key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Keep the note; see `Tool`."""
        return await off_loop(lambda: self._write(args, context))

    def _write(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        given = Arguments(args, known=("name", "description", "type", "body"))
        note = TopicNote(
            name=given.string("name"),
            description=given.string("description"),
            type=given.string("type"),
            body=given.string("body"),
        )
        try:
            is_new = self._store.write(note, session=context.session_id)
        except CalibanError as error:
            raise ToolFailed(error.message) from error
        verb = "kept" if is_new else "replaced"
        return ToolOutput.of(f"→ Note {note.name} is {verb}", details={"name": note.name, "new": is_new})


def _key(args: Mapping[str, Any]) -> str:
    return f"memory:{args.get('name')}"
