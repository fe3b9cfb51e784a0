"""A block of Markdown as lines. Each is parsed once, when it is closed; the open one at every frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from caliban_common.lazy import lazy_pattern
from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.markdown.code import code_lines
from caliban_tui.markdown.inline import addressed, spans_of
from caliban_tui.markdown.references import LinkReference, environment, without_definitions
from caliban_tui.markdown.splitter import DELIMITERS, cell_count
from caliban_tui.markdown.table import table_lines
from caliban_tui.markdown.words import WordSpan, wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PARSED_CHARS: Final = 66_000
"""More at once is shown as it stands: the splitter gives up blocks before they are as large."""
OPEN_CHARS: Final = 8_192
"""Likewise of the open block, which is parsed at every frame."""
MAX_DEPTH: Final = 400
"""Of nested blocks, whose texts a parser leaves out beyond. What is deeper on one line is shown plain."""
DEEP: Final = lazy_pattern(r"(?m)^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){50}")
TASKS: Final = MappingProxyType({"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"})
MAX_IMAGES: Final = 100
"""In a block: a parser looks for the end of each in all that follow, 0.2 s for 250 that have none."""
MAX_CELLS: Final = 10_000
"""Of a table, those that stand empty included: a row of one sign has as many as the header."""
MARKED: Final = lazy_pattern(r"[*_`\[<&\\~!|#>=]|--|(?m:^[ \t]*(?:[-+]|\d+[.)])(?:[ \t]|$)|^ {2}|\t|^\s)")
"""What a text has that is more than words; others need no parser."""


class MarkdownRow(NamedTuple):
    """A line; one that is `flush` takes no indentation, so that a copy of it is whole."""

    line: ScreenLine
    is_flush: bool = False


def markdown_lines(
    text: str,
    columns: int,
    *,
    ordinal: int = 0,
    fence: str = "",
    references: Sequence[LinkReference] = (),
    hard: bool = False,
) -> list[ScreenLine]:
    """The lines of a block; with `hard`, which is for an open one, none is wider than `columns` but code.

    Code gets its colours once it is closed. `ordinal`, `fence` and `references` are those of `ReplyBlock`.
    """
    text = neutral(text)
    if fence:
        return _rest_of_fence(text, neutral(fence), is_open=hard)
    if len(text) > PARSED_CHARS:
        return plain_lines(text, columns, hard=hard)
    words = text.rstrip(" ")
    if not MARKED.search(words):
        return plain_lines(words, columns, hard=hard)
    if DEEP.search(text) or text.count("![") > MAX_IMAGES or ("|" in text and _is_odd_table(text)):
        return plain_lines(text, columns, hard=hard)
    try:
        known = environment(references) if references else {}
        tree = _tree(_parser().parse(without_definitions(text), known))
        return [row.line for row in MarkdownDrawing(hard).children(tree, columns, ordinal=ordinal)]
    except (RecursionError, ValueError):
        return plain_lines(text, columns, hard=hard)


def preload() -> None:
    """Load what a first reply needs, in a moment in which nobody waits for it: 0.07 s."""
    _parser().parse("*a*")
    code_lines(["a = 1"], "python")


def plain_lines(text: str, columns: int, style: str = "", *, hard: bool = False) -> list[ScreenLine]:
    """Text without controls as it stands, wrapped at words; addresses in it lead somewhere."""
    lines: list[ScreenLine] = []
    for row in text.split("\n"):
        lines += wrapped(addressed(row, style), columns, hard=hard)
    return lines


def info_of(opening: str) -> str:
    """The language that a fence's first line names."""
    words = opening.strip().lstrip("`~").split()
    return words[0].strip("{}.,").split(",")[0].lower() if words else ""


def _is_odd_table(text: str) -> bool:
    """Whether a parser would leave out cells that have no column, or make up more of them than it should."""
    count = 0
    for rows, line in enumerate(text.split("\n")):
        row = line.lstrip(" >\t")
        if count and (cell_count(row) > count or rows * count > MAX_CELLS):
            return True
        if not count and DELIMITERS.match(row):
            count = cell_count(row)
    return False


def _rest_of_fence(text: str, opening: str, *, is_open: bool) -> list[ScreenLine]:
    """A later part of a long fence: all of it is code, but for the line that closes it."""
    lines = text.split("\n")
    mark = opening.strip()[: len(opening.strip()) - len(opening.strip().lstrip(opening.strip()[0]))]
    last = lines[-1].strip()
    if last.startswith(mark) and not last.strip(mark[0]):
        lines.pop()
    return code_lines(lines, "" if is_open else info_of(opening))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_DEPTH})
    parser.disable(["html_block", "html_inline", "reference"]).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # `safe_link` judges
    return parser


class MarkdownNode:
    """A token with what stands between it and the one that closes it."""

    def __init__(self, token: Token | None, type: str) -> None:
        self.token = token
        self.type = type
        self.children: list[MarkdownNode] = []


