"""Which sessions speak of something: words looked up in prompts and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from caliban_common.message import Message
from caliban_common.text import one_line
from caliban_sessions.errors import SessionError
from caliban_sessions.files import SessionFiles
from caliban_sessions.state import SessionHead
from caliban_sessions.store import SessionStore

EXCERPT_CHARS: Final = 120
BEFORE_CHARS: Final = 40


class Found(Struct, frozen=True, kw_only=True):
    """What came of a search: the text around the first word, `None` where one of the words is missing.

    `problem` says why the session could not be read.
    """

    excerpt: str | None = None
    problem: str = ""


def named(heads: Iterable[SessionHead], text: str) -> Iterator[SessionHead]:
    """Those of `heads` whose name, title (or first prompt) or label has `text` in it, in any case."""
    wanted = text.casefold()
    for head in heads:
        if any(wanted in words.casefold() for words in (head.name, head.shown_title, *head.labels)):
            yield head


def search(store: SessionStore, name: str, words: str) -> Found:
    """Look for all of `words`, parted by blanks and in any case, in what was said in the session `name`."""
    wanted = words.casefold().split()
    try:
        if not _may_have(SessionFiles(store.directory, name), wanted):
            return Found()
        state = store.load(name)
    except SessionError as error:
        return Found(problem=error.message)
    return Found(excerpt=_excerpt(state.messages, wanted))


def _may_have(files: SessionFiles, wanted: Sequence[str]) -> bool:
    """Whether the files hold the plain words at all: most sessions need no more than this look."""
    plain = [word.encode() for word in wanted if word.isascii() and word.isalnum()]
    if not plain:
        return True
    data = files.raw()
    if not data.isascii():  # letters like ß and the Kelvin sign are plain ones in another case
        return True
    data = data.lower()
    return all(word in data for word in plain)


def _excerpt(messages: Iterable[Message], wanted: Sequence[str]) -> str | None:
    missing = set(wanted)
    excerpt: str | None = None
    for message in messages:
        if message.role == "system":
            continue
        text = message.text
        folded = text.casefold()
        here = {word for word in wanted if word in folded}
        missing -= here
        if here and excerpt is None:
            # Folding may change lengths: an excerpt that is off by a few characters is still one.
            place = max(0, min(folded.find(word) for word in here) - BEFORE_CHARS)
            excerpt = one_line(text[place : place + 4 * EXCERPT_CHARS], max_chars=EXCERPT_CHARS)
        if not missing:
            return excerpt
    return None
