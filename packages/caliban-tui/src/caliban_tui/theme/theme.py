"""Which colours the roles of a screen have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

ROLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "dim": "what is there to be found, not to be read: hints, times, the status line",
        "bold": "strong words",
        "emphasis": "words that are stressed",
        "struck": "words that are taken back",
        "prompt": "what a person said",
        "reply": "what the model said",
        "reasoning": "what the model thought",
        "heading": "a heading",
        "code": "code, commands and paths within a line, and lines of code without a known language",
        "link": "an address, or words that lead to one",
        "quote": "words that are quoted",
        "rule": "what separates: the lines of a table, a rule, the bar beside a quote",
        "added": "a line that an edit adds, a sign of more",
        "removed": "a line that an edit takes away",
        "added_part": "what within an added line is new",
        "removed_part": "what within a removed line is gone",
        "hunk": "where in a file a piece of a diff is; line numbers",
        "error": "what failed",
        "warning": "what to be careful of; the head of a question",
        "success": "what is done",
        "info": "what is worth knowing",
        "tool": "a tool call",
        "agent": "a sub-agent, and what is its",
        "selected": "the row of a list that Enter takes",
        "match": "the characters of a row, or of a page, that were looked for",
        "key": "a key to press",
        "mode": "the permission mode, where it is not the default",
        "danger": "a mode or a call that is fenced by nothing",
        "working": "that a prompt is at work",
        "todo": "a task that is not begun",
        "todo_now": "the task that is being done",
        "todo_done": "a task that is done",
        "syntax_keyword": "code: words of the language",
        "syntax_string": "code: text",
        "syntax_number": "code: numbers and constants",
        "syntax_comment": "code: comments",
        "syntax_name": "code: names that are defined: functions, classes",
        "syntax_type": "code: types and built-in names",
        "syntax_operator": "code: operators and punctuation",
        "syntax_variable": "code: variables, attributes and tags",
        "syntax_error": "code: what is no code of that language",
    }
)
"""Every role, and what it is for. A style is one of them, or several with blanks between: `bold link`."""


class Theme(Struct, frozen=True, kw_only=True):
    """A name, and for each role the parameters of its SGR sequence; a role that is not there is plain.

    Without `colours` only bold, dim, italic, underline and reverse are sent. Without `unicode` marks are
    ASCII, without `links` no address is sent beside its words.
    """

    name: str
    roles: Mapping[str, str] = field(default_factory=dict)
    colours: bool = True
    unicode: bool = True
    links: bool = True

    def sgr(self, style: str) -> str:
        """The parameters for `style`, empty for plain text."""
        if style.startswith("sgr:"):  # the colours of a program of the person's own
            return style[4:] if self.colours else ""
        if " " not in style:
            return self.roles.get(style, "")
        return ";".join(code for role in style.split() if (code := self.roles.get(role, "")))


PLAIN: Final = Theme(name="plain", colours=False)
"""Nothing but text."""

DARK: Final = Theme(
    name="dark",
    roles=MappingProxyType(
        {
            "dim": "2",
            "bold": "1",
            "emphasis": "3",
            "struck": "9",
            "prompt": "1;36",
            "reasoning": "2;3",
            "heading": "1",
            "code": "36",
            "link": "4;34",
            "quote": "2",
            "rule": "2",
            "added": "32",
            "removed": "31",
            "added_part": "32;7",
            "removed_part": "31;7",
            "hunk": "2",
            "error": "31",
            "warning": "33",
            "success": "32",
            "info": "36",
            "tool": "1;34",
            "agent": "35",
            "selected": "7",
            "match": "1;33",
            "key": "1",
            "mode": "33",
            "danger": "1;31",
            "working": "36",
            "todo_now": "1",
            "todo_done": "2",
            "syntax_keyword": "35",
            "syntax_string": "32",
            "syntax_number": "33",
            "syntax_comment": "2",
            "syntax_name": "34",
            "syntax_type": "36",
        }
    ),
)
"""The colours of the terminal itself, before anything is known of it."""
