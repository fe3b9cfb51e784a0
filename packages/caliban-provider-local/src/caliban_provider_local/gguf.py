"""Reading the head of a GGUF file: what a model says of itself, without loading it.

The format (ggml's specification, versions 2 and 3, little endian): magic, version, the number of tensors,
the number of metadata pairs, the pairs, then one record per tensor. Nothing in the file is trusted: every
count is bounded by the bytes that are there, and a file that ends early is an error, not a guess.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from caliban_common.files import BINARY, NONBLOCK
from caliban_provider_local.errors import NotAModel

_MAGIC = b"GGUF"
_HEAD_LIMIT = 256 << 20
_STRING_LIMIT = 16 << 20
_PAIR_LIMIT = 1 << 16
_TENSOR_LIMIT = 1 << 20
_DEPTH_LIMIT = 4
_WINDOW = 1 << 20

_SCALARS = MappingProxyType(
    {
        0: "<B",
        1: "<b",
        2: "<H",
        3: "<h",
        4: "<I",
        5: "<i",
        6: "<f",
        7: "<?",
        10: "<Q",
        11: "<q",
        12: "<d",
    }
)
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q").unpack_from

_FILE_TYPES = MappingProxyType({
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
})  # fmt: skip


class GgufHeader(Struct, frozen=True, kw_only=True):
    """What a GGUF file says of itself.

    `context_tokens` is the window the model was trained for. `parameters` counts the weights in this file;
    `None` when the model is split over several. `size_bytes` is the whole file's.
    """

    architecture: str
    name: str
    context_tokens: int | None
    quantisation: str
    parameters: int | None
    chat_template: str | None
    size_bytes: int


def read_header(path: Path) -> GgufHeader:
    """Read the head of `path`; takes some ten milliseconds for a large vocabulary.

    Raises `NotAModel` for anything that is not a whole GGUF head in a regular file; a pipe or a device is
    never waited on.
    """
    descriptor = _open(path)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise _not_a_model(f"{path} is {kind}, so it is no model")
        return _parse(_Cursor(descriptor, status.st_size))
    except (_Broken, OSError) as error:
        raise _not_a_model(f"{path} is not a usable GGUF model: {error}") from error
    finally:
        os.close(descriptor)


def _not_a_model(message: str) -> NotAModel:
    return NotAModel(message, hint="name a whole .gguf file").with_remedy("model_file")


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _not_a_model(f"cannot read the model {path}: {reason}") from error


class _Broken(Exception):
    """The bytes are not a GGUF head; the message says where they stop being one."""


class _Cursor:
    """A forward-only reader with a window in memory; it never reads past the file or the head's limit."""

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._descriptor = descriptor
        self._left = min(size_bytes, _HEAD_LIMIT)
        self._window = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._window):
            self._refill(count)
            end = self._at + count
        data = self._window[self._at : end]
        self._at = end
        return data

    def skip(self, count: int) -> None:
        while count > 0:
            step = min(count, _WINDOW)
            self.take(step)
            count -= step

    def skip_texts(self, count: int) -> None:
        """Skip that many texts: a vocabulary has a hundred thousand, so this loop is the cost of a head."""
        while count > 0:
            window, at, end = self._window, self._at, len(self._window) - 8
            while count > 0 and at <= end:
                after = at + 8 + _LENGTH(window, at)[0]
                if after > end + 8:
                    break
                at = after
                count -= 1
            self._at = at
            if count > 0:
                size = self.count()
                if size > _STRING_LIMIT:
                    raise _Broken(f"a text of {size} bytes stands in an array")
                self.skip(size)
                count -= 1

    def ensure(self, count: int) -> None:
        """Fail now when fewer than `count` bytes can still come."""
        if count > self._left + len(self._window) - self._at:
            raise _Broken("it ends before its own head does, or its head is absurdly long")

    def number(self, form: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def count(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def text(self, limit: int) -> str:
        length = self.count()
        if length > limit:
            raise _Broken(f"a text of {length} bytes stands where at most {limit} make sense")
        self.ensure(length)
        return self.take(length).decode("utf-8", "replace")

    def _refill(self, count: int) -> None:
        self.ensure(count)
        parts = [self._window[self._at :]]
        have = len(parts[0])
        while have < count:
            block = os.read(self._descriptor, min(_WINDOW, self._left))
            if not block:
                raise _Broken("it ends before its own head does")
            self._left -= len(block)
            have += len(block)
            parts.append(block)
        self._window, self._at = b"".join(parts), 0


def _parse(cursor: _Cursor) -> GgufHeader:
    if cursor.size_bytes < 24 or cursor.take(4) != _MAGIC:
        raise _Broken("it does not begin with GGUF")
    version = cursor.number("<I")
    if version not in (2, 3):
        raise _Broken(f"version {version} of the format is not known (2 and 3 are)")
    tensors, pairs = cursor.count(), cursor.count()
    if pairs > _PAIR_LIMIT or tensors > _TENSOR_LIMIT:
        raise _Broken(f"it claims {pairs} metadata pairs and {tensors} tensors")
    facts: dict[str, str | int | float | bool] = {}
    for _ in range(pairs):
        key = cursor.text(_PAIR_LIMIT)
        value = _value(cursor, int(cursor.number("<I")))
        if value is not None:
            facts[key] = value
    return _header(facts, _parameters(cursor, tensors), cursor.size_bytes)


def _header(facts: dict[str, str | int | float | bool], parameters: int, size_bytes: int) -> GgufHeader:
    def text(key: str) -> str:
        value = facts.get(key)
        return value if isinstance(value, str) else ""

    def whole(key: str) -> int | None:
        value = facts.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    architecture = text("general.architecture")
    file_type = whole("general.file_type")
    split = whole("split.count") or 1
    return GgufHeader(
        architecture=architecture,
        name=text("general.name"),
        context_tokens=whole(f"{architecture}.context_length") or None,
        quantisation="" if file_type is None else _FILE_TYPES.get(file_type, f"type {file_type}"),
        parameters=parameters if split == 1 else None,
        chat_template=text("tokenizer.chat_template") or None,
        size_bytes=size_bytes,
    )


def _value(cursor: _Cursor, kind: int) -> str | int | float | bool | None:
    """One metadata value; `None` for an array, whose bytes are skipped."""
    if kind in _SCALARS:
        return cursor.number(_SCALARS[kind])
    if kind == _STRING:
        return cursor.text(_STRING_LIMIT)
    if kind == _ARRAY:
        _skip_array(cursor, 1)
        return None
    raise _Broken(f"a metadata value has the unknown type {kind}")


def _skip_array(cursor: _Cursor, depth: int) -> None:
    if depth > _DEPTH_LIMIT:
        raise _Broken("its metadata is nested too deeply")
    kind, length = int(cursor.number("<I")), cursor.count()
    if kind in _SCALARS:
        size = length * struct.calcsize(_SCALARS[kind])
        cursor.ensure(size)
        cursor.skip(size)
    elif kind == _STRING:
        cursor.ensure(length * 8)
        cursor.skip_texts(length)
    elif kind == _ARRAY:
        cursor.ensure(length * 12)
        for _ in range(length):
            _skip_array(cursor, depth + 1)
    else:
        raise _Broken(f"an array has the unknown type {kind}")


def _parameters(cursor: _Cursor, tensors: int) -> int:
    total = 0
    for _ in range(tensors):
        cursor.text(_PAIR_LIMIT)
        dimensions = int(cursor.number("<I"))
        if not 0 < dimensions <= 8:
            raise _Broken(f"a tensor has {dimensions} dimensions")
        weights = 1
        for _ in range(dimensions):
            weights *= cursor.count()
        cursor.take(12)
        total += weights
    return total
