"""A Jupyter notebook (nbformat 4) as text whose cells have places: what is not edited keeps every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_tools_builtin.errors import FileRefused

CELL_TYPES: Final = ("code", "markdown", "raw")
_BLANK: Final = lazy_pattern(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


class Cell(Struct, frozen=True, kw_only=True):
    """One cell, and where it stands in the text."""

    start: int
    end: int
    data: Mapping[str, Any]

    @property
    def type(self) -> str:
        return str(self.data.get("cell_type"))

    @property
    def source(self) -> str:
        """Its text, whichever of the two forms it has."""
        source = self.data.get("source", "")
        return "".join(map(str, source)) if isinstance(source, list) else str(source)


class Notebook(Struct, frozen=True, kw_only=True):
    """The text of a notebook. Its array of cells stands at `start`..`end`, brackets included."""

    text: str
    cells: tuple[Cell, ...]
    start: int
    end: int
    has_ids: bool

    def with_source(self, index: int, source: str) -> str:
        """The text after the source of a cell became `source`: that alone is replaced."""
        cell = self.cells[index]
        places = {key: (start, end) for key, start, end in _members(self.text, cell.start)}
        if "source" not in places:
            return self.with_cell(index, {**cell.data, "source": _form(source, as_lines=True)})
        start, end = places["source"]
        form = _form(source, as_lines=not isinstance(cell.data["source"], str))
        return self._spliced(start, end, self._rendered(form, start))

    def with_cell(self, index: int, data: Mapping[str, Any]) -> str:
        """The text after a cell became `data`."""
        cell = self.cells[index]
        return self._spliced(cell.start, cell.end, self._rendered(data, cell.start))

    def with_added(self, index: int, data: Mapping[str, Any]) -> str:
        """The text with a further cell, which stands at `index` then."""
        if not self.cells:
            cell = self._rendered(data, self.start, deeper=1)
            lead, close = self._indent(self.start, deeper=1), self._indent(self.start)
            return self._spliced(self.start, self.end, f"[{lead}{cell}{close}]")
        if index < len(self.cells):
            place = self.cells[index].start
            return self._spliced(place, place, f"{self._rendered(data, place)},{self._lead(place) or ' '}")
        last = self.cells[-1]
        rendered = self._rendered(data, last.start)
        return self._spliced(last.end, last.end, f",{self._lead(last.start) or ' '}{rendered}")

    def without(self, index: int) -> str:
        """The text without a cell, and without the comma that set it apart."""
        cells = self.cells
        if len(cells) == 1:
            return self._spliced(self.start, self.end, "[]")
        if index + 1 < len(cells):
            return self._spliced(cells[index].start, cells[index + 1].start, "")
        return self._spliced(cells[index - 1].end, cells[index].end, "")

    @property
    def _unit(self) -> str:
        """By how much the file indents; empty for one without lines."""
        match = re.match(r"\s*\{\r?\n([ \t]+)", self.text)
        return match[1] if match else ""

    def _lead(self, place: int) -> str:
        """The line break and the indentation before `place`; empty where it begins no line."""
        match = re.search(r"\r?\n[ \t]*\Z", self.text[max(0, place - 200) : place])
        return match[0] if match else ""

    def _indent(self, place: int, *, deeper: int = 0) -> str:
        """A line break, and the indentation of the line of `place`."""
        if not self._unit:
            return ""
        line = self.text.rfind("\n", 0, place) + 1
        blanks = re.match(r"[ \t]*", self.text[line:place])
        ends = "\r\n" if "\r\n" in self.text else "\n"
        return f"{ends}{blanks[0] if blanks else ''}{self._unit * deeper}"

    def _rendered(self, value: Any, place: int, *, deeper: int = 0) -> str:
        """`value` as JSON in the style of the file, as it stands at `place`."""
        ascii_only = self.text.isascii() and "\\u" in self.text
        if not self._unit:
            return json.dumps(value, ensure_ascii=ascii_only)
        text = json.dumps(value, ensure_ascii=ascii_only, indent=self._unit)
        return text.replace("\n", self._indent(place, deeper=deeper))

    def _spliced(self, start: int, end: int, text: str) -> str:
        return self.text[:start] + text + self.text[end:]


def new_cell(type: str, source: str, id: str | None) -> dict[str, Any]:
    """A cell that was never run."""
    cell: dict[str, Any] = {"cell_type": type}
    if type == "code":
        cell["execution_count"] = None
    if id is not None:
        cell["id"] = id
    cell["metadata"] = {}
    if type == "code":
        cell["outputs"] = []
    return {**cell, "source": _form(source, as_lines=True)}


def retyped(cell: Mapping[str, Any], type: str, source: str) -> dict[str, Any]:
    """The cell as one of another type: id and metadata stay, results only for code, attachments for text."""
    apart = ("execution_count", "outputs", "attachments" if type == "code" else "outputs")
    kept = {key: value for key, value in cell.items() if key not in apart}
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if type == "code" else {}
    return {**kept, **more, "cell_type": type, "source": _form(source, as_lines=True)}


def read_notebook(text: str, shown: str) -> Notebook:
    """The notebook in `text`. Raises `FileRefused` for what is no notebook of nbformat 4."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileRefused(f"{shown} is not a notebook: it is not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("nbformat") != 4:
        version = data.get("nbformat") if isinstance(data, dict) else None
        hint = "convert it to that format with Jupyter"
        raise FileRefused(f"{shown} is not a notebook of nbformat 4 (it says {version!r})", hint=hint)
    spans = {key: (start, end) for key, start, end in _members(text, _skip(text, 0))}
    if not isinstance(data.get("cells"), list) or not all(isinstance(cell, dict) for cell in data["cells"]):
        raise FileRefused(f"{shown} has no list of cells")
    start, end = spans["cells"]
    minor = data.get("nbformat_minor")
    return Notebook(
        text=text,
        cells=tuple(_cells(text, start)),
        start=start,
        end=end,
        has_ids=isinstance(minor, int) and minor >= 5,
    )


def _cells(text: str, start: int) -> Iterator[Cell]:
    place = _skip(text, start + 1)
    while text[place] != "]":
        data, end = _DECODER.raw_decode(text, place)
        yield Cell(start=place, end=end, data=data)
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The members of the object at `start`: name, and where the value begins and ends."""
    place = _skip(text, start + 1)
    while text[place] != "}":
        key, end = scanstring(text, place + 1)
        value = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield key, value, end
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    """The first place from `place` on that is no blank."""
    match = _BLANK.match(text, place)
    return place if match is None else match.end()


def _form(source: str, *, as_lines: bool) -> str | list[str]:
    """A source as notebooks have it: a list of lines with their ends, or one text."""
    return source.splitlines(keepends=True) if as_lines else source
