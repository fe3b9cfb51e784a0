"""Imports go down the floors of the house only, and each outside library has its door."""

from __future__ import annotations

import ast
import re
import sys

import house
import plan
import pytest

OURS = frozenset(package.module for package in house.packages())


def may_import(package: str) -> frozenset[str]:
    """The packages of ours that `package` may import."""
    floor = plan.FLOORS[package]
    if package in plan.NEIGHBOURS:
        allowed = set(plan.NEIGHBOURS[package])
    elif floor == 1:
        allowed = {name for name, level in plan.FLOORS.items() if level == 0}
    else:
        allowed = {name for name, level in plan.FLOORS.items() if level < floor}
    if floor < 5:
        allowed -= set(plan.APP_ONLY)
    return frozenset(allowed | {package})


def our_imports() -> list[house.Import]:
    """Every import of a package of ours by a module of ours."""
    return [
        edge
        for module in house.modules()
        for edge in house.imports(module)
        if edge.target.partition(".")[0] in plan.FLOORS
    ]


def test_every_package_stands_on_a_floor() -> None:
    assert OURS - set(plan.FLOORS) == set()


def test_imports_go_down_the_floors_only() -> None:
    offenders = [
        f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for edge in our_imports()
        if edge.target.partition(".")[0] not in may_import(edge.source.package)
    ]
    house.expect_none(offenders)


def test_a_package_declares_exactly_the_packages_of_ours_that_it_imports() -> None:
    used = {package: set[str]() for package in OURS}
    for edge in our_imports():
        used[edge.source.package].add(edge.target.partition(".")[0])
    offenders = []
    for package in house.packages():
        project = package.metadata["project"]
        extras = project.get("optional-dependencies", {}).values()
        required = [*project.get("dependencies", ()), *(line for extra in extras for line in extra)]
        declared = {re.split(r"[^A-Za-z0-9_.-]", line)[0].replace("-", "_") for line in required} & set(
            plan.FLOORS
        )
        for name in sorted(used[package.module] - {package.module} - declared):
            offenders.append(f"{package.name} imports {name} and does not declare it")
        for name in sorted(declared - used[package.module]):
            if plan.FLOORS[package.module] < 5:
                offenders.append(f"{package.name} declares {name} and never imports it")
    house.expect_none(offenders)


def test_modules_import_each_other_without_cycles() -> None:
    edges = {module.name: set[str]() for module in house.modules()}
    for edge in our_imports():
        # An import inside a function is one as well: a cycle that is put off is still a cycle.
        if not edge.typing_only and edge.target in edges and edge.target != edge.source.name:
            edges[edge.source.name].add(edge.target)
    assert cycle_in(edges) == []


def cycle_in(edges: dict[str, set[str]]) -> list[str]:
    """The first cycle found, as the names along it; empty when there is none."""
    done: set[str] = set()
    for start in sorted(edges):
        trail: list[str] = []
        stack = [(start, iter(sorted(edges[start])))] if start not in done else []
        trail = [start]
        while stack:
            name, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                done.add(name)
                stack.pop()
                trail.pop()
            elif following in trail:
                return [*trail[trail.index(following) :], following]
            elif following not in done:
                trail.append(following)
                stack.append((following, iter(sorted(edges[following]))))
    return []


def test_the_search_for_cycles_finds_one() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_a_leading_underscore_keeps_a_name_inside_its_package() -> None:
    offenders = [
        f"{house.where(module, node.lineno)} imports {node.module}.{alias.name}"
        for module in house.modules()
        for node in house.nodes(module)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] in OURS - {module.package}
        for alias in node.names
        if alias.name.startswith("_") or "._" in (node.module or "")
    ]
    house.expect_none(offenders)


def test_only_one_module_imports_an_http_library() -> None:
    offenders = [
        f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for module in house.modules()
        for edge in house.imports(module)
        if is_one_of(edge.target, plan.HTTP_LIBRARIES) and module.name != plan.HTTP_DOOR
    ]
    house.expect_none(offenders)


def test_event_loops_and_threads_are_left_to_anyio() -> None:
    users = {
        edge.source.name: f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for module in house.modules()
        for edge in house.imports(module)
        if is_one_of(edge.target, ("asyncio", "threading", "trio", "concurrent.futures"))
    }
    house.expect_none(users[name] for name in sorted(set(users) - set(plan.EVENT_LOOPS)))
    assert sorted(set(plan.EVENT_LOOPS) & house.names() - set(users)) == [], (
        "rows that nothing needs any more"
    )


