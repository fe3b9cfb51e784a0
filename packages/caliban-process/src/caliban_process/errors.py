"""What can go wrong with another program.

CalibanError
└── ProcessError         a program that could not do what it was started for
    ├── NotStarted       the system would not start it
    ├── InputClosed      it reads no input any more
    └── OutputTooLarge   it printed more than its command allows, and was ended
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class ProcessError(CalibanError):
    """A program that could not do what it was started for."""


class NotStarted(ProcessError):
    """The system would not start it: `reason` in its words, `errno` by its number where it gave one."""

    def __init__(self, program: str, reason: str, *, errno: int | None = None) -> None:
        super().__init__(f"{program} could not be started: {reason}")
        self.reason = reason
        self.errno = errno


class InputClosed(ProcessError):
    """It reads no input any more."""


class OutputTooLarge(ProcessError):
    """It printed more than its command allows, and was ended."""
