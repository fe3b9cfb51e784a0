"""Values are frozen, and nothing in a module changes after it was imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import house
import plan

MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_CALLS = (
    "list",
    "dict",
    "set",
    "bytearray",
    "deque",
    "defaultdict",
    "OrderedDict",
    "Counter",
    "WeakKeyDictionary",
    "WeakValueDictionary",
)
READ_ONLY_TYPES = ("Mapping", "Sequence", "Collection", "Set", "AbstractSet")


def structs_of(module: house.Module) -> Iterator[tuple[ast.ClassDef, dict[str, object]]]:
    """Every class that derives from a `Struct`, with the flags of its definition."""
    structs = {"Struct", "Tagged"}
    for node in house.nodes(module):
        if isinstance(node, ast.ClassDef) and structs & {house.callee(base) for base in node.bases}:
            structs.add(node.name)
            flags = [word for word in node.keywords if isinstance(word.value, ast.Constant)]
            yield node, {word.arg or "": ast.literal_eval(word.value) for word in flags}


def test_values_are_structs_that_are_frozen_and_keyword_only() -> None:
    wanted = {"frozen": True, "kw_only": True}
    loose = {}
    for module in house.modules():
        for node, flags in structs_of(module):
            if not node.name.startswith("_") and not wanted.items() <= flags.items():
                loose[f"{module.name}:{node.name}"] = house.where(module, node.lineno)
    excused = {key for key in loose if key in plan.STRUCTS or key.partition(":")[0] in plan.STRUCTS}
    house.expect_none(f"{loose[key]} {key}" for key in sorted(set(loose) - excused))
    needed = excused | {key.partition(":")[0] for key in excused}
    house.expect_none(set(plan.STRUCTS) - needed, "rows that nothing needs any more")


def test_no_class_is_generated_at_start() -> None:
    """Making a dataclass compiles code each time the program starts: 0.33 ms each, a Struct 0.01 ms."""
    users = {
        edge.source.name: f"{house.where(edge.source, edge.line)} imports dataclasses"
        for module in house.modules()
        for edge in house.imports(module)
        if edge.target == "dataclasses"
    }
    house.expect_none(users[name] for name in sorted(set(users) - set(plan.DATACLASSES)))
    house.expect_none(set(plan.DATACLASSES) - set(users), "rows that nothing needs any more")


def decodes(node: ast.AST) -> bool:
    """Whether `node` gets hold of what turns data into types, or of its complaint."""
    match node:
        case ast.ImportFrom(module="msgspec", names=names):
            return bool({"convert", "ValidationError"} & {alias.name for alias in names})
        case ast.Attribute(value=ast.Name(id="msgspec"), attr="convert" | "ValidationError"):
            return True
        case _:
            return False


def test_data_is_decoded_in_one_place() -> None:
    """The words for what does not fit are those of one module, and no other reads the decoder's."""
    users = {module.name for module in house.modules() for node in house.nodes(module) if decodes(node)}
    assert users == {"caliban_common.typed"}


def module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run at import, those inside `if` and `try` included."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from module_level(getattr(node, inner, []))


def is_mutable(value: ast.expr | None) -> bool:
    """Whether an expression makes a value that can change."""
    return isinstance(value, MUTABLE_DISPLAYS) or (
        isinstance(value, ast.Call) and house.callee(value) in MUTABLE_CALLS
    )


def is_read_only(annotation: ast.expr, aliases: dict[str, ast.expr]) -> bool:
    """Whether a type lets nobody change the value: `Mapping[...]`, `Final[Sequence[...]]`, or an alias."""
    match annotation:
        case ast.Subscript(value=ast.Name(id="Final" | "ClassVar"), slice=inner):
            return is_read_only(inner, aliases)
        case ast.Name(id=name) if name in aliases:
            return is_read_only(aliases[name], {})
        case _:
            return house.callee(annotation) in READ_ONLY_TYPES


def aliases_of(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """The type aliases that a module defines."""
    return {
        node.target.id: node.value
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
        if house.callee(node.annotation) == "TypeAlias"
    }


def mutable_globals(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The assignments of a module that make state: a value that can change, under a type that lets it."""
    aliases = aliases_of(body)
    for node in module_level(body):
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                continue
            case ast.Assign(value=value) if is_mutable(value):
                yield node
            case ast.AnnAssign(annotation=kind, value=value) if is_mutable(value):
                if not is_read_only(kind, aliases):
                    yield node


def test_modules_have_no_mutable_globals() -> None:
    offenders = [
        f"{house.where(module, node.lineno)} {ast.unparse(node).splitlines()[0][:60]}"
        for module in house.modules()
        for node in mutable_globals(module.tree.body)
    ]
    house.expect_none(offenders)


def test_a_mutable_global_is_recognised() -> None:
    source = (
        "A = [1]\nB: list[int] = []\nC = dict(a=1)\nif A:\n    D = {1}\n"
        "E = (1,)\nF: Mapping[str, int] = {'a': 1}\nG: Final[Mapping[str, int]] = {}\n"
        "H = frozenset({1})\nI: TypeAlias = Mapping[str, int]\nJ: Final[I] = {}\n__all__ = ['A']"
    )
    names = [ast.unparse(node)[0] for node in mutable_globals(ast.parse(source).body)]
    assert names == ["A", "B", "C", "D"]


def test_no_module_rebinds_its_globals_or_delivers_services_by_context() -> None:
    offenders = []
    for module in house.modules():
        for node in house.nodes(module):
            if isinstance(node, ast.Global):
                offenders.append(f"{house.where(module, node.lineno)} global {', '.join(node.names)}")
            elif isinstance(node, ast.Call) and house.callee(node) in ("ContextVar", "local"):
                offenders.append(f"{house.where(module, node.lineno)} {ast.unparse(node)}")
    house.expect_none(offenders)


def test_caches_of_functions_are_bounded() -> None:
    offenders = [
        house.where(module, node.lineno)
        for module in house.modules()
        for node in house.nodes(module)
        for decorator in getattr(node, "decorator_list", ())
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and house.parameter_names(node)
        if house.callee(decorator) == "cache" or "maxsize=None" in ast.unparse(decorator)
    ]
    house.expect_none(offenders)


def test_a_fold_over_events_handles_every_kind_of_them() -> None:
    """A new event is then a type error wherever nobody has said what becomes of it."""
    house.expect_none(
        f"{house.where(module, node.lineno)} {function.name} does not end in assert_never"
        for module in house.modules()
        for function in house.nodes(module)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for events in [events_of(function)]
        for node in ast.walk(function)
        if isinstance(node, ast.Match) and isinstance(node.subject, ast.Name) and node.subject.id in events
        if "assert_never" not in {house.callee(part) for part in ast.walk(node.cases[-1])}
    )


def events_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters of `function` that are any event of a run."""
    return {
        arg.arg
        for arg in function.args.args
        if arg.annotation and ast.unparse(arg.annotation) == "AgentEvent"
    }
