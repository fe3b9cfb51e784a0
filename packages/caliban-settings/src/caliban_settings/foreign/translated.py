"""What a foreign file comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from caliban_settings.leaves import LeafPath, dotted

Harness: TypeAlias = Literal["claude", "codex", "caliban"]
ForeignPath: TypeAlias = tuple[str | int, ...]


class NotCarried(Struct, frozen=True, kw_only=True):
    """What of a foreign file was not carried over: its path there, and why."""

    path: ForeignPath
    why: str

    @property
    def name(self) -> str:
        """The path as a person writes it."""
        return dotted(self.path)


class Carried(Struct, frozen=True, kw_only=True):
    """A setting of ours, and where it stood."""

    path: LeafPath
    value: Any
    source: ForeignPath


class Translated(Struct, frozen=True, kw_only=True):
    """The settings that a file has of ours, and all that it says beside them."""

    carried: tuple[Carried, ...] = ()
    left_out: tuple[NotCarried, ...] = ()


Found: TypeAlias = Iterator[Carried | NotCarried]
Reader: TypeAlias = Callable[[Any, ForeignPath], Found]
NO_EQUAL = "it has no equal here"


def collected(found: Found) -> Translated:
    """What was found, in two lists."""
    carried: list[Carried] = []
    left_out: list[NotCarried] = []
    for item in found:
        if isinstance(item, Carried):
            carried.append(item)
        else:
            left_out.append(item)
    return Translated(carried=tuple(carried), left_out=tuple(left_out))


def taken(*path: str) -> Reader:
    """A reader of a value that means the same under `path`."""

    def read(value: Any, source: ForeignPath) -> Found:
        yield Carried(path=path, value=value, source=source)

    return read


def one_of(words: Mapping[str, Any], *path: str) -> Reader:
    """A reader of a word that means one of ours."""

    def read(value: Any, source: ForeignPath) -> Found:
        if isinstance(value, str) and value in words:
            yield Carried(path=path, value=words[value], source=source)
        else:
            yield NotCarried(path=source, why=f"{value!r:.60} has no equal here")

    return read


def no_equal(why: str) -> Reader:
    """A reader of what is named and left out."""

    def read(value: Any, source: ForeignPath) -> Found:
        del value
        yield NotCarried(path=source, why=why)

    return read


def read_table(table: Mapping[str, Any], readers: Mapping[str, Reader], source: ForeignPath = ()) -> Found:
    """Every member of `table` by its reader; one without any is named."""
    for name, value in table.items():
        reader = readers.get(name)
        if reader is not None:
            yield from reader(value, (*source, name))
        else:
            yield NotCarried(path=(*source, name), why=NO_EQUAL)
