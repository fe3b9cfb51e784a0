"""Code of texts that modules compile: it is what would be compiled, and only of imported classes."""

from __future__ import annotations

import collections
import dataclasses
import marshal
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from caliban.compiled_texts import MAX_TEXT, CompiledTexts

CLASSES = """\
import collections, dataclasses, typing
Point = collections.namedtuple("Point", "x y", defaults=(2,))

class Pair(typing.NamedTuple):
    first: int
    second: str = "b"

@dataclasses.dataclass(frozen=True, order=True)
class Row:
    name: str
    size: int = 3
    parts: list = dataclasses.field(default_factory=list, compare=False)
"""


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    for module in (collections, dataclasses):
        for name in ("eval", "exec"):
            vars(module).pop(name, None)


def serving(data: bytes = b"") -> CompiledTexts:
    texts = CompiledTexts(data)
    for module in (collections, dataclasses):
        texts.serve(module)
    return texts


def imported(text: str, name: str = "made") -> ModuleType:
    """What an import of a module with this text makes."""
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(compile(text, name, "exec"), vars(module))
    finally:
        del sys.modules[name]
    return module


def test_classes_of_kept_code_are_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    first = serving()
    imported(CLASSES)
    assert first.missed >= 3
    second = serving(first.packed())
    monkeypatch.setitem(vars(sys.modules["caliban.compiled_texts"]), "compile", None)
    made = imported(CLASSES)
    assert second.missed == 0
    assert made.Point(1) == (1, 2) and made.Point._fields == ("x", "y")
    assert repr(made.Pair(1)) == "Pair(first=1, second='b')"
    row = made.Row("a")
    assert (repr(row), row < made.Row("b"), row == made.Row("a", parts=[1])) == (
        "Row(name='a', size=3, parts=[])",
        True,
        True,
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.name = "other"
    with pytest.raises(TypeError, match=r"Row.__init__\(\) missing 1 required positional argument: 'name'"):
        made.Row()


def test_what_a_running_program_makes_is_not_kept() -> None:
    texts = serving()
    made = collections.namedtuple("made", "a b")
    dataclasses.make_dataclass("Other", [("secret_of_a_user", int)])
    imported("def make():\n    import collections\n    collections.namedtuple('Late', 'q')\n").make()
    assert (made(1, 2).a, texts.missed) == (1, 0)


def test_a_text_of_any_length_is_compiled_and_a_long_one_is_not_kept() -> None:
    texts = serving()
    fields = " ".join(f"f{number}" for number in range(MAX_TEXT // 4))
    made = imported(f"import collections\nBig = collections.namedtuple('Big', {fields!r})")
    assert len(made.Big._fields) == MAX_TEXT // 4
    assert texts.missed == 0


def test_what_was_kept_before_stays() -> None:
    first = serving()
    imported("import collections\ncollections.namedtuple('A', 'a b')")
    second = serving(first.packed())
    imported("import collections\ncollections.namedtuple('B', 'c d')")
    assert sorted(text for _, text in marshal.loads(second.packed())) == [
        "lambda _cls, a, b: _tuple_new(_cls, (a, b))",
        "lambda _cls, c, d: _tuple_new(_cls, (c, d))",
    ]


def test_without_a_text_or_a_place_to_run_it_is_the_builtin() -> None:
    serving()
    served: Any = vars(collections)
    code = compile("1 + 1", "<string>", "eval")
    assert served["eval"](code, {}) == served["eval"]("1 + 1", {}) == 2
    space: dict[str, Any] = {}
    served["exec"]("x = 1", space, space)
    assert space["x"] == 1
    with pytest.raises(SyntaxError):
        served["eval"]("1 +", {})


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage", marshal.dumps([1]), marshal.dumps({("eval", "x"): 5}), marshal.dumps({5: b""})],
)
def test_garbage_is_as_nothing(data: bytes) -> None:
    texts = serving(data)
    assert imported(CLASSES).Point(1).y == 2
    assert texts.missed >= 3
