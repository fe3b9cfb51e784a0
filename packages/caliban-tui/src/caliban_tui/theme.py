"""Which colours the roles of a screen have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field


class Theme(Struct, frozen=True, kw_only=True):
    """A name, and for each role the parameters of its SGR sequence; a role that is not there is plain.

    Without `colours` only bold, dim, italic, underline and reverse are sent.
    """

    name: str
    roles: Mapping[str, str] = field(default_factory=dict)
    colours: bool = True

    def sgr(self, style: str) -> str:
        """The parameters for `style`, empty for plain text."""
        return self.roles.get(style, "")


DARK: Final = Theme(
    name="dark",
    roles=MappingProxyType(
        {
            "dim": "2",
            "bold": "1",
            "prompt": "1;36",
            "code": "36",
            "heading": "1",
            "emphasis": "3",
            "link": "4;34",
            "added": "32",
            "removed": "31",
            "error": "31",
            "warning": "33",
            "success": "32",
            "tool": "1;34",
            "selected": "7",
        }
    ),
)
