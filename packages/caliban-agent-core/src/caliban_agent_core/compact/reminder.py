"""What a summary would lose and the work still needs: lists that hold, and the files that were at hand.

It is made of the calls in the history, and of the reminder that an earlier compaction left there: pure, and
the same after a session was resumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from caliban_agent_core.compact.summary import REMINDER, is_reminder, is_update
from caliban_agent_core.compact.transcript import middle_out
from caliban_common.canonical import canonical_arguments
from caliban_common.codec import dumps
from caliban_common.errors import DataError
from caliban_common.estimate import message_tokens
from caliban_common.message import Message, TextBlock, ToolResultBlock
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec

MAX_FILES: Final = 20
MAX_CONTENTS: Final = 3
CONTENT_CHARS: Final = 6000
"""How many files are named, of how many the text is shown again, and how much of each."""
_LINE: Final = r"- (read|changed): (.+)"
_LASTING: Final = r"- last call of ([\w-]+): (\{.*\})"


class _Memory(Struct, kw_only=True):
    """What the calls of a history come to: files in the order of their last use, and what lasts, by tool."""

    files: dict[str, str] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    lasting: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def use(self, path: str, how: str, content: str = "") -> None:
        """The file at `path` was `read` or `changed` now; one that was changed has no known text any more."""
        self.files.pop(path, None)
        self.files[path] = how
        self.contents.pop(path, None)
        if content:
            self.contents[path] = content


def reminder(
    before: Iterable[Message], after: Iterable[Message], tools: Iterable[ToolSpec], *, room_chars: int
) -> str:
    """What the history `after` a compaction should be told of the one `before`; empty where that is nothing.

    `tools` say what their calls mean. Of texts of files no more is shown than fits `room_chars`.
    """
    specs = {tool.name: tool for tool in tools}
    known, there = _memory(before, specs), _memory(after, specs)
    files = {path: how for path, how in known.files.items() if path not in there.files}
    lasting = {name: args for name, args in known.lasting.items() if name not in there.lasting}
    lines = [f"- last call of {name}: {dumps(dict(args)).decode()}" for name, args in lasting.items()]
    lines += (f"- {how}: {path}" for path, how in list(files.items())[-MAX_FILES:])
    if not lines:
        return ""
    text = "\n".join(
        (REMINDER, "What was said before is a summary now. Files and lists that still hold:", *lines)
    )
    shown = [path for path in files if path in known.contents][-MAX_CONTENTS:]
    for path in reversed(shown):
        content = middle_out(known.contents[path], CONTENT_CHARS)
        if len(text) + len(content) > room_chars:
            break
        text += f"\n\n{path}, as it was read:\n{content}"
    return f"{text}\n</after_compaction>"


def lasting_updates(
    before: Iterable[Message], after: Iterable[Message], *, room_tokens: int
) -> tuple[Message, ...]:
    """What `before` tells the model to hold on to and `after` lacks, the newest as far as they fit."""
    there = {message.id for message in after}
    kept: list[Message] = []
    for message in reversed(tuple(before)):
        if message.role != "user" or message.id in there or not is_update(message.text):
            continue
        room_tokens -= message_tokens(message)
        if room_tokens < 0:
            break
        kept.append(message)
    return tuple(reversed(kept))


def _memory(messages: Iterable[Message], specs: Mapping[str, ToolSpec]) -> _Memory:
    memory = _Memory()
    calls: dict[str, tuple[ToolSpec, Mapping[str, Any]]] = {}
    for message in messages:
        if message.role == "assistant":
            calls = {
                call.id: (specs[call.name], canonical_arguments(specs[call.name], call.input))
                for call in message.tool_uses
                if call.name in specs and call.raw_input is None
            }
            continue
        if message.role == "user" and is_reminder(message.text):
            _recall(memory, message.text)
        for result in message.tool_results:
            if result.tool_use_id in calls and not result.is_error:
                _note(memory, *calls[result.tool_use_id], result)
    return memory


def _note(memory: _Memory, spec: ToolSpec, args: Mapping[str, Any], result: ToolResultBlock) -> None:
    if spec.lasts:
        memory.lasting[spec.name] = args
    for name, role in spec.roles.items():
        path = args.get(name)
        if role in ("reads", "writes") and isinstance(path, str) and one_line(path, max_chars=1000) == path:
            words = "".join(part.text for part in result.content if isinstance(part, TextBlock))
            memory.use(path, "read", words) if role == "reads" else memory.use(path, "changed")


def _recall(memory: _Memory, text: str) -> None:
    """Take over what an earlier reminder says."""
    for line in text.split("\n")[1:]:
        if not line.startswith("- ") and not line.endswith(":"):
            break
        if (match := re.fullmatch(_LINE, line)) is not None:
            memory.use(match[2], match[1])
        elif (match := re.fullmatch(_LASTING, line)) is not None:
            try:
                memory.lasting[match[1]] = json.loads(match[2])
            except (ValueError, RecursionError, DataError):
                continue
