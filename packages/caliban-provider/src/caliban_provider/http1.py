"""HTTP/1.1 messages as bytes (RFC 9112): requests written, answers decoded, without a connection.

What is wrong is a `ValueError`; the connection knows the host and says what that means. The pieces of a body
that arrive together leave together: a stream of tiny chunks costs per read and not per chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

MAX_HEAD_BYTES = 256 * 1024

_MAX_LINE_BYTES = 16 * 1024
_MAX_SIZES = 1024

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?", re.DOTALL)
_UNSAFE = re.compile(rb"[\r\n\0]")


class ResponseHead(Struct, frozen=True, kw_only=True):
    """The head of an answer. `headers` have lower-case names; repeated ones are joined by commas."""

    status: int
    headers: Mapping[str, str]
    keep_alive: bool


def request(method: str, target: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes:
    """The bytes of a request; `headers` are complete, with `host` and the length. Raises `ValueError`."""
    lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), target)]
    lines += [b"%b: %b" % (name, value) for name, value in headers]
    if any(_UNSAFE.search(line) for line in lines):
        raise ValueError("the request's head holds a line break")
    return b"\r\n".join((*lines, b"", body))


def split_head(data: bytes) -> tuple[ResponseHead, bytes] | None:
    """The head at the start of `data` and what follows it; `None` while it is incomplete."""
    if (head_end := _HEAD_END.search(data)) is not None:
        return _head(data[: head_end.start()]), data[head_end.end() :]
    # Another protocol's greeting may never contain the blank line that is waited for.
    if not data.startswith(b"HTTP/1."[: len(data)]):
        raise ValueError(f"it begins with {_shown(data[:40])}")
    if len(data) > MAX_HEAD_BYTES:
        raise ValueError("its head does not end")
    return None


def _shown(line: bytes) -> str:
    return repr(line.decode("latin-1"))


def _head(data: bytes) -> ResponseHead:
    first, *lines = data.replace(b"\r\n", b"\n").split(b"\n")
    if (status := _STATUS.fullmatch(first)) is None:
        raise ValueError(f"its first line is {_shown(first[:80])}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or _NAME.fullmatch(name) is None:
            raise ValueError(f"a header line is {_shown(line[:80])}")
        key, text = name.decode("ascii").lower(), value.strip(b" \t").decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    connection = headers.get("connection", "").lower()
    keep_alive = "close" not in connection if status[1] == b"1" else "keep-alive" in connection
    return ResponseHead(status=int(status[2]), headers=headers, keep_alive=keep_alive)


def framing_of(method: str, head: ResponseHead) -> BodyFraming:
    """How the body that follows `head` ends (RFC 9112, 6.3). Raises `ValueError`."""
    if method == "HEAD" or head.status in (204, 304):
        return Sized(0)
    if (coding := head.headers.get("transfer-encoding")) is not None:
        return Chunked() if coding.lower().rpartition(",")[2].strip() == "chunked" else Unbounded()
    if (length := head.headers.get("content-length")) is None:
        return Unbounded()
    sizes = {size.strip() for size in length.split(",")}
    if len(sizes) != 1 or re.fullmatch(r"[0-9]{1,18}", size := sizes.pop()) is None:
        raise ValueError(f"its length is {length[:40]!r}")
    return Sized(int(size))


class Sized:
    """A body of the length that the head told."""

    def __init__(self, size_bytes: int) -> None:
        self._left = size_bytes
        self.done: bool = size_bytes == 0
        self.reusable: bool = True

    def feed(self, data: bytes) -> bytes:
        """The body's bytes in `data`."""
        body = data[: self._left]
        self._left -= len(body)
        self.done = self._left == 0
        self.reusable = len(body) == len(data)
        return body

    def end(self) -> None:
        """The connection has ended. Raises `ValueError` while bytes are missing."""
        if not self.done:
            raise ValueError(f"{self._left} bytes are missing")


class Unbounded:
    """A body that ends with its connection."""

    reusable: ClassVar[bool] = False

    def __init__(self) -> None:
        self.done: bool = False

    def feed(self, data: bytes) -> bytes:
        """All of `data`."""
        return data

    def end(self) -> None:
        """The connection has ended, and the body with it."""
        self.done = True


class Chunked:
    """A body in chunks; their extensions and the trailers are dropped."""

    def __init__(self) -> None:
        self.done: bool = False
        self.reusable: bool = True
        self._pending = b""
        self._left = 0
        self._closing = False
        self._trailing = False
        self._line_end = b"\r\n"
        self._sizes: dict[bytes, int] = {}

    def feed(self, data: bytes) -> bytes:
        """The payload of every chunk in `data`, joined. Raises `ValueError` for what is not chunked."""
        if self._left > len(data):
            self._left -= len(data)
            return data
        if self._left:
            at, self._left, self._closing = self._left, 0, True
            return data[:at] + self._chunks(data, at)
        data, self._pending = self._pending + data, b""
        return self._chunks(data, 0)

    def end(self) -> None:
        """The connection has ended. Raises `ValueError` before the last chunk."""
        if not self.done:
            raise ValueError("the last chunk is missing")

    def _chunks(self, data: bytes, at: int) -> bytes:
        """The payload of the chunks in `data` from `at`, where a line begins."""
        payload: list[bytes] = []
        while not self.done and (end := data.find(self._line_end, at)) >= 0:
            line, at = data[at:end], end + len(self._line_end)
            if self._trailing or self._closing:
                self._close(line.removesuffix(b"\r"))
                continue
            size = self._sizes.get(line) or self._size(line)
            if size == 0:
                # Trailers are lines of a head, which may end with a bare line feed (RFC 9112, 2.2).
                self._trailing, self._line_end = True, b"\n"
                continue
            piece = data[at : at + size]
            payload.append(piece)
            at += size
            if len(piece) < size:
                self._left = size - len(piece)
                return b"".join(payload)
            if data.startswith(b"\r\n", at):
                at += 2
            else:
                self._closing = True
        self.reusable = at == len(data)
        self._pending = data[at:]
        if self._closing and not b"\r\n".startswith(self._pending):
            raise ValueError("a chunk is longer than it said")
        if len(self._pending) > _MAX_LINE_BYTES:
            raise ValueError("the line of a chunk does not end")
        return b"".join(payload)

    def _close(self, line: bytes) -> None:
        """A line that is no size: the empty one behind a chunk, a trailer, or the end of the trailers."""
        if self._trailing:
            self.done = not line
        elif line:
            raise ValueError("a chunk is longer than it said")
        self._closing = False

    def _size(self, line: bytes) -> int:
        """The size that a line tells. Servers repeat themselves, so sizes are kept."""
        if (size_match := _SIZE.fullmatch(line)) is None:
            raise ValueError(f"the size of a chunk is {line[:40]!r}")
        size = int(size_match[1], 16)
        if len(self._sizes) < _MAX_SIZES:
            self._sizes[line] = size
        return size


BodyFraming: TypeAlias = Sized | Unbounded | Chunked
"""Finds the end of a body: `done` says that it was found, `reusable` that nothing stands behind it."""
