"""Code in colours: by the name that its fence gives, never by a guess."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from caliban_tui.line import ScreenLine, StyledText, plain

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_LINES: Final = 400
"""More are shown plain: a line takes 0.06 ms."""
MAX_CHARS: Final = 40_000
MAX_LINE_CHARS: Final = 1_000

ROLES: Final = (
    ("Token.Comment", "syntax_comment"),
    ("Token.Literal.String", "syntax_string"),
    ("Token.Literal.Number", "syntax_number"),
    ("Token.Keyword.Type", "syntax_type"),
    ("Token.Keyword", "syntax_keyword"),
    ("Token.Operator.Word", "syntax_keyword"),
    ("Token.Operator", "syntax_operator"),
    ("Token.Name.Function", "syntax_name"),
    ("Token.Name.Class", "syntax_name"),
    ("Token.Name.Decorator", "syntax_name"),
    ("Token.Name.Tag", "syntax_variable"),
    ("Token.Name.Attribute", "syntax_variable"),
    ("Token.Name.Builtin", "syntax_type"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Name.Variable", "syntax_variable"),
    ("Token.Generic.Heading", "heading"),
    ("Token.Generic.Subheading", "heading"),
)
"""Which role of the theme a token has; others look like text."""


def code_lines(lines: Sequence[str], language: str) -> list[ScreenLine]:
    """The lines in colours, as many as there are."""
    lexer = _lexer(language) if _is_small(lines) else None
    if lexer is None:
        return [plain(line, "code") if line else () for line in lines]
    drawn: list[list[StyledText]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(lines)):
        role = _role(str(kind))
        for number, part in enumerate(value.split("\n")):
            if number:
                drawn.append([])
            if part:
                row = drawn[-1]
                if row and row[-1].style == role:
                    row[-1] = row[-1]._replace(text=row[-1].text + part)
                else:
                    row.append(StyledText(part, role))
    whole = [tuple(row) for row in drawn[: len(lines)]]
    return whole + [()] * (len(lines) - len(whole))


def _is_small(lines: Sequence[str]) -> bool:
    sizes = [len(line) for line in lines]
    return len(sizes) <= MAX_LINES and sum(sizes) <= MAX_CHARS and max(sizes, default=0) <= MAX_LINE_CHARS


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    if not language or language in ("text", "plain", "output", "txt"):
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except (ClassNotFound, ValueError):
        return None


@lru_cache(maxsize=512)
def _role(kind: str) -> str:
    return next((role for name, role in ROLES if kind.startswith(name)), "")
