"""Whom frames reach at once, between two prompts or in the midst of one."""

from __future__ import annotations

from typing import Protocol

from caliban_common.message import Message


class RunAtWork(Protocol):
    """Whom frames reach at once, between two prompts or in the midst of one: the session."""

    def interrupt(self, *, waiting: bool = False) -> None:
        """End the run in progress, or the next one if a prompt for it is `waiting`."""
        ...

    def stop_call(self, tool_use_id: str) -> object:
        """End one call of the run."""
        ...

    def steer(self, message: Message) -> None:
        """Let the run read `message` with its next turn."""
        ...

    def unread(self) -> tuple[Message, ...]:
        """What came too late for that, taken out."""
        ...
