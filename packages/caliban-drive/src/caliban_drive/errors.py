"""What a prompt can ask for in vain.

CalibanError
├── AttachmentRefused   a file named with @ is too large, or is nothing to read
├── BadSchema           what should be a JSON Schema is none
└── SchemaMismatch      the answer does not fit its JSON Schema
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class AttachmentRefused(CalibanError):
    """A file that the prompt names cannot be attached; nothing was sent."""


class BadSchema(CalibanError):
    """There is no JSON Schema in what was given for one."""


class SchemaMismatch(CalibanError):
    """The answer does not fit the schema; the message says where."""
