"""What stops the program before a run begins.

AppError             carries the exit code of its kind
├── UsageError       64: flags that do not exist or do not go together
├── ConfigError      78: settings, keys or directories that do not allow the run
└── MissingError     66: something named that is not there
"""

from __future__ import annotations

from typing import ClassVar

from caliban_common.errors import CalibanError


class AppError(CalibanError):
    """The program cannot start; `code` is the exit code."""

    code: ClassVar[int] = 1


class UsageError(AppError):
    """The flags are wrong."""

    code = 64


class ConfigError(AppError):
    """The configuration does not allow this."""

    code = 78


class MissingError(AppError):
    """What was named is not there."""

    code = 66
