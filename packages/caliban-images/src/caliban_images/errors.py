"""What keeps a picture or a document from a model.

CalibanError
└── MediaRefused   it is corrupt, too large, or of a kind that the model does not take
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class MediaRefused(CalibanError):
    """The message says what is wrong with it; where an extra would help, the hint and the remedy name it."""
