"""Output as it stood on a screen in the end: the last state of each line, without colours and titles."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = (
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()*+][0-9A-Za-z]|[=>78cDEHM])"
)
_OPEN_CONTROL: Final = rb"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\n]{0,4096}\x1b?|[()*+])?\Z"
_MAX_LINE_BYTES: Final = 1 << 16
"""A line that is longer is no progress bar: it is handed on as it comes."""


class LastFrames:
    """Takes a stream in pieces and gives it without the frames that were written over."""

    def __init__(self) -> None:
        self._line = b""
        self._is_binary = False

    def feed(self, chunk: bytes) -> bytes:
        """What is certain by now, `chunk` included. From a NUL on it is no text, and passes as it is."""
        self._is_binary = self._is_binary or b"\0" in chunk
        if self._is_binary:
            line, self._line = self._line, b""
            return line + chunk
        if not self._line and b"\r" not in chunk and b"\x1b" not in chunk:
            end = chunk.rfind(b"\n") + 1  # most output: the last line may still be written over
            self._line = chunk[end:]
            return chunk[:end] + self._long_line()
        whole, mark, self._line = (self._line + chunk).rpartition(b"\n")
        shown = _frames(whole + mark) if mark else b""
        if len(self._line) > _MAX_LINE_BYTES and b"\r" in self._line:
            self._line = b"\r" + self._line.rpartition(b"\r")[2]
        return shown + self._long_line()

    def end(self) -> bytes:
        """The rest: the stream is over."""
        rest, self._line = self._line, b""
        return _frames(rest)

    def _long_line(self) -> bytes:
        if len(self._line) <= _MAX_LINE_BYTES or re.search(_OPEN_CONTROL, self._line) or b"\r" in self._line:
            return b""
        rest, self._line = self._line, b""
        return _frames(rest)


def _frames(text: bytes) -> bytes:
    if b"\x1b" in text:
        text = re.sub(_CONTROL, b"", text)
    if b"\r" not in text:
        return text
    return b"\n".join(map(_last_frame, text.split(b"\n")))


def _last_frame(line: bytes) -> bytes:
    """What of `line` was left on the screen; one carriage return before its end belongs to the end."""
    if b"\r" not in line:
        return line
    end = b"\r" if line.endswith(b"\r") else b""
    frames = [frame for frame in line.split(b"\r") if frame.strip()]
    return (frames[-1] if frames else b"") + end
