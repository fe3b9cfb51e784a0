"""A session as a transcript of Claude Code, as far as the session helpers of its Agent SDK read one.

They look for `projects/KEY/UUID.jsonl`, take a title and a tag from lines of their own, and follow
`parentUuid` from the last message to the first. System prompts have no place there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from unicodedata import normalize
from uuid import NAMESPACE_URL, UUID, uuid5

from caliban_common.codec import message_to_json
from caliban_common.message import Message
from caliban_common.text import clean
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.export.script import Script, Step
from caliban_sessions.state import SessionState

VERSION: Final = "caliban/1"
"""By this member, its first one, a line says who wrote it."""
MARK: Final = f'{{"version":"{VERSION}"'.encode()
"""How a mirrored file begins."""
KEPT: Final = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document")
MAX_KEY_CHARS: Final = 200
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_key(directory: str) -> str:
    """What the folder of the sessions of `directory`, a resolved path, is called."""
    path = normalize("NFC", directory)
    key = re.sub(r"[^A-Za-z0-9]", "-", path)
    return key if len(key) <= MAX_KEY_CHARS else f"{key[:MAX_KEY_CHARS]}-{_hash36(path)}"


def transcript_id(state: SessionState) -> str:
    """The UUID of the session: its own id where that is one, else one that is made of it."""
    try:
        return str(UUID(state.id))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"caliban-session:{state.id}:{stamp.to_text(state.created_at)}"))


def as_transcript(script: Script) -> str:
    """One JSON object a line, each with compact separators, which the helpers rely on."""
    return _text(_lines(script))


def transcript_line(state: SessionState, step: Step, parent: str | None) -> tuple[str, str] | None:
    """The line of one message behind that with the id `parent`, and its id; `None` for one that has none."""
    line = _line(state, transcript_id(state), step, parent)
    return None if line is None else (_text([line]), line["uuid"])


def _text(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(
        clean(json.dumps(line, ensure_ascii=False, separators=(",", ":"))) + "\n" for line in lines
    )


def _line(state: SessionState, session: str, step: Step, parent: str | None) -> dict[str, Any] | None:
    body = _body(step)
    if body is None:
        return None
    return {
        "version": VERSION,
        "parentUuid": parent,
        "isSidechain": False,
        "type": step.message.role,
        "message": body,
        "uuid": str(uuid5(UUID(session), step.message.id)),
        "timestamp": stamp.to_text(step.at or state.updated_at),
        "cwd": state.workspace,
        "sessionId": session,
        "gitBranch": "",
    }


def _lines(script: Script) -> Iterator[dict[str, Any]]:
    state, session = script.state, transcript_id(script.state)
    parent: str | None = None
    for step in script.steps:
        line = _line(state, session, step, parent)
        if line is not None:
            yield line
            parent = line["uuid"]
    if state.title:
        yield {"type": "custom-title", "customTitle": state.title, "sessionId": session}
    if state.labels:
        yield {"type": "tag", "tag": state.labels[0], "sessionId": session}


def _body(step: Step) -> dict[str, Any] | None:
    """The vendor's form of a message; `None` for one without anything that it holds."""
    message = step.message
    content = _content(message)
    if message.role == "system" or not content:
        return None
    if message.role == "user":
        return {"role": "user", "content": content}
    return {
        "id": message.id,
        "type": "message",
        "role": "assistant",
        "model": message.model or "",
        "content": content,
        "stop_reason": "tool_use" if message.tool_uses else "end_turn",
        "stop_sequence": None,
        "usage": _usage(step.usage or Usage()),
    }


def _content(message: Message) -> list[dict[str, Any]]:
    blocks = message_to_json(message)["content"]
    return [
        {name: value for name, value in block.items() if name != "raw_input"}
        for block in blocks
        if block.get("type") in KEPT
    ]


def _usage(usage: Usage) -> dict[str, int]:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }


def _hash36(text: str) -> str:
    """The rolling hash of its characters in 32 bits, without its sign, in base 36."""
    value = 0
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >= 1 << 31 else value)
    digits = ""
    while value or not digits:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits
