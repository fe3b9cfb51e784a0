"""Names tell which room a line belongs in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import house
import plan

INIT_NAMES = 25
EMPTY_LOCAL = re.compile(rf"(?<![.\w])({'|'.join(plan.EMPTY_LOCALS)})\s*([-+*/|&:]?=|[:,)\]}}]|(in|if)\b)")


def rooms(module: house.Module) -> tuple[str, ...]:
    """The parts of a module's name below its package."""
    return tuple(module.name.split(".")[1:])


def test_no_module_has_a_name_that_says_nothing() -> None:
    offenders = [
        module.name
        for module in house.modules()
        for word in rooms(module)
        if word.strip("_") in plan.BANNED_NAMES or word.startswith("common_")
    ]
    house.expect_none(offenders)


def test_module_names_are_short_nouns() -> None:
    pattern = re.compile(r"_{0,2}[a-z][a-z0-9_]{0,19}(__)?")
    offenders = [m.name for m in house.modules() if not all(pattern.fullmatch(word) for word in rooms(m))]
    house.expect_none(offenders)


def test_a_package_of_errors_keeps_them_in_one_place() -> None:
    offenders = [
        house.where(module, node.lineno)
        for module in house.modules()
        if not {"errors", "testing"} & set(rooms(module))
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if any(house.callee(base).endswith(("Error", "Exception")) for base in node.bases)
        if f"{module.name}:{node.name}" not in plan.ERRORS_ELSEWHERE
    ]
    house.expect_none(offenders)


def test_no_public_class_name_means_two_things() -> None:
    places: dict[str, list[str]] = {}
    for module in house.modules():
        if "testing" in rooms(module) or is_parallel(module):
            continue
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(house.where(module, node.lineno))
    twice = {name: lines for name, lines in places.items() if len(lines) > 1}
    house.expect_none(
        f"{name}: {', '.join(lines)}" for name, lines in twice.items() if name not in plan.SAME_NAMES
    )
    house.expect_none(set(plan.SAME_NAMES) - set(twice), "rows that nothing needs any more")


def is_parallel(module: house.Module) -> bool:
    """Whether the module is one that every adapter has, under the same name and with the same contents."""
    return module.package.startswith("caliban_provider_") and rooms(module)[-1:] in plan.PARALLEL


def test_package_inits_hold_a_docstring_imports_and_a_sorted_all() -> None:
    offenders = [
        f"{house.where(module, node.lineno)}: {type(node).__name__}"
        for module in house.modules()
        if module.is_init
        for position, node in enumerate(module.tree.body)
        if not is_init_statement(node, position)
    ]
    house.expect_none(offenders)


def is_init_statement(node: ast.stmt, position: int) -> bool:
    """Whether `node` may stand in an `__init__.py`."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return position == 0
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case _:
            return False


def exported(module: house.Module) -> list[str]:
    """The names in `__all__`."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def in_order(name: str) -> tuple[bool, bool, str]:
    """The order of names in `__all__`: constants, then classes, then functions."""
    return not name.isupper(), not name[:1].isupper(), name


def test_exports_are_sorted_few_and_all_there() -> None:
    offenders = []
    for module in house.modules():
        if not module.is_init:
            continue
        names = exported(module)
        limit = plan.INIT_NAMES.get(module.name, INIT_NAMES)
        imported = [
            alias.asname or alias.name
            for node in module.tree.body
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for alias in node.names
        ]
        if names != sorted(set(names), key=in_order):
            offenders.append(f"{module.name}: __all__ is not sorted")
        if len(names) > limit:
            offenders.append(f"{module.name}: {len(names)} names, {limit} are the most")
        if sorted(names) != sorted(imported):
            offenders.append(
                f"{module.name}: __all__ and the imports differ: {sorted(set(names) ^ set(imported))}"
            )
    house.expect_none(offenders)


def test_an_adapter_has_a_pure_encoder_and_decoder() -> None:
    offenders = []
    for package in house.packages():
        rooms_of = {
            module.name.rpartition(".")[2] for module in house.modules() if module.package == package.module
        }
        reuses = plan.ANTHROPIC in plan.NEIGHBOURS.get(package.module, ())
        local = package.name == "caliban-provider-local"
        if package.name.startswith("caliban-provider-") and not reuses and not local:
            offenders += [
                f"{package.name} has no {name}.py" for name in ("encode", "decode") if name not in rooms_of
            ]
    house.expect_none(offenders)


def test_encoders_and_decoders_touch_neither_network_nor_clock() -> None:
    impure = (
        "anyio",
        "socket",
        "time",
        "os",
        "random",
        "caliban_provider.http",
        plan.HTTP_DOOR,
        *plan.HTTP_LIBRARIES,
    )
    offenders = [
        f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for module in house.modules()
        if module.name.rpartition(".")[2] in ("encode", "decode")
        for edge in house.imports(module)
        if edge.target in impure
    ]
    house.expect_none(offenders)


def assigned(node: ast.AST, *, is_class: bool = False) -> Iterator[tuple[int, str]]:
    """The variables that are set below `node`, with their lines; what a class body sets are attributes."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Name(id=name, ctx=ast.Store()) if not is_class:
                yield child.lineno, name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield child.lineno, name
        leaves = isinstance(child, house.FunctionNode | ast.Lambda)
        yield from assigned(child, is_class=isinstance(child, ast.ClassDef) or (is_class and not leaves))


def empty_locals(source: str) -> Iterator[tuple[int, str]]:
    """The lines of `source` that set a variable with a name that says nothing, and the name."""
    if re.search(EMPTY_LOCAL, source):  # else there is no need to parse it, which is what takes the time
        yield from (each for each in assigned(ast.parse(source)) if each[1] in plan.EMPTY_LOCALS)


def test_a_local_is_named_for_what_it_holds() -> None:
    offenders = [
        f"{path.relative_to(house.ROOT)}:{line}: {name}"
        for path in house.tracked_files()
        if path.suffix == ".py" or (path.parent.name == "scripts" and is_python(path))
        for line, name in empty_locals(path.read_text(encoding="utf-8"))
    ]
    house.expect_none(offenders, "name it for what it holds: match, path, rule, answer, warnings, stderr ...")


def is_python(path: Path) -> bool:
    """Whether a script without a suffix is one for Python."""
    with path.open("rb") as file:
        return b"python" in file.readline()


def test_a_local_that_is_named_for_nothing_is_recognised_in_each_form() -> None:
    source = """
found = 1
found: int = 2
(found, *told) = x
for said in x: pass
with x as found: pass
if said := x: pass
[found for found in x]
try: pass
except E as told: pass
match x:
    case [1, *found]: pass
    case {"a": told, **said}: pass
class A:
    found: int
    told = 1
    def said(self, told): self.found = told; said = 1
y = found.told(said=told)
"""
    lines = [line for line, _ in empty_locals(source)]
    assert sorted(lines) == [2, 3, 4, 4, 5, 6, 7, 8, 10, 12, 13, 13, 17]
