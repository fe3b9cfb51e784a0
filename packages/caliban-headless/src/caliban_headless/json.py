"""The json face: one object, the result."""

from __future__ import annotations

from caliban_common.codec import dumps
from caliban_common.event import AgentEvent
from caliban_common.message import Message
from caliban_drive.result import PromptResult
from caliban_headless.frames import Init, result_frame


class JsonEncoder:
    """Silent until the end, then one line of JSON."""

    def begin(self, init: Init) -> bytes:
        """Nothing."""
        return b""

    def prompt(self, message: Message) -> bytes:
        """Nothing."""
        return b""

    def event(self, event: AgentEvent) -> bytes:
        """Nothing."""
        return b""

    def result(self, result: PromptResult) -> bytes:
        """The object."""
        return dumps(result_frame(result)) + b"\n"
