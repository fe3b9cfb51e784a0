"""No package knows a tool by its name: policies read the spec, rules name families (ADR 0024)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import house
import plan


def built_in_names() -> tuple[str, ...]:
    """The names in the catalog of the built-in tools, as its source has them."""
    (module,) = (module for module in house.modules() if module.name == plan.TOOL_CATALOG)
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="NAMES")], value=ast.Tuple(elts=names)):
                return tuple(name.value for name in names if isinstance(name, ast.Constant))
    raise AssertionError(f"{plan.TOOL_CATALOG} has no NAMES")


def docstrings(module: house.Module) -> frozenset[ast.expr]:
    """The strings that stand alone: they explain."""
    return frozenset(node.value for node in house.nodes(module) if isinstance(node, ast.Expr))


def knowing(module: house.Module, name: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """The literals of `module` that are a tool's name, or the pattern of a rule for one."""
    explaining = docstrings(module)
    for node in house.nodes(module):
        if isinstance(node, ast.Constant) and node not in explaining and name.fullmatch(str(node.value)):
            yield str(node.value), node.lineno


def test_no_package_knows_a_tool_by_its_name() -> None:
    names = "|".join(built_in_names())
    pattern = re.compile(rf"({names})([:(].*)?", re.DOTALL)
    offenders, needed = [], set()
    for module in house.modules():
        if module.package == "caliban_tools_builtin" or ".testing" in module.name:
            continue
        for literal, line in knowing(module, pattern):
            needed.add(module.name)
            if module.name not in plan.TOOL_NAMES:
                offenders.append(f"{house.where(module, line)}: {literal!r}")
    house.expect_none(offenders, "let the spec say what is asked of the name, or add a row to TOOL_NAMES")
    assert needed == set(plan.TOOL_NAMES)