def _tree(tokens: Sequence[Token]) -> MarkdownNode:
    open_nodes = [MarkdownNode(None, "root")]
    for token in tokens:
        if token.nesting < 0:
            open_nodes.pop()
            continue
        node = MarkdownNode(token, token.type.removesuffix("_open"))
        open_nodes[-1].children.append(node)
        if token.nesting > 0:
            open_nodes.append(node)
    return open_nodes[0]


class MarkdownDrawing:
    """The nodes of a tree as rows. `hard` breaks words that are wider than a row."""

    def __init__(self, hard: bool) -> None:
        self._hard = hard

    def children(
        self, node: MarkdownNode, columns: int, *, ordinal: int = 0, tight: bool = False
    ) -> list[MarkdownRow]:
        """The rows of all children, an empty one between two unless the list is `tight`."""
        rows: list[MarkdownRow] = []
        for number, child in enumerate(node.children):
            if number and not tight:
                rows.append(MarkdownRow(()))
            rows += self._node(child, columns, ordinal)
        return rows

    def _node(self, node: MarkdownNode, columns: int, ordinal: int) -> Sequence[MarkdownRow]:
        match node.type:
            case "paragraph":
                return self._inline(node, columns)
            case "heading":
                return self._inline(node, columns, "heading")
            case "fence" | "code_block":
                content = node.token.content if node.token is not None else ""
                lines = content.removesuffix("\n").split("\n") if content else []
                is_done = node.token is not None and not self._hard
                language = info_of(node.token.info) if is_done and node.token is not None else ""
                return [MarkdownRow(line, True) for line in code_lines(lines, language)]
            case "bullet_list" | "ordered_list":
                return list(self._list(node, columns, ordinal))
            case "blockquote":
                bar = StyledText("│ ", "rule")
                inner = self.children(node, max(columns - 2, 1))
                return [row if row.is_flush else MarkdownRow((bar, *row.line)) for row in inner]
            case "hr":
                return [MarkdownRow((StyledText("─" * min(columns, 8), "rule"),))]
            case "table":
                cells = [
                    [tuple(_spans(cell)) for cell in row.children]
                    for part in node.children
                    for row in part.children
                ]
                return [MarkdownRow(line) for line in table_lines(cells, columns, hard=self._hard)]
            case _:
                content = node.token.content if node.token is not None else ""
                return [MarkdownRow(line) for line in plain_lines(content, columns, hard=self._hard)]

    def _inline(self, node: MarkdownNode, columns: int, style: str = "") -> list[MarkdownRow]:
        lines = wrapped(_spans(node, style), columns, hard=self._hard)
        return [MarkdownRow(line) for line in lines]

    def _list(self, node: MarkdownNode, columns: int, ordinal: int) -> Iterator[MarkdownRow]:
        number = ordinal or int(node.token.attrs.get("start", 1) if node.token is not None else 1)
        is_tight = _is_tight(node)
        for place, item in enumerate(node.children):
            if place and not is_tight:
                yield MarkdownRow(())
            mark = f"{number + place}. " if node.type == "ordered_list" else "• "
            mark = _task_mark(item, mark)
            inner = self.children(item, max(columns - len(mark), 1), tight=is_tight)
            yield from _marked(inner or [MarkdownRow(())], mark)


def _task_mark(item: MarkdownNode, mark: str) -> str:
    """A box in the place of the point where the item is a task; its own sign goes."""
    first = item.children[0] if item.children else None
    inline = first.children[0].token if first is not None and first.children else None
    if first is None or first.type != "paragraph" or inline is None or not inline.children:
        return mark
    words = inline.children[0]
    box = TASKS.get(words.content[:4]) if words.type == "text" else None
    if box is None:
        return mark
    words.content = words.content[4:]
    return f"{box} " if mark == "• " else f"{mark}{box} "


def _marked(rows: Sequence[MarkdownRow], mark: str) -> Iterator[MarkdownRow]:
    indent = StyledText(" " * len(mark))
    if rows[0].is_flush:
        yield MarkdownRow((StyledText(mark.rstrip(), "dim"),))
    for number, row in enumerate(rows):
        if row.is_flush or not row.line:
            yield row if number or row.is_flush else MarkdownRow((StyledText(mark.rstrip(), "dim"),))
        else:
            yield MarkdownRow((StyledText(mark, "dim") if not number else indent, *row.line))


def _is_tight(node: MarkdownNode) -> bool:
    return all(
        child.token is not None and child.token.hidden
        for item in node.children
        for child in item.children
        if child.type == "paragraph"
    )


def _spans(node: MarkdownNode, style: str = "") -> Iterator[WordSpan]:
    for child in node.children:
        if child.type == "inline" and child.token is not None:
            yield from spans_of(child.token.children or (), style)
