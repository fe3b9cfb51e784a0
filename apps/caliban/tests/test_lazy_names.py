"""The names of a package that a start has read are what it would read."""

from __future__ import annotations

import importlib
import marshal
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import anyio.abc
import pytest

from caliban.lazy_names import READER, LazyNames

MODULE = importlib.import_module("anyio._lazyimport")


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    original = getattr(MODULE, READER)
    yield
    setattr(MODULE, READER, original)


def read(package: ModuleType) -> Any:
    return getattr(MODULE, READER)(package)


def test_names_that_were_read_are_read_once() -> None:
    expected = {package: read(package) for package in (anyio, anyio.abc)}
    assert all(len(names[0]) > 20 for names in expected.values()), "anyio has another reader: see `READER`"
    first = LazyNames(b"")
    first.serve(MODULE)
    assert {package: read(package) for package in expected} == expected
    assert first.missed == 2
    setattr(MODULE, READER, None)
    second = LazyNames(first.packed())
    second.serve(MODULE)
    assert getattr(MODULE, READER) is None, "a version without it is left alone"
    setattr(MODULE, READER, lambda package: pytest.fail("read again"))
    second.serve(MODULE)
    assert {package: read(package) for package in expected} == expected
    assert second.missed == 0


def test_another_source_is_read(tmp_path: Path) -> None:
    package = ModuleType("made")
    source = tmp_path / "made.py"
    source.write_text("1\n", encoding="utf-8")
    package.__file__ = str(source)
    answers = iter((({"a": (".m", "a")}, {}, []), ({"b": (".m", "b")}, {}, []), ({"c": (".m", "c")}, {}, [])))
    setattr(MODULE, READER, lambda _: next(answers))
    first = LazyNames(b"")
    first.serve(MODULE)
    assert "a" in read(package)[0]
    setattr(MODULE, READER, lambda _: next(answers))
    second = LazyNames(first.packed())
    second.serve(MODULE)
    assert "a" in read(package)[0]
    os.utime(source, ns=(1, 1))
    assert "b" in read(package)[0]
    source.unlink()
    assert "c" in read(package)[0], "without a source nothing is known of it"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        marshal.dumps([1]),
        marshal.dumps({"anyio": 5}),
        marshal.dumps({"anyio": (("x", 1, 1), ({}, {}))}),
    ],
)
def test_garbage_is_as_nothing(data: bytes) -> None:
    expected = read(anyio)
    names = LazyNames(data)
    names.serve(MODULE)
    assert read(anyio) == expected
    assert names.missed == 1
