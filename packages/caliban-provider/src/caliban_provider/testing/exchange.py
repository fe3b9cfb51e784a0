"""What a loopback server is told to say, and what it was asked: values only."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field


class Send(Struct, frozen=True):
    """Send these bytes: one HTTP chunk and one flush."""

    data: bytes


class Pause(Struct, frozen=True):
    """Wait for an event, at most `max_s`, or for a number of seconds."""

    until: threading.Event | float
    max_s: float = 300.0


class Reset(Struct, frozen=True):
    """Break the connection with a reset."""


class Close(Struct, frozen=True):
    """Close the connection in the middle of the answer."""


class Hang(Struct, frozen=True):
    """Say nothing until the client or the server goes away."""


Step: TypeAlias = Send | Pause | Reset | Close | Hang


class Exchange(Struct, frozen=True, kw_only=True):
    """One answer.

    `raw` sends the steps verbatim: they hold the status line and the headers. `bytewise` flushes after every
    byte. `chunked` false sends no length and ends the body by closing the connection.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    raw: bool = False
    bytewise: bool = False
    chunked: bool = True


class Request(Struct, frozen=True, kw_only=True):
    """What a client sent; `headers` have lower-case names, `connection` counts from 1."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        """The body as JSON; raises `ValueError`."""
        return json.loads(self.body)


Script: TypeAlias = Sequence[Exchange] | Callable[[Request], Exchange]
Validator: TypeAlias = Callable[[Request], tuple[int, bytes] | None]


def sse(*pieces: bytes | str, **options: Any) -> Exchange:
    """A stream of server-sent events, one flush per piece; `options` are fields of `Exchange`."""
    options.setdefault("headers", {"content-type": "text/event-stream"})
    return Exchange(steps=tuple(Send(_bytes(piece)) for piece in pieces), **options)


def answer(status: int, body: bytes | str = b"", **headers: str) -> Exchange:
    """A whole answer in one piece; `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Exchange(status=status, headers=named, steps=(Send(_bytes(body)),))


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value
