"""The errors of this package.

TrustFailed
├── ConsentsUnusable    the file of consents is damaged, or others could have written it
└── ConsentNotKept      a consent cannot be written down
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class TrustFailed(CalibanError):
    """Consents cannot be read or kept."""


class ConsentsUnusable(TrustFailed):
    """The file of consents is damaged, belongs to somebody else, or is reached by a link: none counts."""


class ConsentNotKept(TrustFailed):
    """A consent cannot be written down; nothing was changed."""
