"""Where the product's code lies, and how these tests read it: as text and syntax, never by import."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from hang_guard import HANG_S

ROOT = Path(__file__).resolve().parents[2]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One member of the workspace: `name` is the distribution, `module` the import, called as the folder."""

    name: str
    folder: Path

    @property
    def module(self) -> str:
        return self.folder.name.replace("-", "_")

    @property
    def source(self) -> Path:
        return self.folder / "src" / self.module

    @property
    def metadata(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One file of product code, parsed."""

    name: str
    package: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_init(self) -> bool:
        return self.path.name == "__init__.py"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import: `target` is the dotted module, with the imported name when that is a module of ours."""

    source: Module
    target: str
    line: int
    lazy: bool
    typing_only: bool


@lru_cache(maxsize=1)
def packages() -> tuple[Package, ...]:
    """Every workspace member."""
    files = sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("apps/*/pyproject.toml")])
    return tuple(
        Package(name=tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"], folder=file.parent)
        for file in files
    )


@lru_cache(maxsize=1)
def modules() -> tuple[Module, ...]:
    """Every module under a package's `src`."""
    return tuple(
        _read(package, path) for package in packages() for path in sorted(package.source.rglob("*.py"))
    )


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """The dotted names of `modules()`."""
    return frozenset(module.name for module in modules())


def _read(package: Package, path: Path) -> Module:
    parts = path.relative_to(package.folder / "src").with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    text = path.read_text(encoding="utf-8")
    return Module(name=".".join(parts), package=package.module, path=path, text=text, tree=ast.parse(text))


def expect_none(offenders: Iterable[str], because: str = "") -> None:
    """Fail with every offender on a line of its own; pytest would show the first few."""
    lines = sorted(offenders)
    if lines:
        raise AssertionError("\n".join([because or f"{len(lines)} offenders", *lines]))


def where(module: Module, line: int) -> str:
    """A place as `path:line`, relative to the repository."""
    return f"{module.path.relative_to(ROOT)}:{line}"


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """Every node of a module's tree."""
    return tuple(ast.walk(module.tree))


@cache
def imports(module: Module) -> tuple[Import, ...]:
    """The imports of `module`: those inside functions are `lazy`, those under TYPE_CHECKING `typing_only`."""
    return tuple(_imports(module, module.tree, lazy=False, typing_only=False))


def _imports(module: Module, node: ast.AST, *, lazy: bool, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=aliases):
                targets = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(base), level=0, names=aliases):
                targets = [
                    f"{base}.{alias.name}" if f"{base}.{alias.name}" in names() else base for alias in aliases
                ]
            case ast.ImportFrom():
                raise AssertionError(f"{where(module, child.lineno)}: relative import")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _imports(module, child, lazy=True, typing_only=typing_only)
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _imports(module, child, lazy=lazy, typing_only=True)
                continue
            case _:
                yield from _imports(module, child, lazy=lazy, typing_only=typing_only)
                continue
        for target in dict.fromkeys(targets):
            yield Import(source=module, target=target, line=child.lineno, lazy=lazy, typing_only=typing_only)


@cache
def functions(module: Module) -> tuple[tuple[str, FunctionNode], ...]:
    """Every function and method with its dotted name inside the module, nested ones included."""
    return tuple(_functions(module.tree, ""))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


def parameter_names(function: FunctionNode) -> tuple[str, ...]:
    """The names of a function's parameters, `self` and `cls` left out."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return tuple(entry.arg for entry in every if entry is not None and entry.arg not in ("self", "cls"))


def enclosing(module: Module, node: ast.AST) -> str:
    """`module:function` of the innermost function around `node`, or `module` at the top level."""
    place = module.name
    for name, function in functions(module):
        if any(inner is node for inner in ast.walk(function)):
            place = f"{module.name}:{name}"
    return place


def callee(node: ast.expr) -> str:
    """The last word of what is called: `field` for `dataclasses.field(...)`."""
    match node:
        case ast.Call(func=func):
            return callee(func)
        case ast.Attribute(attr=word) | ast.Name(id=word):
            return word
        case ast.Subscript(value=value):
            return callee(value)
        case _:
            return ""


@lru_cache(maxsize=1)
def tracked_files() -> tuple[Path, ...]:
    """The files git knows or would add; empty in a copy without git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    return tuple(
        path for name in listing.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()
    )


def fresh(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter with `arguments` in the folder `home`, with an environment of its own."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("CALIBAN", "ANTHROPIC", "OPENAI", "PYTHON", "XDG_"))
        and not key.lower().endswith("_proxy")
    }
    clean |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=home,
        env=clean,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
