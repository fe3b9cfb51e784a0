"""Modules, functions and signatures stay within what a person takes in at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import house
import plan

MODULE_LINES = 400
FUNCTION_LINES = 60
PARAMETERS = 6


def oversized() -> Iterator[tuple[str, str]]:
    """Every module and function beyond a limit: its key in `plan.SIZES`, and what is too much."""
    for module in house.modules():
        lines = module.text.count("\n")
        if lines > MODULE_LINES:
            yield module.name, f"{house.where(module, 1)} has {lines} lines"
        for name, function in house.functions(module):
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{module.name}:{name}",
                    f"{house.where(module, function.lineno)} {name} has {length} lines",
                )
            count = len(house.parameter_names(function))
            if count > PARAMETERS:
                yield (
                    f"{module.name}:{name}",
                    f"{house.where(module, function.lineno)} {name} has {count} parameters",
                )


def test_modules_functions_and_signatures_are_small() -> None:
    house.expect_none(text for key, text in oversized() if key not in plan.SIZES)


def test_every_exception_of_size_is_still_needed() -> None:
    assert set(plan.SIZES) - {key for key, _ in oversized()} == set()


def test_parameters_are_counted_without_self() -> None:
    source = ast.parse("class A:\n def f(self, a, /, b, *c, d, **e): ...").body[0]
    assert isinstance(source, ast.ClassDef)
    assert isinstance(function := source.body[0], ast.FunctionDef)
    assert house.parameter_names(function) == ("a", "b", "d", "c", "e")
