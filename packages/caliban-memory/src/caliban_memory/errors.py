"""What can be wrong with notes and drafts.

CalibanError
└── MemoryFailed           a file of memory that cannot be read, kept or removed
    ├── MemoryFileRefused  one that the model is not told; it never leaves the package
    └── TopicRefused       a name, a description, a type or a text that no note can have
        └── TopicMissing   there is no note of that name
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class MemoryFailed(CalibanError):
    """A file of memory that cannot be read, kept or removed; the message says which and why."""


class MemoryFileRefused(MemoryFailed):
    """A file that the model is not told; the message is the reason in a list of what was left out."""


class TopicRefused(MemoryFailed):
    """A name, a description, a type or a text that no note can have; nothing was written."""


class TopicMissing(TopicRefused):
    """There is no note of that name."""
