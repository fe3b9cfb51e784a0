"""What the specs of the tools of a session say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban_common.tool import ShownArgument
from caliban_tools_builtin.facts import SAID, ToolFacts, plain, sequence, text

STATUSES: Final = ("pending", "in_progress", "completed", "cancelled")
"""What can be said of a task."""

TOPIC_TYPES: Final = ("user", "feedback", "project", "reference")
"""What a note can be about."""

TOPIC_ALIASES: Final[Mapping[str, str]] = MappingProxyType({"slug": "name", "topic": "name"})

FACTS: Final[Mapping[str, ToolFacts]] = {
    "TodoWrite": ToolFacts(
        kind="session",
        needs="board",
        properties={
            "todos": sequence(
                {"id": plain("string"), "content": plain("string"), "status": plain("string", *STATUSES)},
                required=("content", "status"),
            )
        },
        required=("todos",),
        lasts=True,
        shows=(ShownArgument(name="todos", of="content", where=("status", "in_progress")),),
        aliases={"items": "todos", "tasks": "todos", "list": "todos"},
    ),
    "EnterPlanMode": ToolFacts(
        kind="session", needs="board", properties={}, extras=(*SAID, "plan"), begins_plan=True
    ),
    "ExitPlanMode": ToolFacts(
        kind="session",
        needs="board",
        properties={"plan": plain("string")},
        required=("plan",),
        ends_plan=True,
    ),
    "AskUser": ToolFacts(
        kind="session",
        needs="board",
        properties={
            "questions": sequence(
                {
                    "question": plain("string"),
                    "options": {"type": "array", "items": plain("string")},
                    "multi": plain("boolean"),
                },
                required=("question",),
            )
        },
        required=("questions",),
        shows=(ShownArgument(name="questions", of="question"),),
    ),
    "ReadMemoryTopic": ToolFacts(
        kind="read",
        needs="topics",
        properties={"name": plain("string")},
        required=("name",),
        repeat_key=("name",),
        aliases=TOPIC_ALIASES,
        deferred=True,
    ),
    "WriteMemoryTopic": ToolFacts(
        kind="session",
        needs="topics",
        properties={
            "name": plain("string"),
            "description": text("one line, at most 120 characters"),
            "type": plain("string", *TOPIC_TYPES),
            "body": plain("string"),
        },
        required=("name", "description", "type", "body"),
        aliases={**TOPIC_ALIASES, "content": "body"},
        extras=tuple(word for word in SAID if word != "description"),
        deferred=True,
        persists=True,
    ),
}
