"""Every package can stand alone in front of a stranger."""

from __future__ import annotations

import ast
import re

import house
import plan
import pytest

DISTRIBUTIONS = {"caliban": "caliban-cli"}
"""Folder and import -> the distribution, where a name of ours is somebody else's on the package index."""
EVERY = pytest.mark.parametrize("package", house.packages(), ids=lambda package: package.name)

INSTALLED = frozenset({".venv", ".servers"})
"""Folders of what others wrote."""


def test_all_packages_carry_the_same_version() -> None:
    versions = {package.name: package.metadata["project"]["version"] for package in house.packages()}
    assert len(set(versions.values())) == 1, versions


@EVERY
def test_a_package_says_what_it_is_and_under_which_licence(package: house.Package) -> None:
    project = package.metadata["project"]
    facts = {key: project.get(key) for key in ("license", "requires-python", "readme")}
    assert facts == {"license": "AGPL-3.0-only", "requires-python": ">=3.11", "readme": "README.md"}
    assert project["description"]
    assert package.name == DISTRIBUTIONS.get(package.folder.name, package.folder.name)


@EVERY
def test_a_package_tells_an_index_who_it_is_for_and_brings_the_licence(package: house.Package) -> None:
    project = package.metadata["project"]
    assert (project["authors"], project["license-files"]) == ([{"name": "The Caliban project"}], ["LICENSE"])
    assert project["keywords"] == sorted(set(project["keywords"]))
    assert {line.partition(" :: ")[0] for line in project["classifiers"]} >= {
        "Development Status",
        "Intended Audience",
        "Programming Language",
        "Topic",
        "Typing",
    }
    assert not [line for line in project["classifiers"] if line.startswith("License")], (
        "the expression says it"
    )
    assert (package.folder / "LICENSE").read_bytes() == (house.ROOT / "LICENSE").read_bytes()


@EVERY
def test_a_package_has_a_readme_types_and_tests(package: house.Package) -> None:
    readme = package.folder / "README.md"
    assert readme.read_text(encoding="utf-8").startswith("# "), readme
    assert (package.source / "py.typed").is_file()
    tests = package.folder / "tests" if plan.FLOORS[package.module] < 5 else house.ROOT / "tests" / "e2e"
    assert list(tests.rglob("test_*.py")), "no tests"


@EVERY
def test_a_readme_shows_lines_that_run_and_a_test_runs_them(package: house.Package) -> None:
    if plan.FLOORS[package.module] == 5:
        pytest.skip("the app's lines are commands; the end-to-end tests run them")
    assert "```python" in (package.folder / "README.md").read_text(encoding="utf-8")
    tests = (package.folder / "tests").rglob("test_*.py")
    assert any("README.md" in path.read_text(encoding="utf-8") for path in tests), (
        "no test runs the README's lines"
    )


@EVERY
def test_requirements_have_a_lower_bound_and_a_cap_and_never_pin(package: house.Package) -> None:
    project = package.metadata["project"]
    lines = [*project.get("dependencies", ())]
    for extra in project.get("optional-dependencies", {}).values():
        lines += extra
    house.expect_none(
        line
        for line in lines
        if not re.search(r">=[0-9.]+,<[0-9.]+($|;)", line.replace(" ", "")) or "==" in line
    )


@EVERY
def test_errors_are_drawn_as_a_tree_under_one_root(package: house.Package) -> None:
    for module in house.modules():
        if module.name != f"{package.module}.errors" or package.module == plan.COMMON:
            continue
        drawn = ast.get_docstring(module.tree) or ""
        classes = [node.name for node in module.tree.body if isinstance(node, ast.ClassDef)]
        house.expect_none((name for name in classes if not re.search(rf"\b{name}\b", drawn)), "not drawn")
        roots = [edge.target for edge in house.imports(module) if edge.target.endswith(".errors")]
        assert roots, "the tree does not grow from caliban_common.errors"


def test_distributions_are_caliban_something() -> None:
    house.expect_none(
        package.name for package in house.packages() if not re.fullmatch(r"caliban(-[a-z]+)+", package.name)
    )


def test_nothing_tells_anybody_to_install_a_distribution_that_is_not_ours() -> None:
    names = {package.name for package in house.packages()}
    extras = {
        package.name: {*package.metadata["project"].get("optional-dependencies", {})}
        for package in house.packages()
    }
    texts = [(module.path, module.text) for module in house.modules()]
    pages = (path for path in house.ROOT.glob("**/*.md") if INSTALLED.isdisjoint(path.parts))
    texts += [(path, path.read_text(encoding="utf-8")) for path in pages]
    offenders = []
    for path, text in texts:
        for name, extra in re.findall(r"\b(caliban[a-z-]*)(?:\[([a-z]+)\])", text):
            if name not in names or extra not in extras[name]:
                offenders.append(f"{path.relative_to(house.ROOT)}: {name}[{extra}]")
        for line in re.findall(r"(?:pip|pipx|uv tool) install ([^`\n]+)", text):
            installed = re.findall(r"(?<![\w/-])caliban[a-z-]*", line)
            offenders += [
                f"{path.relative_to(house.ROOT)}: {name}" for name in installed if name not in names
            ]
    house.expect_none(offenders)


@EVERY
def test_a_run_needs_no_library_of_prices(package: house.Package) -> None:
    required = " ".join(package.metadata["project"].get("dependencies", ()))
    assert "genai-prices" not in required


def test_file_names_of_tests_are_unique() -> None:
    seen: dict[str, str] = {}
    offenders = []
    for path in house.ROOT.glob("*/**/tests/**/test_*.py"):
        if not INSTALLED.isdisjoint(path.parts):
            continue
        place = str(path.relative_to(house.ROOT))
        if path.name in seen:
            offenders.append(f"{place} and {seen[path.name]}")
        seen[path.name] = place
    house.expect_none(offenders)


def test_the_licence_is_the_whole_text() -> None:
    text = (house.ROOT / "LICENSE").read_text(encoding="utf-8")
    assert " ".join(text.split()[:10]) == "GNU AFFERO GENERAL PUBLIC LICENSE Version 3, 19 November 2007"
    assert "END OF TERMS AND CONDITIONS" in text
    assert text.count("\n") == 661
