"""Notebooks: read as cells, and changed cell by cell while every other byte stays."""

from __future__ import annotations

import json
import re

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_tools_builtin.fs.notebook import new_cell, read_notebook

PNG = "iVBORw0KGgo="


def notebook(*cells, minor=5, indent=1, **more):
    return json.dumps(
        {"cells": list(cells), "metadata": {"x": 1.50}, "nbformat": 4, "nbformat_minor": minor, **more},
        indent=indent,
        ensure_ascii=False,
    )


def code(source, *outputs, id="c", count=3):
    return {
        "cell_type": "code",
        "execution_count": count,
        "id": id,
        "metadata": {"tags": ["é"]},
        "outputs": list(outputs),
        "source": source.splitlines(keepends=True),
    }


def markdown(source, id="m"):
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source.splitlines(keepends=True)}


STREAM = {"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]}
PICTURE = {
    "data": {"image/png": PNG, "text/plain": ["<Figure>"]},
    "metadata": {},
    "output_type": "display_data",
}
ERROR = {"ename": "ValueError", "evalue": "no", "output_type": "error", "traceback": ["\x1b[31mx"]}
BOOK = notebook(markdown("# Title\n\ntext"), code("x = 1\nprint(x)", STREAM, PICTURE, ERROR), code("y"))


@pytest.fixture
def book(ws):
    path = ws / "a.ipynb"
    path.write_text(BOOK + "\n")
    return path


def test_a_notebook_is_read_as_cells_with_what_they_gave(call, book):
    assert call("Read", path="a.ipynb").text == (
        "→ Read a.ipynb, 3 cells (change them with NotebookEdit)\n"
        "\n[cell 0, markdown]\n# Title\n\ntext\n"
        "\n[cell 1, code]\nx = 1\nprint(x)\n"
        "[result] one\ntwo\n[result] <Figure> (and image/png)\n[result] ValueError: no\n"
        "\n[cell 2, code]\ny"
    )


def test_its_lines_are_still_there_for_whoever_asks_for_some(call, book):
    assert '"cells": [' in call("Read", path="a.ipynb", limit=2).text


@pytest.mark.parametrize(
    "text", ["{}", '{"nbformat": 3, "worksheets": []}', "no json", '{"nbformat": 4, "cells": 1}']
)
def test_what_is_no_notebook_of_four_is_read_as_text_and_not_changed(call, ws, text):
    (ws / "a.ipynb").write_text(text)
    assert text in call("Read", path="a.ipynb").text
    output = call("NotebookEdit", path="a.ipynb", action="add", source="x")
    assert output.is_error and (
        "nbformat 4" in output.text or "not JSON" in output.text or "cells" in output.text
    )
    assert (ws / "a.ipynb").read_text() == text


def test_an_edit_changes_the_source_and_no_other_byte(call, book):
    before = book.read_text()
    output = call("NotebookEdit", path="a.ipynb", action="edit", index=1, source="x = 2\nprint('é')")
    after = book.read_text()
    assert output.text == f"→ NotebookEdit a.ipynb: edited code cell 1; 3 cells, {len(after.encode())} bytes"
    assert after == before.replace('"x = 1\\n",\n    "print(x)"', '"x = 2\\n",\n    "print(\'é\')"')


def test_deleting_shifts_the_cells_behind_it(call, book):
    assert not call("NotebookEdit", path="a.ipynb", action="delete", index=0).is_error
    assert book.read_text() == notebook(code("x = 1\nprint(x)", STREAM, PICTURE, ERROR), code("y")) + "\n"
    for _ in range(2):
        assert not call("NotebookEdit", path="a.ipynb", action="delete", index=0).is_error
    assert json.loads(book.read_text())["cells"] == []
    assert "no cells" in call("NotebookEdit", path="a.ipynb", action="delete", index=0).text
    assert not call("NotebookEdit", path="a.ipynb", action="add", source="z", cell_type="raw").is_error
    (cell,) = json.loads(book.read_text())["cells"]
    assert book.read_text() == notebook(cell) + "\n"


@pytest.mark.parametrize("index", [None, 0, 1, 3])
def test_a_cell_is_added_at_its_place_in_the_style_of_the_file(call, book, index):
    args = {} if index is None else {"index": index}
    assert not call("NotebookEdit", path="a.ipynb", action="add", source="new\n", **args).is_error
    cells = json.loads(book.read_text())["cells"]
    new = cells[3 if index is None else index]
    assert re.fullmatch("[0-9a-f]{8}", new["id"])
    assert new == {**new_cell("code", "new\n", new["id"])}
    assert book.read_text() == notebook(*cells) + "\n"
    del cells[3 if index is None else index]
    assert cells == json.loads(BOOK)["cells"]


def test_another_type_keeps_id_and_metadata_and_results_only_where_they_make_sense(call, book):
    call("NotebookEdit", path="a.ipynb", action="edit", index=1, cell_type="markdown")
    call("NotebookEdit", path="a.ipynb", action="edit", index=0, cell_type="code", source="1")
    first, second, _ = json.loads(book.read_text())["cells"]
    assert second == {**markdown("x = 1\nprint(x)", id="c"), "metadata": {"tags": ["é"]}}
    assert first == {**markdown("1"), "cell_type": "code", "execution_count": None, "outputs": []}


@pytest.mark.parametrize(("kind", "stay"), [("raw", True), ("markdown", True), ("code", False)])
def test_attachments_stay_with_a_cell_whose_type_may_have_them(call, book, kind, stay):
    pictures = {"a.png": {"image/png": PNG}}
    book.write_text(notebook({**markdown("![](attachment:a.png)"), "attachments": pictures}))
    call("NotebookEdit", path="a.ipynb", action="edit", index=0, cell_type=kind, source="x")
    (cell,) = json.loads(book.read_text())["cells"]
    assert cell.get("attachments") == (pictures if stay else None)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"action": "edit", "index": 3, "source": "x"}, "between 0 and 2"),
        ({"action": "edit", "source": "x"}, "'index' is required to edit"),
        ({"action": "delete"}, "'index' is required to delete"),
        ({"action": "add"}, "missing required argument 'source'"),
        ({"action": "run", "index": 0}, "must be one of add, edit, delete"),
        ({"action": "edit", "index": 0, "cell_type": "sql"}, "must be one of code, markdown, raw"),
        ({"action": "edit", "index": 2, "source": "y"}, "nothing to change"),
        ({"action": "edit", "index": 0, "source": "\ud800"}, "not valid Unicode"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_written(call, book, args, why):
    before = book.read_bytes()
    output = call("NotebookEdit", path="a.ipynb", **args)
    assert output.is_error and why in output.text
    assert book.read_bytes() == before


def test_a_notebook_that_changed_since_it_was_read_is_stale(call, book):
    call("Read", path="a.ipynb")
    book.write_text(BOOK)
    assert "is stale" in call("NotebookEdit", path="a.ipynb", action="delete", index=0).text


def test_a_large_notebook_is_read_and_its_results_are_cut(call, ws):
    big = {"data": {"image/png": "A" * 6_000_000, "text/plain": "x" * 2002}, "output_type": "display_data"}
    (ws / "a.ipynb").write_text(notebook(code("y", big)))
    output = call("Read", path="a.ipynb")
    assert "x… [2 more characters]" in output.text and len(output.text) < 3000


@settings(max_examples=examples(80), deadline=None)
@given(
    indent=st.sampled_from([None, 1, 2, "\t"]),
    ends=st.sampled_from(["\n", "\r\n"]),
    sources=st.lists(st.text(alphabet='a"\\\né{}[],', max_size=6), min_size=1, max_size=4),
    new=st.text(alphabet='b"\\\n€{}[],', max_size=6),
    data=st.data(),
)
def test_whatever_the_style_only_the_one_cell_changes(indent, ends, sources, new, data):
    text = notebook(*(code(source, id=str(n)) for n, source in enumerate(sources)), indent=indent)
    text = text.replace("\n", ends)
    index = data.draw(st.integers(0, len(sources) - 1))
    old = json.loads(text)
    book = read_notebook(text, "x")
    edited = json.loads(book.with_source(index, new))
    assert "".join(edited["cells"][index].pop("source")) == new
    without = json.loads(text)
    del without["cells"][index]["source"]
    assert edited == without
    shorter = json.loads(book.without(index))
    assert shorter == {**old, "cells": [*old["cells"][:index], *old["cells"][index + 1 :]]}
    cell = new_cell("raw", new, "n")
    longer = json.loads(book.with_added(index, cell))
    assert longer == {**old, "cells": [*old["cells"][:index], cell, *old["cells"][index:]]}
    assert json.loads(book.with_added(len(sources), cell))["cells"] == [*old["cells"], cell]
    if isinstance(indent, int):
        styled = json.dumps(longer, indent=indent, ensure_ascii=False).replace("\n", ends)
        assert book.with_added(index, cell) == styled


def test_a_cell_may_be_named_by_its_id_as_other_harnesses_do(call, book):
    def ids():
        return [cell["id"] for cell in json.loads(book.read_text())["cells"]]

    book.write_text(notebook(markdown("a", id="first"), code("b", id="second"), code("c", id="3")))
    call("Read", path="a.ipynb")
    edited = call("NotebookEdit", path="a.ipynb", action="replace", cell_id="second", source="x")
    assert edited.text.startswith("→ NotebookEdit a.ipynb: edited code cell 1;"), edited.text
    call("NotebookEdit", path="a.ipynb", action="insert", cell_id="first", source="new")
    assert ids()[0] == "first" and ids()[2:] == ["second", "3"]
    call("NotebookEdit", path="a.ipynb", action="delete", cell_id="cell-0")
    call("NotebookEdit", path="a.ipynb", action="delete", cell_id="3", index=2)
    assert ids()[1:] == ["second"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"cell_id": "gone"}, "no cell has the id 'gone'"),
        ({"cell_id": "cell-9"}, "no cell has the id 'cell-9'"),
        ({"cell_id": "cell-" + "9" * 5_000}, "no cell has the id"),
        ({"cell_id": "m", "index": 1}, "'index' is 1, and the cell with that 'cell_id' is 0"),
        ({"cell_id": ["m"]}, "cell_id"),
        ({"cell_id": ""}, "argument 'index' is required to delete a cell"),
    ],
)
def test_an_id_that_names_no_cell_is_refused(call, book, args, words):
    call("Read", path="a.ipynb")
    output = call("NotebookEdit", path="a.ipynb", action="delete", **args)
    assert output.is_error and words in output.text
    assert book.read_text() == BOOK + "\n"
