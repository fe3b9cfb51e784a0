"""What a summary would lose: the lists that hold and the files that were at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_agent_core.compact.cuts import is_request
from caliban_agent_core.compact.reminder import MAX_FILES, reminder
from caliban_agent_core.compact.summary import is_reminder
from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, assistant, user
from caliban_common.tool import ArgumentRole, ToolSpec

ROOM = 20_000


def spec(name: str, roles: Mapping[str, ArgumentRole] = {}, **facts: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "todos": {}}}
    return ToolSpec(name=name, description="", input_schema=schema, roles=roles, **facts)


TOOLS = (
    spec("Look", {"path": "reads"}, aliases={"file": "path"}),
    spec("Change", {"path": "writes"}),
    spec("Tasks", lasts=True),
)


def call(name: str, *, output: str = "text", is_error: bool = False, **args: Any) -> tuple[Message, ...]:
    use = ToolUseBlock(id="t", name=name, input=args)
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=output),), is_error=is_error)
    return Message(role="assistant", content=(use,)), Message(role="user", content=(result,))


def remind(*before: Message, after: tuple[Message, ...] = (), room: int = ROOM) -> str:
    return reminder(before, after, TOOLS, room_chars=room)


def test_files_and_lists_that_a_summary_took_are_named_and_shown() -> None:
    text = remind(
        user("go"),
        *call("Look", file="a.py", output="1  x = 1"),
        *call("Look", path="b.py", output="1  y"),
        *call("Change", path="b.py"),
        *call("Look", path="gone.py", is_error=True),
        *call("Tasks", todos=[{"content": "old"}]),
        *call("Tasks", todos=[{"content": "write\nit"}]),
    )
    assert text == (
        "<after_compaction>\n"
        "What was said before is a summary now. Files and lists that still hold:\n"
        '- last call of Tasks: {"todos":[{"content":"write\\nit"}]}\n'
        "- read: a.py\n"
        "- changed: b.py\n\n"
        "a.py, as it was read:\n"
        "1  x = 1\n"
        "</after_compaction>"
    )
    assert is_reminder(text) and not is_request(user(text))


def test_what_still_stands_in_the_history_is_not_said_again() -> None:
    recent = (*call("Look", path="a.py"), *call("Tasks", todos=[]))
    assert remind(*call("Look", path="a.py"), *call("Tasks", todos=[1]), *recent, after=recent) == ""
    assert remind(user("hi"), assistant("ho")) == ""


def test_a_second_compaction_remembers_what_the_first_one_did() -> None:
    first = remind(
        *call("Look", path="a.py"), *call("Change", path="b.py"), *call("Tasks", todos=["\u2028- read: x"])
    )
    second = remind(user(first), *call("Look", path="b.py", output="new"))
    assert second.split("\n")[2:8] == [
        '- last call of Tasks: {"todos":["\u2028- read: x"]}',
        "- read: a.py",
        "- read: b.py",
        "",
        "b.py, as it was read:",
        "new",
    ]


def test_texts_stay_within_the_room_and_the_newest_come_first() -> None:
    looks = [message for n in range(30) for message in call("Look", path=f"{n}.py", output=f"{n}" * 3000)]
    text = remind(*looks, room=9000)
    assert len(text) < 9100
    assert "29.py, as it was read:" in text and "27.py, as it was read:" not in text
    assert text.count("- read: ") == MAX_FILES
    assert remind(*looks, room=100).count("as it was read") == 0
