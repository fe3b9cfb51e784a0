"""A transcript of Claude Code as a session (protocols of the Agent SDK, session files).

Each line is an entry. The model's blocks come one to an entry with the same message id, the results of its
calls one to an entry too: both are put together again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from caliban_common.codec import message_from_json, usage_to_json
from caliban_common.errors import DataError
from caliban_common.message import Block, Message, ToolResultBlock
from caliban_common.text import clean, one_line
from caliban_common.usage import Usage, told_count
from caliban_sessions import stamp
from caliban_sessions.intake.lines import SAID, TranscriptEntry, conversation, entries_in
from caliban_sessions.intake.taken import Omissions, Taken
from caliban_sessions.name import is_name
from caliban_sessions.record import MAX_LABEL_CHARS, MAX_TITLE_CHARS
from caliban_sessions.state import SessionState

PROVIDER: Final = "anthropic"
SYNTHETIC: Final = "<synthetic>"
FACTS: Final = ("custom-title", "ai-title", "summary", "tag")
"""Entries that say something of the session; the last of each counts."""


def read_claude(data: bytes) -> Taken:
    """The conversation in the bytes of a `.jsonl` transcript. Raises `DataError` where there is none."""
    left_out = Omissions()
    entries = entries_in(data, left_out)
    chosen = conversation(entries, left_out)
    _name_others(entries, left_out)
    drafts = _drafts(chosen, left_out)
    if not drafts:
        raise DataError("there is no message in it")
    state = _state(entries, chosen, drafts)
    return Taken(
        state=state,
        facts={draft.id: draft.facts for draft in drafts if draft.facts},
        left_out=left_out.sentences(),
    )


class _Draft:
    """A message that is being put together."""

    def __init__(self, entry: TranscriptEntry, id: str, role: str) -> None:
        self.id = id
        self.role = role
        self.key = _message(entry).get("id") if role == "assistant" else None
        self.blocks: list[Block] = []
        model = _message(entry).get("model")
        self.model = model if isinstance(model, str) and model != SYNTHETIC else None
        self.usage: Usage | None = None
        self.at = stamp.from_text(entry.data.get("timestamp"))
        self.finished: dict[str, str] = {}

    def note_results(self, blocks: Sequence[Block], at: datetime | None) -> None:
        """The results among `blocks` came at `at`."""
        if at is not None:
            results = (block for block in blocks if isinstance(block, ToolResultBlock))
            self.finished.update((block.tool_use_id, stamp.to_text(at)) for block in results)

    @property
    def holds_results(self) -> bool:
        return any(isinstance(block, ToolResultBlock) for block in self.blocks)

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if self.at is not None:
            facts["at"] = stamp.to_text(self.at)
        if self.usage is not None:
            facts["usage"] = usage_to_json(self.usage)
        if self.finished:
            facts["finished"] = self.finished
        return facts

    def message(self) -> Message:
        is_reply = self.role == "assistant"
        return Message(
            role="assistant" if is_reply else "user",
            content=tuple(self.blocks),
            id=self.id,
            family=PROVIDER if is_reply else None,
            model=self.model if is_reply else None,
        )

    def continues(self, entry: TranscriptEntry, blocks: Sequence[Block]) -> bool:
        """Whether `entry` is a part of the same message."""
        if entry.type != self.role:
            return False
        if self.role == "assistant":
            return self.key is not None and _message(entry).get("id") == self.key
        return self.holds_results and all(isinstance(block, ToolResultBlock) for block in blocks)


def _drafts(chosen: Sequence[TranscriptEntry], left_out: Omissions) -> list[_Draft]:
    drafts: list[_Draft] = []
    taken: set[str] = set()
    for entry in chosen:
        blocks = list(_blocks(entry, left_out))
        if not blocks:
            continue
        if not drafts or not drafts[-1].continues(entry, blocks):
            id = clean(entry.id)[:100]
            if not id or id in taken:
                id = f"line{entry.line}"
            taken.add(id)
            drafts.append(_Draft(entry, id, entry.type))
        drafts[-1].blocks.extend(blocks)
        drafts[-1].usage = _usage(entry) or drafts[-1].usage
        drafts[-1].note_results(blocks, stamp.from_text(entry.data.get("timestamp")))
    return drafts


def _blocks(entry: TranscriptEntry, left_out: Omissions) -> Iterator[Block]:
    content = _message(entry).get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        left_out.add("a message without content", entry.line)
        return
    for raw in content:
        if isinstance(raw, dict) and raw.get("type") == "tool_result":
            _name_lost_parts(raw, entry, left_out)
        try:
            yield from message_from_json({"role": entry.type, "content": [raw]}).content
        except DataError:
            kind = raw.get("type") if isinstance(raw, dict) else type(raw).__name__
            left_out.add(f"a block of type {one_line(str(kind), max_chars=60)}", entry.line)


def _name_lost_parts(raw: Mapping[str, Any], entry: TranscriptEntry, left_out: Omissions) -> None:
    """Parts of results that results of ours do not hold are passed over by the codec: say so."""
    content = raw.get("content")
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "image", "document"):
            left_out.add(f"a part of a result of type {one_line(str(kind), max_chars=60)}", entry.line)


def _name_others(entries: Sequence[TranscriptEntry], left_out: Omissions) -> None:
    """Name what is no message of the conversation."""
    for entry in entries:
        if entry.is_aside:
            left_out.add("a message of a sub-agent", entry.line)
        elif entry.type not in (*SAID, *FACTS):
            subtype = entry.data.get("subtype")
            of = f" ({one_line(subtype, max_chars=40)})" if isinstance(subtype, str) else ""
            left_out.add(f"an entry of type {one_line(entry.type or '?', max_chars=60)}{of}", entry.line)


def _usage(entry: TranscriptEntry) -> Usage | None:
    """The tokens of a reply; the vendor counts those of the cache beside those of the prompt."""
    raw = _message(entry).get("usage")
    if not isinstance(raw, dict):
        return None
    fresh, written, read, output = (
        told_count(raw.get(name)) or 0
        for name in (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        )
    )
    return Usage(
        input_tokens=fresh + written + read,
        output_tokens=output,
        cache_write_tokens=written,
        cache_read_tokens=read,
    )


def _state(
    entries: Sequence[TranscriptEntry], chosen: Sequence[TranscriptEntry], drafts: Sequence[_Draft]
) -> SessionState:
    spent: dict[str, Usage] = {}
    for draft in drafts:
        if draft.usage is not None and draft.role == "assistant":
            name = f"{PROVIDER}/{draft.model or ''}"[:300]
            spent[name] = spent.get(name, Usage()) + draft.usage
    times = [draft.at for draft in drafts if draft.at is not None] or [datetime.now(UTC)]
    session_id = _last(chosen, "sessionId")
    title = next(filter(None, (_fact(entries, *fact) for fact in _TITLES)), "")
    tag = _fact(entries, "tag", "tag")
    return SessionState(
        name=session_id if is_name(session_id) else "",
        id=session_id[:100],
        created_at=min(times),
        updated_at=max(times),
        provider=PROVIDER,
        model=next((draft.model for draft in reversed(drafts) if draft.model), ""),
        workspace=_last(chosen, "cwd"),
        messages=tuple(draft.message() for draft in drafts),
        total_usage=sum(spent.values(), Usage()),
        spent=spent,
        title=one_line(title, max_chars=MAX_TITLE_CHARS),
        labels=(one_line(tag, max_chars=MAX_LABEL_CHARS),) if tag.strip() else (),
    )


_TITLES: Final = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))


def _fact(entries: Sequence[TranscriptEntry], type: str, member: str) -> str:
    return _last([entry for entry in entries if entry.type == type], member)


def _last(entries: Sequence[TranscriptEntry], member: str) -> str:
    values = (entry.data.get(member) for entry in reversed(entries))
    return clean(next((value for value in values if isinstance(value, str)), ""))


def _message(entry: TranscriptEntry) -> Mapping[str, Any]:
    message = entry.data.get("message")
    return message if isinstance(message, dict) else {}
