"""The notes that an agent keeps for later sessions: one Markdown file each, and an index of them.

A write replaces the note, then the index, each atomically and under a lock; a crash between the two leaves a
note without a line, which the next write mends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, cast, get_args

from msgspec import Struct

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_common.files import BINARY, NOFOLLOW, ensure_private_dir, read_regular, write_atomic
from caliban_common.frontmatter import split_front_matter
from caliban_common.lazy import lazy_pattern
from caliban_common.near import did_you_mean
from caliban_common.text import clean, one_line
from caliban_memory.errors import MemoryFailed, TopicMissing, TopicRefused
from caliban_memory.index import entry_line, updated_index
from caliban_memory.values import INDEX_NAME, MAX_FILE_BYTES

TopicType = Literal["user", "feedback", "project", "reference"]
MAX_SLUG_CHARS: Final = 80
MAX_DESCRIPTION_CHARS: Final = 120
MAX_BODY_CHARS: Final = 50_000
MAX_TOPICS: Final = 1000
LOCK_NAME: Final = ".lock"
LOCK_S: Final = 5.0
_SLUG = lazy_pattern(r"\w[\w.-]*")
_DEVICE = lazy_pattern(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


class Topic(Struct, frozen=True, kw_only=True):
    """A note: `name` is its slug, `session` the conversation in which it was written, where that is known."""

    name: str
    description: str
    type: TopicType
    body: str = ""
    session: str = ""


def check_slug(name: str) -> str:
    """`name`, where a note can be called so. Raises `TopicRefused`."""
    if not name:
        raise TopicRefused("a note needs a name")
    ok = len(name) <= MAX_SLUG_CHARS and _SLUG.fullmatch(name) is not None and ".." not in name
    if (
        not ok
        or _DEVICE.fullmatch(name) is not None
        or name.lower() == INDEX_NAME.removesuffix(".md").lower()
    ):
        raise TopicRefused(
            f"{one_line(name, max_chars=100)!r} is no name for a note: letters, digits, - and _, at most "
            f"{MAX_SLUG_CHARS}, no path"
        )
    return name


def parse_topic(text: str, name: str) -> Topic:
    """The note in `text`, whose file is called `name`. Raises `TopicRefused`."""
    try:
        head, body = split_front_matter(text)
    except CalibanError as error:
        raise TopicRefused(f"{name}.md: {error.message}") from error
    metadata = head.get("metadata")
    kind = metadata.get("type") if isinstance(metadata, dict) else head.get("type")
    written, description = head.get("name"), head.get("description")
    if written != name:
        raise TopicRefused(f"{name}.md calls itself {one_line(str(written or ''), max_chars=80)!r}")
    if not isinstance(description, str) or not description.strip():
        raise TopicRefused(f"{name}.md has no description")
    if kind not in get_args(TopicType):
        raise TopicRefused(f"{name}.md has no type among {', '.join(get_args(TopicType))}")
    session = metadata.get("session", "") if isinstance(metadata, dict) else ""
    return Topic(
        name=name,
        description=one_line(description, max_chars=MAX_DESCRIPTION_CHARS),
        type=cast(TopicType, kind),
        body=body,
        session=session if isinstance(session, str) else "",
    )


def topic_text(topic: Topic) -> str:
    """The file of a note; `parse_topic` reads it back."""
    session = f"  session: {_quoted(topic.session)}\n" if topic.session else ""
    return (
        f"---\nname: {_quoted(topic.name)}\ndescription: {_quoted(topic.description)}\n"
        f"metadata:\n  node_type: memory\n  type: {topic.type}\n{session}---\n{topic.body.strip()}\n"
    )


def _quoted(text: str) -> str:
    """A scalar of YAML on one line."""
    is_word = text.isascii() and text.replace("-", "").isalpha()
    return text if is_word else f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    """As YAML has it, whose readers refuse some characters as they are."""
    if char in '"\\':
        return f"\\{char}"
    return char if char.isascii() and char.isprintable() else f"\\U{ord(char):08x}"


class Topics:
    """The notes in one directory, which is made with the first of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def index_path(self) -> Path:
        """The file of the index."""
        return self.directory / INDEX_NAME

    def list(self) -> tuple[Topic, ...]:
        """The notes that can be read, by name, without their bodies."""
        return tuple(topic for topic, _ in self._heads() if topic is not None)

    def broken(self) -> tuple[str, ...]:
        """Why other files of the directory are no notes."""
        return tuple(problem for topic, problem in self._heads() if topic is None)

    def read(self, name: str) -> Topic:
        """The note `name`. Raises `TopicRefused`, `TopicMissing`, `MemoryFailed`."""
        path = self.directory / f"{check_slug(name)}.md"
        if path.is_symlink():
            raise TopicRefused(f"{path.name} is a link, not a note")
        if not path.exists():
            meant = did_you_mean(name, tuple(self._names()))
            raise TopicMissing(f"there is no note {name!r}" + (f"; {meant}" if meant else ""))
        try:
            return parse_topic(decode_text(read_regular(path, max_bytes=MAX_FILE_BYTES)), name)
        except TopicRefused:
            raise
        except CalibanError as error:
            raise MemoryFailed(error.message, hint=error.hint) from error

    def write(self, topic: Topic) -> bool:
        """Keep `topic` in the place of the one of its name, and mend the index; whether it is a new one.

        Raises `TopicRefused` before anything is written, and `MemoryFailed`.
        """
        _check(topic)
        with self._locked():
            names = tuple(self._names())
            is_new = topic.name not in names
            if is_new and len(names) >= MAX_TOPICS:
                raise TopicRefused(f"there are {MAX_TOPICS} notes; remove one first")
            data = clean(topic_text(topic)).encode("utf-8")
            self._replace(self.directory / f"{topic.name}.md", data)
            self._mend()
        return is_new

    def delete(self, name: str) -> None:
        """Remove the note `name` and its line. Raises `TopicRefused`, `TopicMissing`, `MemoryFailed`."""
        check_slug(name)
        if name not in tuple(self._names()):
            raise TopicMissing(f"there is no note {name!r}")
        with self._locked():
            try:
                (self.directory / f"{name}.md").unlink(missing_ok=True)
            except OSError as error:
                raise MemoryFailed(f"cannot remove {name}.md: {(error.strerror or '').lower()}") from error
            self._mend()

    def rebuild(self) -> int:
        """Make the index anew from the notes; how many there are. Raises `MemoryFailed`."""
        with self._locked():
            return self._mend()

    def _mend(self) -> int:
        lines = {topic.name: entry_line(topic.name, topic.type, topic.description) for topic in self.list()}
        try:
            before = decode_text(read_regular(self.index_path, max_bytes=MAX_FILE_BYTES))
        except CalibanError:
            before = ""
        after = updated_index(before, lines)
        if after != before or not self.index_path.exists():
            self._replace(self.index_path, after.encode("utf-8"))
        return len(lines)

    def _replace(self, path: Path, data: bytes) -> None:
        try:
            write_atomic(path, data, mode=0o600)
        except CalibanError as error:
            raise MemoryFailed(error.message, hint=error.hint) from error

    def _names(self) -> Iterator[str]:
        try:
            entries = sorted(path.name for path in self.directory.iterdir())
        except OSError:
            return
        for entry in entries:
            name = entry.removesuffix(".md")
            if entry.endswith(".md") and entry != INDEX_NAME and not entry.startswith("."):
                yield name

    def _heads(self) -> Iterator[tuple[Topic | None, str]]:
        for name in self._names():
            try:
                topic = self.read(name)
            except MemoryFailed as error:
                yield None, error.message
                continue
            yield (
                Topic(name=topic.name, description=topic.description, type=topic.type, session=topic.session),
                "",
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The directory, for this process alone. Raises `MemoryFailed`."""
        try:
            ensure_private_dir(self.directory)
            flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | BINARY | getattr(os, "O_CLOEXEC", 0)
            descriptor = os.open(self.directory / LOCK_NAME, flags, 0o600)
        except CalibanError as error:
            raise MemoryFailed(error.message, hint=error.hint) from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise MemoryFailed(f"cannot lock {self.directory}: {reason}") from error
        try:
            _wait_for(descriptor, self.directory)
            yield
        finally:
            os.close(descriptor)


def _wait_for(descriptor: int, directory: Path) -> None:
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            if try_lock(descriptor):
                return
        except OSError:
            return  # a file system without locks: atomic files are all there is
        if time.monotonic() > deadline:
            raise MemoryFailed(f"another process is writing notes in {directory}", hint="try again")
        time.sleep(0.01)


def _check(topic: Topic) -> None:
    check_slug(topic.name)
    if topic.type not in get_args(TopicType):
        raise TopicRefused(f"the type must be one of {', '.join(get_args(TopicType))}")
    if not topic.description.strip():
        raise TopicRefused("the description is empty")
    if len(topic.description) > MAX_DESCRIPTION_CHARS or one_line(topic.description) != topic.description:
        raise TopicRefused(f"the description must be one line of at most {MAX_DESCRIPTION_CHARS} characters")
    if not topic.body.strip():
        raise TopicRefused("the body is empty")
    if len(topic.body) > MAX_BODY_CHARS:
        raise TopicRefused(
            f"the body has {len(topic.body):,} characters; at most {MAX_BODY_CHARS:,} are kept"
        )
