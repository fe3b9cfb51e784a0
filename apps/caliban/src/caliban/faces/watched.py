"""An encoder that tracks how far the output is, so that nothing begins or answers twice."""

from __future__ import annotations

from caliban.last_words import OutputState
from caliban_common.message import Message
from caliban_drive.result import PromptResult
from caliban_headless.frames import Init
from caliban_headless.run import OutputEncoder


class WatchedEncoder:
    """`inner`, with a note in `state` of its beginning and of its results."""

    def __init__(self, inner: OutputEncoder, state: OutputState) -> None:
        self._inner = inner
        self._state = state
        self.event = inner.event  # there can be fifty thousand of them

    def begin(self, init: Init) -> bytes:
        """The beginning."""
        self._state.has_begun = True
        return self._inner.begin(init)

    def prompt(self, message: Message) -> bytes:
        """A prompt, whose result is owed from now on."""
        self._state.has_result = False
        return self._inner.prompt(message)

    def result(self, result: PromptResult) -> bytes:
        """The result."""
        self._state.has_result = True
        return self._inner.result(result)
