"""What the headless face cannot go on with.

HeadlessError            carries the exit code of its kind
├── BadInput             64: a frame that is not of the documented shape, an empty prompt
├── MissingInput         66: standard input held no prompt
├── InputTooLarge        78: standard input above its bound
├── Cancelled            124: a signal came before there was a run to cancel
├── OutputFailed         1: standard output does not take what is written, for instance a full disk
│   └── OutputClosed     141: whoever read standard output went away
└── SchemaMismatch       2: the answer does not fit its JSON Schema
"""

from __future__ import annotations

from typing import ClassVar

from caliban_common.errors import CalibanError
from caliban_headless import exit


class HeadlessError(CalibanError):
    """The face cannot go on; `code` is the exit code."""

    code: ClassVar[int] = exit.FAILURE


class BadInput(HeadlessError):
    """The input is not of the documented shape."""

    code = exit.USAGE


class MissingInput(HeadlessError):
    """There is no prompt."""

    code = exit.NO_INPUT


class InputTooLarge(HeadlessError):
    """The input is above its bound."""

    code = exit.CONFIG


class Cancelled(HeadlessError):
    """A signal came before there was a run to cancel."""

    code = exit.CANCELLED


class OutputFailed(HeadlessError):
    """Standard output does not take what is written; the message says why."""


class OutputClosed(OutputFailed):
    """Nobody reads standard output any more."""

    code = exit.BROKEN_PIPE


class SchemaMismatch(HeadlessError):
    """The answer does not fit the schema; the message says where."""

    code = exit.BAD_ANSWER
