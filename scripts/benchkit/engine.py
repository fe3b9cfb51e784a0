"""Figures that need no server and no model: the permission engine.

Runs as a child (`python -m benchkit.engine`) in the environment that has what it measures, and prints one
JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
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


def decision() -> Callable[[str], object]:
    """The engine with a normal set of rules, as a function of the command."""
    from caliban_common.tool import ToolSpec
    from caliban_permissions import Engine, RuleSet, parse_rules

    rules = RuleSet(user=parse_rules(RULES, source="user"))
    shell = ToolSpec(
        name="Bash", description="", input_schema={}, kind="execute", roles={"command": "command"}
    )
    engine = Engine(rules, mode="default", workspace=Path.cwd(), interactive=False, vouched=[shell])
    return lambda command: engine.decide(shell, {"command": command})


if __name__ == "__main__":
    sys.stdout.write(json.dumps(permissions()))
