"""A module that waits for its first use is like any other, in one thread and in many."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from caliban.deferred import DeferredModule, defer
from caliban.import_cache import DEFERRED

TEXT = """\
import sys
import {name}
ran = getattr(sys, "_ran_{name}", 0) + 1
sys._ran_{name} = ran
assert {name}.ran == ran, "it sees itself while it runs"
VALUE = "made"
def f():
    return VALUE
def __getattr__(wanted):
    if wanted == "made_late":
        return "late"
    raise AttributeError(wanted)
"""


class Finder:
    """Finds one module, whose loader defers it."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name != self.name:
            return None
        spec = importlib.util.spec_from_file_location(name, self.path)
        assert spec is not None and spec.loader is not None
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: defer(module, run)  # type: ignore[method-assign]
        return spec


@pytest.fixture
def name(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"waits_{abs(hash(request.node.name))}"
    path = tmp_path / f"{name}.py"
    path.write_text(TEXT.format(name=name), encoding="utf-8")
    finder = Finder(name, path)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    yield name
    sys.meta_path.remove(finder)  # type: ignore[arg-type]
    sys.modules.pop(name, None)
    vars(sys).pop(f"_ran_{name}", None)


def has_run(module: ModuleType) -> bool:
    return type(module) is ModuleType


def test_an_import_does_not_run_it_and_a_look_does(name: str) -> None:
    module = importlib.import_module(name)
    again = importlib.import_module(name)
    assert again is module and isinstance(module, ModuleType) and inspect.ismodule(module)
    assert (module.__name__, module.__spec__ is not None, importlib.util.find_spec(name)) == (
        name,
        True,
        module.__spec__,
    )
    assert not has_run(module)
    assert (module.VALUE, module.f(), module.ran) == ("made", "made", 1)
    assert has_run(module)
    assert module.made_late == "late"
    with pytest.raises(AttributeError):
        _ = module.missing


@pytest.mark.parametrize("look", ["from {} import VALUE", "from {} import *; VALUE"])
def test_an_import_of_a_name_runs_it(name: str, look: str) -> None:
    space: dict[str, Any] = {}
    exec(look.format(name), space)
    assert space["VALUE"] == "made" and has_run(sys.modules[name])


@pytest.mark.parametrize(
    "look",
    [
        dir,
        vars,
        lambda module: hasattr(module, "f"),
        lambda module: setattr(module, "VALUE", 5),
        inspect.getmembers,
    ],
    ids=["dir", "vars", "hasattr", "setattr", "members"],
)
def test_every_look_runs_it_first(name: str, look: Any) -> None:
    module = importlib.import_module(name)
    look(module)
    assert has_run(module)
    assert module.VALUE in ("made", 5)


def test_a_name_can_be_deleted(name: str) -> None:
    module = importlib.import_module(name)
    del module.VALUE
    assert has_run(module) and not hasattr(module, "VALUE")


def test_many_threads_run_it_once_and_all_see_it_whole(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(
        TEXT.format(name=name) + "import time\ntime.sleep(0.05)  # others come meanwhile\nLAST = 1\n",
        encoding="utf-8",
    )
    module = importlib.import_module(name)
    start, seen = threading.Barrier(8), []

    def look() -> None:
        start.wait()
        seen.append((module.LAST, module.ran))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(1, 1)] * 8


def test_one_that_fails_says_so_each_time(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("raise OSError('no luck')\n", encoding="utf-8")
    module = importlib.import_module(name)
    for _ in range(2):
        with pytest.raises(OSError, match="no luck"):
            _ = module.VALUE
    (tmp_path / f"{name}.py").write_text("VALUE = 'mended, and longer'\n", encoding="utf-8")
    assert module.VALUE == "mended, and longer"


def test_two_that_need_each_other_in_two_threads_do_not_hang(tmp_path: Path) -> None:
    """A thread runs the one while another thread imports the second, and each looks into the other."""
    (tmp_path / "one.py").write_text("import go\ngo.first.wait()\nimport two\nVALUE = 1\n", encoding="utf-8")
    (tmp_path / "two.py").write_text(
        "import go\ngo.second.set()\ngo.first.set()\nimport one\n"
        "try:\n    one.VALUE\nexcept AttributeError:\n    pass\nVALUE = 2\n",
        encoding="utf-8",
    )
    (tmp_path / "go.py").write_text(
        "import threading\nfirst, second = threading.Event(), threading.Event()\n", encoding="utf-8"
    )
    program = f"""\
import sys, threading
sys.path.insert(0, {str(tmp_path)!r})
import importlib.util
from caliban.deferred import defer
spec = importlib.util.spec_from_file_location("one", {str(tmp_path / "one.py")!r})
one = sys.modules["one"] = importlib.util.module_from_spec(spec)
defer(one, spec.loader.exec_module)
threads = [threading.Thread(target=lambda: one.VALUE), threading.Thread(target=__import__, args=("two",))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(one.VALUE, sys.modules["two"].VALUE)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1 2\n"), done.stderr


def test_each_that_is_deferred_is_whole_at_its_first_use() -> None:
    """Each of the list, in a process of its own, has the names that it has when it is run at once."""
    program = """\
import importlib, importlib.util, sys
from caliban.deferred import DeferredModule, defer
for name in sorted(sys.argv[1:]):
    importlib.import_module(name.rpartition(".")[0] or "sys")
    plain = importlib.import_module(name)
    spec = importlib.util.find_spec(name)
    spec = importlib.util.spec_from_file_location(name, spec.origin)
    module = importlib.util.module_from_spec(spec)
    defer(module, spec.loader.exec_module)
    assert type(module) is DeferredModule
    assert sorted(vars(module)) == sorted(vars(plain)), name
print("same")
"""
    done = subprocess.run([sys.executable, "-c", program, *DEFERRED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr


def test_a_type_of_its_own_until_then() -> None:
    module = ModuleType("bare")
    module.__spec__ = importlib.util.spec_from_loader("bare", None)
    defer(module, lambda made: vars(made).update(X=1))
    assert type(module) is DeferredModule
    assert (module.X, type(module)) == (1, ModuleType)
