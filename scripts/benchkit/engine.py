"""Figures that need no server and no model: the permission engine.

Runs as a child (`python -m benchkit.engine`) in the environment that has what it measures, and prints one
JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

REPEATS = 2000
COMMANDS = (
    "git status",
    "ls -la src | head -20",
    "cd build && make -j4 2>&1 | tee log.txt",
    "python -m pytest -q tests/test_one.py",
    "sudo env A=1 rm -rf /tmp/x; echo done",
    'for f in *.py; do grep -n "import os" "$f"; done',
)

RULES = (
    {"pattern": "Bash:git *", "action": "allow"},
    {"pattern": "Bash:ls *", "action": "allow"},
    {"pattern": "Bash:python -m pytest *", "action": "allow"},
    {"pattern": "Edit:src/**", "action": "allow"},
    {"pattern": "Bash:~sudo", "action": "ask"},
    {"pattern": "Bash:rm -rf *", "action": "deny"},
)


LONG = 9_990
"""Characters of a long command; beyond 10,000 none is taken apart."""

SHAPES: Mapping[str, Callable[[int], str]] = {
    "many leaves": lambda size: ";".join(f"git log a{number}" for number in range(size // 12)),
    "one long word": lambda size: "git log " + "a" * size,
    "many words": lambda size: "git add " + "ab/c " * (size // 5),
    "deep nesting": lambda size: "echo " + "$(echo " * (size // 8) + ")" * (size // 8),
    "wrappers": lambda size: "sudo env nice " * (size // 14) + "rm x",
    "quotes": lambda size: "git log " + "'a b' " * (size // 6),
    "variables": lambda size: "echo " + "$name " * (size // 6),
    "here-document": lambda size: "cat <<'E'\n" + "a line of text\n" * (size // 15) + "E\n",
}
"""Long commands, by what there is much of."""

MANY_RULES = (
    *({"pattern": f"Bash:~tool{number} *", "action": "deny"} for number in range(100)),
    *({"pattern": f"Bash:other{number} *", "action": "allow"} for number in range(200)),
)


def long_commands() -> dict[str, float]:
    """The median decision on a command of 10,000 characters of each shape, in milliseconds of CPU."""
    few, many = decision(), decision((*MANY_RULES, *RULES))
    figures = {f"{name} CPU ms": _median(few, make(LONG)[:LONG]) for name, make in SHAPES.items()}
    leaves = SHAPES["many leaves"](LONG)[:LONG]
    return {**figures, "many leaves, 300 rules CPU ms": _median(many, leaves)}


def _median(decide: Callable[[str], object], command: str) -> float:
    times = []
    for _ in range(15):
        begun = time.thread_time_ns()
        decide(command)
        times.append((time.thread_time_ns() - begun) / 1e6)
    return statistics.median(times)


def permissions() -> dict[str, float]:
    """One decision on a shell command, in milliseconds."""
    decide = decision()
    times = []
    for number in range(REPEATS):
        command = COMMANDS[number % len(COMMANDS)]
        begun = time.perf_counter_ns()
        decide(command)
        times.append((time.perf_counter_ns() - begun) / 1e6)
    cuts = statistics.quantiles(times, n=100)
    return {"p50 ms": cuts[49], "p99 ms": cuts[98], "worst ms": max(times)}


def decision(written: Sequence[Mapping[str, str]] = RULES) -> Callable[[str], object]:
    """The engine with a set of rules, as a function of the command."""
    from caliban_common.tool import ToolSpec
    from caliban_permissions import Engine, RuleSet, parse_rules

    rules = RuleSet(user=parse_rules(list(written), source="user"))
    shell = ToolSpec(
        name="Bash", description="", input_schema={}, kind="execute", roles={"command": "command"}
    )
    engine = Engine(rules, mode="default", workspace=Path.cwd(), interactive=False, vouched=[shell])
    return lambda command: engine.decide(shell, {"command": command})


if __name__ == "__main__":
    sys.stdout.write(json.dumps(long_commands() if sys.argv[1:] == ["long"] else permissions()))
