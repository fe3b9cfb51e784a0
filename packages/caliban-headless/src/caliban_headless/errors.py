"""What the headless face cannot go on with.

HeadlessError            carries the exit code of its kind
├── BadInput             64: a frame that is not of the documented shape, an empty prompt
├── MissingInput         66: standard input held no prompt
├── InputTooLarge        78: standard input above its bound
├── HostRefused          1: the program on the other end does not answer, or says no
├── Cancelled            124: a signal came before there was a run to cancel
└── OutputFailed         1: standard output does not take what is written, for instance a full disk
    └── OutputClosed     141: whoever read standard output went away
"""

from __future__ import annotations

from typing import ClassVar

from caliban_common.errors import CalibanError
from caliban_headless import exit_codes


class HeadlessError(CalibanError):
    """The face cannot go on; `code` is the exit code."""

    code: ClassVar[int] = exit_codes.FAILURE


class BadInput(HeadlessError):
    """The input is not of the documented shape."""

    code = exit_codes.USAGE


class MissingInput(HeadlessError):
    """There is no prompt."""

    code = exit_codes.NO_INPUT


class InputTooLarge(HeadlessError):
    """The input is above its bound."""

    code = exit_codes.CONFIG


class HostRefused(HeadlessError):
    """The program on the other end does not answer, or says no; the message is what it says."""


class Cancelled(HeadlessError):
    """A signal came before there was a run to cancel."""

    code = exit_codes.CANCELLED


class OutputFailed(HeadlessError):
    """Standard output does not take what is written; the message says why."""


class OutputClosed(OutputFailed):
    """Nobody reads standard output any more."""

    code = exit_codes.BROKEN_PIPE
