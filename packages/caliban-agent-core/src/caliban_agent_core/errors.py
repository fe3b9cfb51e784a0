"""What can be wrong around a run.

    CalibanError
    ├── CompactionFailed      the history could not be made shorter; the old one still holds
    ├── RunNotFinished        the outcome of a run was asked for before its end
    └── ToolDefinitionError   a function or a set of tools that no model could be offered

What a provider or a tool fails at ends as a value: a `Stop`, a tool result.
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class CompactionFailed(CalibanError):
    """The history could not be made shorter; the old one still holds."""


class RunNotFinished(CalibanError):
    """The outcome of a run was asked for before its end."""


class ToolDefinitionError(CalibanError):
    """A function or a set of tools that no model could be offered; the message names what is wrong."""
