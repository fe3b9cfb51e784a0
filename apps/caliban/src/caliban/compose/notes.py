"""The notes of a run: what the tools that keep them work on, without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from caliban_common.mask import Masker
from caliban_memory import Topic, Topics
from caliban_memory.topics import TopicType
from caliban_tools_builtin.session.ports import TopicNote


class Notes:
    """Notes in one directory. No note holds a secret that `masker` knows."""

    def __init__(self, directory: Path, masker: Masker) -> None:
        self._topics = Topics(directory)
        self._masker = masker

    def read(self, name: str) -> TopicNote:
        """See `TopicStore`."""
        topic = self._topics.read(name)
        return TopicNote(name=topic.name, description=topic.description, type=topic.type, body=topic.body)

    def write(self, note: TopicNote, *, session: str) -> bool:
        """See `TopicStore`."""
        mask = self._masker.text
        topic = Topic(
            name=note.name,
            description=mask(note.description),
            type=cast(TopicType, note.type),
            body=mask(note.body),
            session=session,
        )
        return self._topics.write(topic)
