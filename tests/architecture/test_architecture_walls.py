"""Errors are caught where they are understood, and libraries keep quiet."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import house
import plan

EVERYTHING = ("Exception", "BaseException", "BaseExceptionGroup", "ExceptionGroup")
FACES = 4
COMPOSITION = "caliban.compose"
FACES_OF_THE_APP = ("caliban.faces", "caliban.commands", "caliban.main", "caliban.stdio")


def catches_everything(node: ast.AST) -> bool:
    """Whether `node` swallows every error: a wide `except` without a bare raise, or a wide suppress."""
    match node:
        case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
            return False
        case ast.ExceptHandler(
            type=ast.Name(id="BaseExceptionGroup" | "ExceptionGroup"), body=[*_, ast.Raise()]
        ):
            return False  # unwraps a group
        case ast.ExceptHandler(type=None):
            return True
        case ast.ExceptHandler(type=ast.Tuple(elts=kinds)):
            return any(house.callee(kind) in EVERYTHING for kind in kinds)
        case ast.ExceptHandler(type=kind):
            return house.callee(kind) in EVERYTHING
        case ast.Call(args=kinds) if house.callee(node) == "suppress":
            return any(house.callee(kind) in EVERYTHING for kind in kinds)
        case _:
            return False


def walls() -> Iterator[tuple[str, str]]:
    """Every place that catches everything: its key in `plan.WALLS`, and where it stands."""
    for module in house.modules():
        for node in house.nodes(module):
            if catches_everything(node):
                yield house.enclosing(module, node), house.where(module, getattr(node, "lineno", 1))


def test_every_error_is_caught_at_named_walls_only() -> None:
    caught = dict(walls())
    house.expect_none(f"{caught[key]} in {key}" for key in sorted(set(caught) - set(plan.WALLS)))
    house.expect_none(set(plan.WALLS) - set(caught), "rows that nothing needs any more")


def test_a_wall_is_recognised() -> None:
    source = (
        "try: pass\nexcept Exception: pass\n"
        "try: pass\nexcept (KeyError, BaseException): return_()\n"
        "try: pass\nexcept: pass\n"
        "with suppress(Exception): pass\n"
        "try: pass\nexcept BaseException:\n    undo()\n    raise\n"
        "try: pass\nexcept OSError: pass\n"
    )
    assert sum(catches_everything(node) for node in ast.walk(ast.parse(source))) == 4


def below_the_faces() -> Iterator[house.Module]:
    """The modules that know neither terminal nor process: those below the faces, and what composes them."""
    for module in house.modules():
        is_below = plan.FLOORS[module.package] < FACES or module.name.startswith(COMPOSITION)
        if is_below and module.name not in plan.PROGRAMS:
            yield module


def test_what_composes_the_parts_knows_no_face() -> None:
    faces = {name for name, floor in plan.FLOORS.items() if floor == FACES}
    house.expect_none(
        f"{house.where(module, edge.line)} imports {edge.target}"
        for module in house.modules()
        if module.name.startswith(COMPOSITION)
        for edge in house.imports(module)
        if edge.target.split(".")[0] in faces or edge.target.startswith(FACES_OF_THE_APP)
    )


def test_nothing_below_a_face_prints_or_knows_a_terminal() -> None:
    offenders = []
    for module in below_the_faces():
        for node in house.nodes(module):
            match node:
                case ast.Call(func=ast.Name(id="print" | "input" as word)):
                    offenders.append(f"{house.where(module, node.lineno)} {word}()")
                case ast.Attribute(
                    value=ast.Name(id="sys"), attr="stdin" | "stdout" | "stderr" | "argv" as word
                ):
                    offenders.append(f"{house.where(module, node.lineno)} sys.{word}")
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="sys" | "os"), attr="exit" | "_exit" as word)
                ):
                    offenders.append(f"{house.where(module, node.lineno)} {word}()")
    house.expect_none(offenders)


def test_nobody_prints_without_saying_where() -> None:
    offenders = [
        house.where(module, node.lineno)
        for module in house.modules()
        for node in house.nodes(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and "file" not in [word.arg for word in node.keywords]
        and plan.FLOORS[module.package] < 5
    ]
    house.expect_none(offenders)


def test_the_environment_is_read_above_or_by_listed_modules() -> None:
    readers = {
        module.name: house.where(module, node.lineno)
        for module in house.modules()
        if plan.FLOORS[module.package] < 5
        for node in house.nodes(module)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in ("environ", "getenv", "environb", "putenv")
    }
    house.expect_none(readers[name] for name in sorted(set(readers) - set(plan.OUTSIDE_ENVIRONMENT)))
    house.expect_none(set(plan.OUTSIDE_ENVIRONMENT) - set(readers), "rows that nothing needs any more")


def test_only_context_managers_yield_inside_a_task_group_or_cancel_scope() -> None:
    # An async generator that holds a task group across `yield` breaks on `break` and on timeouts.
    offenders = [
        f"{house.where(module, inner.lineno)} in {name}"
        for module in house.modules()
        for name, function in house.functions(module)
        if not any("contextmanager" in house.callee(decorator) for decorator in function.decorator_list)
        for block in ast.walk(function)
        if isinstance(block, (ast.AsyncWith, ast.With))
        and any(house.callee(item.context_expr) in plan.SCOPES for item in block.items)
        for inner in own_nodes(block)
        if isinstance(inner, (ast.Yield, ast.YieldFrom))
    ]
    house.expect_none(offenders)


def own_nodes(block: ast.AST) -> Iterator[ast.expr]:
    """The expressions under `block` that do not belong to a function defined in it."""
    for child in ast.iter_child_nodes(block):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.expr):
            yield child
        yield from own_nodes(child)