STARTERS = re.compile(
    r"(os|pty)\.(fork|forkpty|posix_spawnp?|spawn[lv]p?e?|system|popen|startfile|spawn)"
    r"|asyncio\.create_subprocess_(exec|shell)|anyio\.(open|run)_process"
)
STARTING_LIBRARIES = ("subprocess", "multiprocessing", "pty", "concurrent.futures.process")


def starts_programs(module: house.Module) -> str | None:
    """Where `module` reaches for something that starts programs, if anywhere."""
    for edge in house.imports(module):
        if is_one_of(edge.target, STARTING_LIBRARIES):
            return f"{house.where(module, edge.line)} imports {edge.target}"
    for node in house.nodes(module):
        if isinstance(node, ast.Attribute) and STARTERS.fullmatch(ast.unparse(node)):
            return f"{house.where(module, node.lineno)} {ast.unparse(node)}"
    return None


def test_programs_are_started_by_one_package_only() -> None:
    others = [module for module in house.modules() if module.package != plan.PROCESS]
    starters = {module.name: where for module in others if (where := starts_programs(module)) is not None}
    house.expect_none(starters[name] for name in sorted(set(starters) - set(plan.PROGRAM_RUNNERS)))
    house.expect_none(set(plan.PROGRAM_RUNNERS) - set(starters), "rows that nothing needs any more")


def test_the_one_package_is_seen_to_start_programs() -> None:
    assert any(starts_programs(module) for module in house.modules() if module.package == plan.PROCESS)
    assert STARTERS.fullmatch("os.posix_spawn") and STARTERS.fullmatch("anyio.run_process")
    assert not STARTERS.fullmatch("os.execv")  # another program in our place is no child


def test_one_runner_is_made_for_a_process() -> None:
    # A second one would start programs past the wrapper. A tool set that is given none makes its own.
    makers = {
        module.name
        for module in house.modules()
        for node in house.nodes(module)
        if isinstance(node, ast.Call) and house.callee(node) == "Runner"
    }
    assert makers == {"caliban.compose.host"}


def test_the_ground_floor_needs_the_standard_library_and_its_values_only() -> None:
    offenders = [
        f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for module in house.modules()
        if module.package == plan.COMMON
        for edge in house.imports(module)
        if edge.target.partition(".")[0] not in sys.stdlib_module_names | {plan.COMMON, "msgspec"}
        and not (edge.lazy or edge.typing_only)
    ]
    house.expect_none(offenders)


def test_our_modules_are_imported_at_the_top_except_at_the_listed_lazy_doors() -> None:
    users = {
        edge.source.name: f"{house.where(edge.source, edge.line)} imports {edge.target} inside a function"
        for edge in our_imports()
        if edge.lazy
    }
    house.expect_none(users[name] for name in sorted(set(users) - set(plan.LAZY_DOORS)))
    house.expect_none(set(plan.LAZY_DOORS) - set(users), "rows that nothing needs any more")


def test_what_every_face_shares_in_the_app_imports_no_face() -> None:
    faces = tuple(name for name, floor in plan.FLOORS.items() if floor == 4)
    house.expect_none(
        f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for edge in our_imports()
        if edge.source.name.startswith(("caliban.cli", "caliban.compose", "caliban.commands"))
        and edge.target.startswith(faces)
        and not edge.typing_only
    )


def test_only_testing_kits_and_tests_import_a_testing_kit() -> None:
    house.expect_none(
        f"{house.where(edge.source, edge.line)} imports {edge.target}"
        for edge in our_imports()
        if ".testing" in edge.target and ".testing" not in edge.source.name
    )


@pytest.mark.parametrize("package", sorted(set(plan.NEIGHBOURS) | set(plan.APP_ONLY)))
def test_the_plan_names_known_packages(package: str) -> None:
    assert {package, *plan.NEIGHBOURS.get(package, ())} <= set(plan.FLOORS)


def is_one_of(target: str, libraries: tuple[str, ...]) -> bool:
    """Whether the dotted `target` is one of `libraries` or lies inside one."""
    return any(target == library or target.startswith(f"{library}.") for library in libraries)
