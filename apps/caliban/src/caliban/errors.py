"""What stops the program before a run begins.

AppError             carries the exit code of its kind
├── UsageError       64: flags that do not exist or do not go together
├── CommandRefused   1: a command did not do what was asked, and says why
├── CommandCancelled 124: a signal ended a command
├── ConfigError      78: settings, keys or directories that do not allow the run
│   └── MissingKey   the provider needs a key, and there is none
└── MissingError     66: something named that is not there

KeyFailed            an `AuthenticationError`, for it may come within a run; before one it means 78
"""

from __future__ import annotations

from typing import ClassVar

from caliban_common.errors import CalibanError
from caliban_provider.errors import AuthenticationError


class AppError(CalibanError):
    """The program cannot start; `code` is the exit code."""

    code: ClassVar[int] = 1


class UsageError(AppError):
    """The flags are wrong."""

    code = 64


class CommandRefused(AppError):
    """What a command was asked for is not to be had."""

    code = 1


class CommandCancelled(AppError):
    """A signal ended a command before it was done."""

    code = 124


class ConfigError(AppError):
    """The configuration does not allow this."""

    code = 78


class MissingKey(ConfigError):
    """A provider needs a key, and there is none."""


class MissingError(AppError):
    """What was named is not there."""

    code = 66


class KeyFailed(AuthenticationError):
    """The program that prints a key gave none."""
