"""Decisions are quick, hostile input is not worse than linear, and importing is cheap."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hang_guard import HANG_S

HOSTILE: dict[str, Callable[[int], str]] = {
    "words": lambda n: "x " * n,
    "leaves": lambda n: "a;" * n,
    "distinct leaves": lambda n: ";".join(f"a{i}" for i in range(n // 3)),
    "wrappers": lambda n: "sudo " * (n // 2),
    "wrappers with words": lambda n: " ".join(f"sudo a{i}" for i in range(n // 5)),
    "scripts": lambda n: "bash -c '" * (n // 4),
    "globs": lambda n: "ls " + "*a " * (n // 2),
    "directories": lambda n: ";".join(f"cd d{i}" for i in range(n // 5)),
    "deletes": lambda n: "rm -rf " + " ".join(f"a{i}" for i in range(n // 3)),
    "redirects": lambda n: "git log " + " ".join(f">f{i}" for i in range(n // 4)),
    "variables": lambda n: "echo " + "$a " * (n // 2),
    "slashes": lambda n: "cat " + "a/" * n,
    "paths": lambda n: "cat " + " ".join(f"a{i}/b" for i in range(n // 4)),
    "options": lambda n: "git " + "-c a=b " * (n // 4),
    "sed": lambda n: "sed '" + "s/a/b/;" * (n // 4) + "'",
    "awk": lambda n: "awk '" + "{print /a/}" * (n // 6) + "'",
    "substitutions": lambda n: "$(" * (n // 2) + ")" * (n // 2),
    "separators": lambda n: "field$IFS" * (n // 5),
    "brackets": lambda n: "ls " + "[" * n,
}
RULES = (
    ("deny", "Bash:~rm *"),
    ("deny", "Read:**/.env"),
    ("deny", "Bash:curl *"),
    ("ask", "Bash(git push:*)"),
    ("allow", "Bash:git *"),
    ("allow", "Bash:ls*"),
    ("allow", "Edit:src/**"),
)


def seconds(engine: Any, tool: Any, command: str) -> float:
    started = time.process_time()
    engine.decide(tool, {"command": command})
    return time.process_time() - started


def calls(engine: Any, tool: Any, args: Mapping[str, Any]) -> int:
    """How many functions are called for a decision: the same on every machine."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    engine.decide(tool, args)  # what is kept from the first to the next does not count
    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        engine.decide(tool, args)
    finally:
        sys.setprofile(earlier)
    return count


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_decision_takes_time_linear_in_the_command(name: str, scene: Any) -> None:
    engine, bash = scene.engine(*RULES, interactive=False), scene.spec("Bash")
    small, large = HOSTILE[name](1_000), HOSTILE[name](4_000)[:9_990]
    # Of processor time, and the best of many tries: others disturb one, but not all of them.
    best_small_s = min(seconds(engine, bash, small) for _ in range(5))
    assert any(seconds(engine, bash, large) < 12 * best_small_s + 0.03 for _ in range(50))


@pytest.mark.parametrize("length", [20_000, 131_000])
def test_a_command_beyond_the_checked_length_is_not_taken_apart(length: int, scene: Any) -> None:
    engine, bash = scene.engine(*RULES, interactive=False), scene.spec("Bash")
    for command in ("x" * length, "x " * (length // 2), "$(a;" * (length // 4)):
        assert calls(engine, bash, {"command": command}) < 10 * length


def test_an_everyday_decision_takes_few_steps(scene: Any) -> None:
    engine = scene.engine(*RULES, interactive=False)
    asked = [("Bash", {"command": "git status"}), ("Read", {"path": "a.py"}), ("Edit", {"path": "src/a.py"})]
    for name, args in asked:
        assert calls(engine, scene.spec(name), args) < 3_000


def test_importing_brings_in_nothing_heavy() -> None:
    heavy = ("pydantic", "httpx", "asyncio", "anyio", "tree_sitter", "caliban_permissions.side_effects")
    code = f"import sys, caliban_permissions; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert done.stdout.strip() == "[]"
