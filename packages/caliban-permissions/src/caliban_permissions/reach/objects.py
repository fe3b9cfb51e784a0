"""The objects of a repository, read as git stores them: loose, or in packs."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from typing import BinaryIO, Final

HASH_BYTES: Final = 20
_MAX_OBJECTS = 2_000
_MAX_BYTES = 4_000_000
_CHUNK = 16_384
_KINDS: Mapping[int, str] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_BY_OFFSET, _BY_ID = 6, 7
_MAX_CHAIN = 64
_FANOUT = struct.Struct(">256L")
_PACK_INDEX = b"\xfftOc\x00\x00\x00\x02"


class UnknownObjectError(Exception):
    """An object that is not there, cannot be read, or is one too many."""


class ObjectStore:
    """The objects of one repository, at most 2,000 of them and none above 4 MB."""

    def __init__(self, git_directory: str) -> None:
        self._objects = f"{git_directory}/objects"
        self._left = _MAX_OBJECTS
        self._packs: tuple[str, ...] | None = None

    def read(self, id: bytes, chain: int = _MAX_CHAIN) -> tuple[str, bytes]:
        """The kind and the content of an object; raises `UnknownObjectError`.

        At most `chain` others lie below it, of which each says how it differs from the next.
        """
        self._left -= 1
        if self._left < 0:
            raise UnknownObjectError("there are too many")
        try:
            loose = self._loose(id.hex())
            return loose if loose is not None else self._packed(id, chain)
        except (OSError, zlib.error, struct.error, ValueError, IndexError) as error:
            raise UnknownObjectError(str(error)) from error

    def ids(self, beginning: str) -> set[bytes]:
        """The objects whose hexadecimal ids begin so, which are four digits at least."""
        loose_ids = {f"{beginning[:2]}{name}" for name in _names(f"{self._objects}/{beginning[:2]}")}
        known = {bytes.fromhex(text) for text in loose_ids if text.startswith(beginning) and len(text) == 40}
        even = bytes.fromhex(beginning[: len(beginning) // 2 * 2])
        try:
            for pack in self._pack_names():
                with open(f"{pack}.idx", "rb") as file:  # noqa: PTH123 - a str, many times
                    table = _bucket(file, even[0])[2]
                    ids = (table[at : at + HASH_BYTES] for at in range(0, len(table), HASH_BYTES))
                    known.update(id for id in ids if id.hex().startswith(beginning))
        except (OSError, struct.error, ValueError) as error:
            raise UnknownObjectError(str(error)) from error
        return known

    def _loose(self, name: str) -> tuple[str, bytes] | None:
        try:
            with open(f"{self._objects}/{name[:2]}/{name[2:]}", "rb") as file:  # noqa: PTH123
                data = zlib.decompressobj().decompress(file.read(_MAX_BYTES), _MAX_BYTES)
        except FileNotFoundError:
            return None
        head, _, content = data.partition(b"\0")
        kind, _, size = head.decode("ascii").partition(" ")
        if int(size) != len(content):
            raise UnknownObjectError("it is too large")
        return kind, content

    def _pack_names(self) -> tuple[str, ...]:
        if self._packs is None:
            names = _names(f"{self._objects}/pack")
            self._packs = tuple(
                f"{self._objects}/pack/{name[:-4]}" for name in names if name.endswith(".idx")
            )
        return self._packs

    def _packed(self, id: bytes, chain: int) -> tuple[str, bytes]:
        for pack in self._pack_names():
            with open(f"{pack}.idx", "rb") as file:  # noqa: PTH123
                offset = _offset(file, id)
            if offset is not None:
                with open(f"{pack}.pack", "rb") as file:  # noqa: PTH123
                    return self._at(file, offset, chain)
        raise UnknownObjectError("it is not there")

    def _at(self, file: BinaryIO, offset: int, chain: int) -> tuple[str, bytes]:
        if chain == 0:
            raise UnknownObjectError("its chain is too long")
        file.seek(offset)
        head = file.read(32)
        kind, size, at = (head[0] >> 4) & 7, head[0] & 15, 1
        shift = 4
        while head[at - 1] & 0x80:
            size |= (head[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
        if size > _MAX_BYTES:
            raise UnknownObjectError("it is too large")
        if kind in _KINDS:
            return _KINDS[kind], _inflated(file, offset + at, size)
        if kind == _BY_OFFSET:
            back, at = head[at] & 0x7F, at + 1
            while head[at - 1] & 0x80:
                back, at = ((back + 1) << 7) | (head[at] & 0x7F), at + 1
            delta = _inflated(file, offset + at, size)
            name, base = self._at(file, offset - back, chain - 1)
        elif kind == _BY_ID:
            delta = _inflated(file, offset + at + HASH_BYTES, size)
            other = head[at : at + HASH_BYTES] if at + HASH_BYTES <= len(head) else b""
            name, base = self.read(other, chain - 1)
        else:
            raise UnknownObjectError("its kind is not known")
        return name, _patched(base, delta)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - a str, many times
    except OSError:
        return []


def _bucket(file: BinaryIO, first_byte: int) -> tuple[int, int, bytes]:
    """How many objects an index of a pack has, which is the first that begins so, and the ids of those."""
    if file.read(8) != _PACK_INDEX:
        raise ValueError("an index of a pack of another kind")
    fanout = _FANOUT.unpack(file.read(1024))
    first, last = (fanout[first_byte - 1] if first_byte else 0), fanout[first_byte]
    if not first <= last <= os.fstat(file.fileno()).st_size // HASH_BYTES:
        raise ValueError("an index of a pack that is damaged")
    file.seek(8 + 1024 + first * HASH_BYTES)
    return fanout[255], first, file.read((last - first) * HASH_BYTES)


def _offset(file: BinaryIO, id: bytes) -> int | None:
    """Where in the pack an object begins; `None` where its index does not have it."""
    count, first, table = _bucket(file, id[0])
    at = table.find(id)
    while at >= 0 and at % HASH_BYTES:
        at = table.find(id, at + 1)
    if at < 0:
        return None
    place = first + at // HASH_BYTES
    offsets = 8 + 1024 + count * (HASH_BYTES + 4)
    file.seek(offsets + place * 4)
    (offset,) = struct.unpack(">L", file.read(4))
    if offset & 0x80000000:
        file.seek(offsets + count * 4 + (offset & 0x7FFFFFFF) * 8)
        (offset,) = struct.unpack(">Q", file.read(8))
    return int(offset)


def _inflated(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    stream = zlib.decompressobj()
    data = bytearray()
    while not stream.eof:
        chunk = stream.unconsumed_tail or file.read(_CHUNK)
        if not chunk:
            raise ValueError("it is cut off")
        data += stream.decompress(chunk, size + 1 - len(data))
        if len(data) > size:
            break
    if len(data) != size:
        raise ValueError("its size is another one")
    return bytes(data)


def _patched(base: bytes, delta: bytes) -> bytes:
    """What a delta makes of the object that it builds on."""
    at = 0
    for _ in range(2):  # the two sizes in front
        while delta[at] & 0x80:
            at += 1
        at += 1
    data = bytearray()
    while at < len(delta):
        order = delta[at]
        at += 1
        if order & 0x80:
            numbers = []
            for bits in (range(4), range(4, 7)):
                number = 0
                for place, bit in enumerate(bits):
                    if order & (1 << bit):
                        number |= delta[at] << (8 * place)
                        at += 1
                numbers.append(number)
            start, size = numbers[0], numbers[1] or 0x10000
            data += base[start : start + size]
        else:
            data += delta[at : at + order]
            at += order
        if len(data) > _MAX_BYTES:
            raise ValueError("it is too large")
    return bytes(data)
