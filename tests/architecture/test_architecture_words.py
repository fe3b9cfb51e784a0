"""Every public name is explained, and no file says what its reader has no use for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import house

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
UNREADABLE = (".png", ".jpg", ".gif", ".pdf", ".gguf", ".bin", ".ipynb")

# Written in pieces, so that this file does not name what it forbids.
MACHINE_PATHS = re.compile(
    r"/work" r"/(main|plan|shared|\.library)\b|/root" r"/\.(pyenv|local|cache)|/opt" r"/(wheels|pypi)"
)
REGISTRIES = "pypi org|pythonhosted org|registry npmjs org|deb debian org|proxy golang org"
REGISTRY_HOSTS = re.compile(REGISTRIES.replace(" ", r"\."))
LEFT_OVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def protocol_methods() -> frozenset[str]:
    """The methods that some Protocol of ours, or some base class of ours, explains once for everybody."""
    return frozenset(
        method.name
        for module in house.modules()
        for node in house.nodes(module)
        if isinstance(node, ast.ClassDef)
        and any(house.callee(base) in ("Protocol", "ABC", "NodeVisitor", "Generic") for base in node.bases)
        for method in node.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(method)
    )


def unexplained(module: house.Module, explained: frozenset[str]) -> Iterator[str]:
    """The public names of `module` without a docstring; a class explains its properties itself."""
    if not ast.get_docstring(module.tree) and module.text.strip():
        yield f"{house.where(module, 1)} the module"
    for node in module.tree.body:
        if not isinstance(node, DEFINITIONS) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and "overload" not in decorators(node):
            yield f"{house.where(module, node.lineno)} {node.name}"
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, DEFINITIONS) and lacks_words(method, explained):
                yield f"{house.where(module, method.lineno)} {node.name}.{method.name}"


def lacks_words(method: Definition, explained: frozenset[str]) -> bool:
    """Whether a member of a public class is explained neither by itself nor by a Protocol."""
    if method.name.startswith("_") or method.name in explained or ast.get_docstring(method):
        return False
    return not decorators(method) & {"property", "cached_property", "overload", "setter"}


def decorators(node: Definition) -> set[str]:
    """The names of what decorates `node`."""
    return {house.callee(decorator) for decorator in node.decorator_list}


def test_every_public_name_has_a_docstring() -> None:
    explained = protocol_methods()
    house.expect_none(line for module in house.modules() for line in unexplained(module, explained))


def test_docstrings_begin_with_one_line() -> None:
    offenders = []
    for module in house.modules():
        for node in house.nodes(module):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                lines = (ast.get_docstring(node) or "").splitlines()
                if len(lines) > 1 and lines[1].strip():
                    offenders.append(f"{house.where(module, getattr(node, 'lineno', 1))}: {lines[0]}")
    house.expect_none(offenders)


def texts() -> Iterator[tuple[Path, int, str]]:
    """Every line of every file that git tracks or would track."""
    for path in house.tracked_files():
        if path.suffix in UNREADABLE:
            continue
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").split("\n"), start=1
        ):
            yield path.relative_to(house.ROOT), number, line


def test_nothing_is_left_for_later_in_the_code() -> None:
    offenders = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, number, line in texts()
        if path.suffix == ".py"
        and path.parts[0] in ("packages", "apps", "scripts")
        and "tests" not in path.parts
        if LEFT_OVERS.search(line)
    ]
    house.expect_none(offenders)


def test_no_file_names_a_machine_or_a_registry() -> None:
    offenders = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path, number, line in texts()
        if path.name != "uv.lock" and (MACHINE_PATHS.search(line) or REGISTRY_HOSTS.search(line))
    ]
    house.expect_none(offenders)
