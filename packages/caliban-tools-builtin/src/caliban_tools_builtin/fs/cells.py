"""A notebook as a model reads it: cell by cell, results as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from caliban_common.lazy import lazy_pattern
from caliban_common.text import clean, plural
from caliban_tools_builtin.fs.notebook import Cell, Notebook

MAX_RESULT_CHARS: Final = 2000
"""Of one result of a cell."""
_COLOURS: Final = lazy_pattern(r"\x1b\[[0-9;]*m")


def shown_cells(notebook: Notebook, name: str) -> str:
    """All cells under a header, each with its number (from 0), its type and what it gave."""
    count = len(notebook.cells)
    parts = [f"→ Read {name}, {plural(count, 'cell')} (change them with NotebookEdit)"]
    for index, cell in enumerate(notebook.cells):
        parts.append(f"\n[cell {index}, {cell.type}]\n{cell.source}".rstrip("\n"))
        parts += (f"[result] {result}" for result in _results(cell))
    return clean("\n".join(parts))


def _results(cell: Cell) -> Iterator[str]:
    outputs = cell.data.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, Mapping):
            continue
        match output.get("output_type"):
            case "stream":
                yield _text(output.get("text"))
            case "error":
                yield _text(f"{output.get('ename')}: {output.get('evalue')}")
            case _:
                yield _shown(output.get("data"))


def _shown(data: object) -> str:
    """The richest form that is text; the others by name."""
    if not isinstance(data, Mapping):
        return ""
    for kind in ("text/markdown", "text/plain", "text/latex", "application/json"):
        if kind in data:
            others = [other for other in data if other.startswith("image/")]
            more = f" (and {', '.join(others)})" if others else ""
            return f"{_text(data[kind])}{more}"
    return f"({', '.join(map(str, data)) or 'nothing'})"


def _text(value: Any) -> str:
    text = "".join(map(str, value)) if isinstance(value, list) else str(value)
    text = _COLOURS.sub("", text).rstrip("\n")
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}… [{len(text) - MAX_RESULT_CHARS} more characters]"
