"""What `export.data` wrote, as a session again."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from caliban_common.codec import message_from_json
from caliban_common.errors import DataError
from caliban_common.typed import fitting
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.entry import MAX_DEPTH, nested_beyond
from caliban_sessions.intake.taken import Omissions, Taken
from caliban_sessions.name import is_name
from caliban_sessions.record import SessionFile
from caliban_sessions.state import SessionState

FACTS: Final = ("at", "usage", "finished")


class Exported(SessionFile, frozen=True, kw_only=True):
    """The members of an export that are taken back."""

    form: str = ""
    version: int = 0


def read_exported(data: bytes) -> Taken:
    """The session in the bytes of a JSON export. Raises `DataError` where there is none."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"it is not JSON: {error}") from error
    if not isinstance(document, dict) or nested_beyond(document, MAX_DEPTH):
        raise DataError("it is no exported session")
    stored, remarks = fitting(document, Exported, what="the session")
    if stored.form != "caliban-session" or stored.version != 1 or stored.messages is None:
        raise DataError("it is no exported session of a form that this version knows")
    left_out = Omissions()
    messages, facts = [], {}
    for number, raw in enumerate(stored.messages, 1):
        try:
            message = message_from_json(raw)
        except DataError as error:
            left_out.add(f"message {number}: {error.message}", number)
            continue
        if message.id in facts:
            left_out.add("a message with the id of another one", number)
            continue
        messages.append(message)
        facts[message.id] = _facts(raw)
    if not messages:
        raise DataError("there is no message in it")
    begun = stamp.from_text(stored.created_at) or stamp.now()
    state = SessionState(
        name=stored.name if stored.name is not None and is_name(stored.name) else "",
        id="",
        created_at=begun,
        updated_at=stamp.from_text(stored.updated_at) or begun,
        provider=stored.provider or "",
        model=stored.model or "",
        workspace=stored.workspace or "",
        messages=tuple(messages),
        total_usage=stored.total_usage or Usage(),
        spent=stored.spent or {},
        todos=stored.todos or (),
        plan_mode=stored.plan_mode or False,
        forked_from=stored.forked_from,
        title=stored.title or "",
        labels=stored.labels or (),
    )
    return Taken(state=state, facts=facts, left_out=(*remarks, *left_out.sentences()))


def _facts(raw: Any) -> dict[str, Any]:
    return {name: raw[name] for name in FACTS if name in raw}
