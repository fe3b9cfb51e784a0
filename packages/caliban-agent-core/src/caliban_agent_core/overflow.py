"""The cap on what one tool result may put before the model; the rest goes to a file (behaviours 2.4, A17)."""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from caliban_agent_core.compact.summary import is_summary
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, write_atomic
from caliban_common.message import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.text import clean, one_line
from caliban_common.tool import ToolOutput

KEPT_CHARS = 2048
"""How much of the beginning, and of the end, stays with the model at most."""

NAME_CHARS = 80
UNSAFE = r"[^A-Za-z0-9_-]"
DEVICES = r"(?i)(con|prn|aux|nul|com\d|lpt\d)"


def cap_output(
    output: ToolOutput,
    *,
    cap_chars: int,
    directory: Path | None,
    session_id: str,
    tool_use_id: str | Callable[[str], str],
    stores: bool = True,
) -> ToolOutput:
    """`output` with at most about `cap_chars` characters of text; 0 is no cap. Images and documents stay.

    What is longer becomes a note and, as far as the cap leaves room, the first and last `KEPT_CHARS`
    characters. The whole text goes to `<directory>/<session_id>/<tool_use_id>.txt`, for its owner only; that
    it cannot be written is told in the note and is no error. With `stores` false it is named and not written.
    What gives the `tool_use_id` of the text is asked only where it is needed.
    The result is never longer than `cap_chars` or the note alone, whichever is more. Blocks while it writes.
    """
    if cap_chars <= 0 or sum(len(b.text) for b in output.content if isinstance(b, TextBlock)) <= cap_chars:
        return output
    text = output.text
    id = tool_use_id if isinstance(tool_use_id, str) else tool_use_id(text)
    path = None if directory is None else directory / file_name(session_id) / f"{file_name(id)}.txt"
    note = _note(text, path, stores=stores)
    shown = _shortened(text, note, cap_chars)
    shows = (block for block in output.content if not isinstance(block, TextBlock))
    return replace(output, content=(TextBlock(text=shown), *shows))


def own_id(
    tool_use_id: str,
    text: str,
    messages: Sequence[Message],
    calls: Iterable[ToolUseBlock] = (),
    *,
    is_alone: bool,
) -> str:
    """An id for the file of `text` that no other result has: `tool_use_id` itself where `is_free` says so."""
    is_own = is_free(tool_use_id, messages, calls, is_alone=is_alone)
    return tool_use_id if is_own else marked(tool_use_id, text)


def is_free(
    tool_use_id: str, messages: Sequence[Message], calls: Iterable[ToolUseBlock] = (), *, is_alone: bool
) -> bool:
    """Whether `tool_use_id` can name one result only: of those in `messages` and of `calls` none has it.

    Some servers count their calls anew in every reply: the file that an older note names must stay its own.
    Nobody knows which ids were taken where others write as well (not `is_alone`), or a summary stands for a
    part of the conversation.
    """
    if not is_alone or any(map(is_summary, messages)):
        return False
    before = {result.tool_use_id for message in messages for result in message.tool_results}
    return tool_use_id not in before and all(call.id != tool_use_id for call in calls)


def marked(tool_use_id: str, text: str) -> str:
    """An id that is told from others of its name by what it stands for."""
    return f"{tool_use_id}#{crc32(clean(text).encode()):08x}"


def cap_history(
    messages: tuple[Message, ...],
    *,
    cap_chars: int,
    directory: Path | None,
    session_id: str,
    is_alone: bool = True,
) -> tuple[Message, ...]:
    """`messages` of an earlier process with each result within its cap, as `cap_output` has it on arrival.

    `is_alone` says that no other conversation goes by this `session_id`.
    """

    def capped(block: Block, number: int) -> Block:
        if not isinstance(block, ToolResultBlock):
            return block
        output = ToolOutput(content=block.content)
        short = cap_output(
            output,
            cap_chars=cap_chars,
            directory=directory,
            session_id=session_id,
            tool_use_id=lambda text: own_id(block.tool_use_id, text, messages[:number], is_alone=is_alone),
        )
        return block if short is output else replace(block, content=short.content)

    def within(number: int, message: Message) -> Message:
        if not message.tool_results:
            return message
        content = tuple(capped(block, number) for block in message.content)
        same = all(one is other for one, other in zip(content, message.content, strict=True))
        return message if same else replace(message, content=content)

    return tuple(within(number, message) for number, message in enumerate(messages))


def file_name(wanted: str) -> str:
    """`wanted`, an id from outside, as a name that is safe in every file system and stays the same.

    Plain ids stay as they are; any other is cleaned and gets a checksum, so that two rarely meet.
    """
    plain = re.sub(UNSAFE, "_", wanted)[:NAME_CHARS]
    if plain and plain == wanted and not re.fullmatch(DEVICES, plain):
        return plain
    checksum = f"{crc32(clean(wanted).encode()):08x}"
    return f"{plain[: NAME_CHARS - len(checksum) - 1] or 'unnamed'}-{checksum}"


def _note(text: str, path: Path | None, *, stores: bool) -> str:
    head = f"[truncated: {len(text)} chars"
    if path is None:
        return f"{head} in all]"
    try:
        if stores:
            ensure_private_dir(path.parent)
            write_atomic(path, clean(text).encode("utf-8"), mode=0o600, durable=False)
    except CalibanError as error:
        return f"{head} in all; the whole text could not be stored: {one_line(error.message, max_chars=300)}]"
    return f"{head} in all; the whole text is in {path}]"


def _shortened(text: str, note: str, cap_chars: int) -> str:
    cut = "\n[…]\n"
    room = cap_chars - len(note) - len(cut) - 1
    kept = min(KEPT_CHARS, room // 2)
    if kept <= 0:
        return note
    return f"{note}\n{text[:kept]}{cut}{text[-kept:]}"
