"""A hint says what to do next, in one style: lower case at its start, no full stop at its end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import house
import plan

NAMED_HINT = re.compile(r"(\w+_)?hint|_?(\w+_)?HINT")
PROPER = re.compile(r"[A-Z][A-Z0-9_-]+\b")
"""How names begin that keep their capitals: `CALIBAN_DEBUG`, `JSON`."""


def hints(module: house.Module) -> Iterator[tuple[ast.expr, int]]:
    """Every expression that becomes a hint: given by its name, or assigned to what is named so."""
    for node in house.nodes(module):
        match node:
            case ast.keyword(arg=str(name), value=value) if NAMED_HINT.fullmatch(name):
                yield value, value.lineno
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=value) if (
                NAMED_HINT.fullmatch(name)
            ):
                yield value, value.lineno
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if NAMED_HINT.fullmatch(
                name
            ):
                yield value, value.lineno
            case ast.FunctionDef(name=name) if NAMED_HINT.fullmatch(name):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and inner.value is not None:
                        yield inner.value, inner.lineno


def texts(module: house.Module, value: ast.expr) -> Iterator[tuple[str, str]]:
    """The literal beginnings and ends of what `value` may be, constants of the module included."""
    match value:
        case ast.Constant(value=str(text)):
            yield text, text
        case ast.JoinedStr(values=parts):
            first, last = (
                part.value if isinstance(part, ast.Constant) else "" for part in (parts[0], parts[-1])
            )
            yield str(first), str(last)
        case ast.IfExp(body=body, orelse=orelse):
            yield from texts(module, body)
            yield from texts(module, orelse)
        case ast.BoolOp(values=values):
            for inner in values:
                yield from texts(module, inner)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from ((start, "") for start, _ in texts(module, left))
            yield from (("", end) for _, end in texts(module, right))
        case ast.Name(id=name):
            for node in module.tree.body:
                match node:
                    case ast.Assign(targets=[ast.Name(id=own)], value=inner) if own == name:
                        yield from texts(module, inner)


def faults(start: str, end: str) -> Iterator[str]:
    """What is wrong with a hint that begins and ends so."""
    first, _, _ = start.partition(" ")
    if start[:1].isupper() and PROPER.match(start) is None and first not in plan.CAPITAL_WORDS:
        yield "it begins with a capital"
    if end.endswith((".", "!")) and not end.endswith("..."):
        yield "it ends in a full stop"


def test_hints_are_written_in_one_style() -> None:
    house.expect_none(
        f"{house.where(module, line)}: {fault}: {start or end!r}"
        for module in house.modules()
        for value, line in hints(module)
        for start, end in texts(module, value)
        for fault in faults(start, end)
    )
