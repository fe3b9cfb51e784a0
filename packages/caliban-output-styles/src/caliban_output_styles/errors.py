"""The errors of this package.

StyleFailed
├── StyleRefused   a file is no output style: the message says file, line, key and what was expected
└── NoSuchStyle    there is no output style of that name
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class StyleFailed(CalibanError):
    """An output style cannot be used."""


class StyleRefused(StyleFailed):
    """A file is no output style."""


class NoSuchStyle(StyleFailed):
    """There is no output style of that name."""
