"""What can be wrong with hooks.

CalibanError
└── HooksError           the root of this package
    ├── BadHook          what is configured cannot be run as it stands
    ├── PatternRefused   what is no regular expression, or one that is not taken
    └── HookFailed       a hook was asked and gave no answer that counts
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class HooksError(CalibanError):
    """The root of what can be wrong with hooks."""


class BadHook(HooksError):
    """What is configured cannot be run as it stands; `place` says where it is written."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place


class PatternRefused(HooksError):
    """What is no regular expression, or one that is not taken."""


class HookFailed(HooksError):
    """A hook was asked and gave no answer that counts: it did not run, took too long, or said nonsense."""
