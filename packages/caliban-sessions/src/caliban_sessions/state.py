"""What a session is to its readers: two frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from caliban_common.message import Message
from caliban_common.usage import Usage


class ForkOrigin(Struct, frozen=True, kw_only=True):
    """Where a fork left another session.

    `session` is that one's name and `id` its id, which a later session of the same name does not have.
    `entry` is the id of its last message then, `None` when it had none: the messages up to it are in both,
    under the same ids.
    """

    session: str
    id: str
    entry: str | None


class SessionState(Struct, frozen=True, kw_only=True):
    """A whole session at one moment.

    `messages` is the live history, in order. The times are in UTC, to the millisecond. `todos` are plain data
    (`id`, `content`, `status`). `prefix` is what the last prompt began with, as short digests by part.
    `forked_from` names the session that this one was forked from, `workspace` the directory it was last used
    in. `title` is what a person called it, empty where nobody did; `labels` are theirs too. `spent` divides
    `total_usage` by `provider/model`, as far as that was written down. Nothing in here carries authority: a
    file can be edited, so rules and addresses never come from a session, nor a mode that allows more:
    `plan_mode` only forbids, and `pending` are ids of calls that wait for a person. `warnings` name what was
    damaged on disk and what was done about it; they do not count when two states are compared.
    """

    name: str
    id: str
    created_at: datetime
    updated_at: datetime
    provider: str = ""
    model: str = ""
    workspace: str = ""
    prefix: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    total_usage: Usage = field(default_factory=Usage)
    todos: tuple[Mapping[str, Any], ...] = ()
    plan_mode: bool = False
    pending: tuple[str, ...] = ()
    forked_from: ForkOrigin | None = None
    title: str = ""
    labels: tuple[str, ...] = ()
    spent: Mapping[str, Usage] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class SessionHead(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a list of sessions shows, read from the ends of the files only.

    `message_count` is `None` when the file does not say it up front (a foreign or a damaged file, or a
    session that was never closed); of one that is open or was killed, counts are those of its last close.
    `turn_count` counts the prompts. `problem` says what is wrong with the files, as far as their ends show
    it; it is empty for those of a session.
    """

    name: str
    created_at: datetime
    updated_at: datetime
    provider: str = ""
    model: str = ""
    workspace: str = ""
    total_usage: Usage = field(default_factory=Usage)
    spent: Mapping[str, Usage] = field(default_factory=dict)
    message_count: int | None = None
    turn_count: int | None = None
    forked_from: ForkOrigin | None = None
    title: str = ""
    labels: tuple[str, ...] = ()
    preview: str = ""
    size_bytes: int = 0
    id: str = ""
    problem: str = ""

    @property
    def shown_title(self) -> str:
        """What a person called it, else how its first prompt begins."""
        return self.title or self.preview
