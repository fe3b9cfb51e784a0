"""What holds for every test: one profile of Hypothesis, without a clock and without leftovers.

No test may depend on the speed of the machine or on what an earlier run left behind. A failing example is
printed with the decorator that repeats it.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from extent_kit import LEFT, examples, is_everyday, left_out
from hypothesis import HealthCheck, settings

LEFT_OUT = pytest.StashKey[int]()

settings.register_profile(
    "caliban",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    print_blob=True,
)
settings.load_profile("caliban")


def pytest_collection() -> None:
    """Collect without looking for garbage: 6 of the 24 s of processor time that 23,000 tests take."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of every later look for garbage: it was half of what unit tests cost."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what is `long` to `--all` in an everyday run, and tell the process that began this one."""
    if not is_everyday():
        return
    left = set(left_out(items))
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]
    getattr(config, "workeroutput", {})["left"] = len(left)
    config.stash[LEFT_OUT] = len(left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process of this run has left out; each of them says the same."""
    count = getattr(node, "workeroutput", {}).get("left", 0)  # nothing where it was lost
    node.config.stash[LEFT_OUT] = max(count, node.config.stash.get(LEFT_OUT, 0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what an everyday run has left out."""
    if not is_everyday():
        return
    count = config.stash.get(LEFT_OUT, 0)
    terminalreporter.write_line(f"left for --all: {count} tests, and four of five generated examples")
    if path := os.environ.get(LEFT):
        Path(path).write_text(f"{count}\n", encoding="utf-8")
