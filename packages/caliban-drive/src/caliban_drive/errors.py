"""What a prompt can ask for in vain.

CalibanError
└── AttachmentRefused   a file named with @ is too large, or is nothing to read
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class AttachmentRefused(CalibanError):
    """A file that the prompt names cannot be attached; nothing was sent."""
