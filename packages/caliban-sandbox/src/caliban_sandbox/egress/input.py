"""What a client sends, read in parts: a head, and a body to its end and no further."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from anyio import EndOfStream
from anyio.abc import ByteReceiveStream

from caliban_common.lazy import lazy_pattern
from caliban_sandbox.egress.head import RequestHead, is_hopeless, parse_head
from caliban_sandbox.egress.values import Refusal

_BLOCK: Final = 64 * 1024
_CHUNK_SIZE: Final = lazy_pattern(r"[0-9A-Fa-f]{1,15}")
_END: Final = b"\r\n\r\n"


class ClientInput:
    """Bytes of one connection; what was read beyond a part is kept for the next."""

    def __init__(self, stream: ByteReceiveStream) -> None:
        self._stream = stream
        self._kept = bytearray()

    async def head(self, max_bytes: int) -> RequestHead | Refusal | None:
        """The head of a request; `None` for a connection that ends before a whole one."""
        looked_at = 0
        while (end := self._kept.find(_END, max(0, looked_at - 3), max_bytes)) < 0:
            if is_hopeless(self._kept[max(0, looked_at - 1) :]):
                return Refusal(status=400, line="lines must end with CR LF, and hold no NUL")
            looked_at = len(self._kept)
            if looked_at >= max_bytes:
                return Refusal(status=400, line=f"the head of the request has more than {max_bytes} bytes")
            try:
                self._kept += await self._stream.receive(_BLOCK)
            except EndOfStream:
                return None
        raw = bytes(self._kept[:end])
        del self._kept[: end + len(_END)]
        return parse_head(raw)

    async def receive(self, max_bytes: int = _BLOCK) -> bytes:
        """1 to `max_bytes` bytes as they come. Raises `EndOfStream`."""
        if not self._kept:
            return await self._stream.receive(max_bytes)
        part = bytes(self._kept[:max_bytes])
        del self._kept[:max_bytes]
        return part

    async def pass_body(self, length: int | None, send: Callable[[bytes], Awaitable[None]]) -> bool:
        """Hand the body on, in chunks where `length` is `None`; false for a malformed or cut one."""
        try:
            if length is not None:
                await self._pass(length, send)
                return True
            while (size := await self._chunk_size()) is not None:
                await send(b"%x\r\n" % size)
                await self._pass(size, send)
                # After the last chunk come trailer fields, which nobody has judged: there may be none.
                if await self._exactly(2) != b"\r\n":
                    return False
                await send(b"\r\n")
                if size == 0:
                    return True
        except EndOfStream:
            pass
        return False

    async def _pass(self, count: int, send: Callable[[bytes], Awaitable[None]]) -> None:
        while count:
            part = await self.receive(min(count, _BLOCK))
            count -= len(part)
            await send(part)

    async def _chunk_size(self) -> int | None:
        line = b""
        while not line.endswith(b"\r\n"):
            if len(line) > 17:
                return None
            line += await self._exactly(1)
        text = line[:-2].decode("latin-1")
        return int(text, 16) if _CHUNK_SIZE.fullmatch(text) else None

    async def _exactly(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            if not self._kept:
                self._kept += await self._stream.receive(_BLOCK)
            got += await self.receive(count - len(got))
        return got
