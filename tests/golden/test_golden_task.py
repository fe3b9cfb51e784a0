"""A whole task, byte for byte: a repository whose check fails, put right in twelve turns.

The model is a script that errs as models do: an edit that does not match, a call that a rule denies, a first
repair that is not enough. Its requests are held to the vendor's rules by the server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from command_kit import Cli
from golden_kit import Names, check, transcript

from caliban_provider.testing.exchange import Exchange
from caliban_provider_anthropic.testing import wire

TOTAL = '''"""What a basket costs, in cents."""


def discount(cents, percent):
    return cents * percent // 100


def total(items, percent=0):
    sum = 0
    for price, count in items:
        sum += price
    return sum + discount(sum, percent)
'''
CHECK = """import total

wanted = [
    ("two of one kind", total.total([(250, 2)]), 500),
    ("a tenth less", total.total([(1000, 1)], 10), 900),
]
failed = [f"{name}: {got} instead of {want}" for name, got, want in wanted if got != want]
print(*failed or ["all right"], sep="\\n")
raise SystemExit(len(failed))
"""
SHOP = """from total import total

print(total([(199, 3), (50, 1)], percent=5))
"""
REPAIRED = TOTAL.replace("sum += price\n", "sum += price * count\n").replace(
    "sum + discount", "sum - discount"
)
RUN = "python3 -B check.py"
FLAGS = (
    "--session",
    "task",
    "--permission-mode",
    "acceptEdits",
    "--allow",
    f"Bash:{RUN}",
    "--deny",
    "Bash:rm *",
)
OUTPUTS = {"text": (), "stream": ("--output-format", "stream-json")}


def turn(*calls: tuple[str, dict[str, Any]], say: str = "", at: str) -> Exchange:
    blocks = [wire.tool_use(name, args, id=f"{at}{index}") for index, (name, args) in enumerate(calls)]
    return wire.exchange(*([wire.text(say)] if say else []), *blocks)


def todos(*states: str) -> tuple[str, dict[str, Any]]:
    tasks = ("see what fails", "find who calls it", "repair it", "run the check again")
    items = [{"content": task, "status": state} for task, state in zip(tasks, states, strict=True)]
    return "TodoWrite", {"todos": items}


def edit(old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "Edit", {"path": "total.py", "old_string": old, "new_string": new}


BASH = ("Bash", {"command": RUN})
TURNS = (
    turn(todos("in_progress", "pending", "pending", "pending"), say="I plan first.", at="a"),
    turn(("Glob", {"pattern": "*.py"}), ("Grep", {"pattern": "def ", "path": "total.py"}), at="b"),
    turn(("Read", {"path": "check.py"}), ("Read", {"path": "total.py"}), at="c"),
    turn(BASH, say="Now the check.", at="d"),
    turn(
        ("Agent", {"description": "find callers", "prompt": "Which files call total()? Only read."}), at="e"
    ),
    # The two turns of the sub-agent.
    turn(("Grep", {"pattern": r"total\(", "glob": "*.py"}), at="x"),
    wire.exchange(wire.text("`shop.py` and `check.py` call it.")),
    turn(todos("completed", "completed", "in_progress", "pending"), at="f"),
    turn(edit("sum = sum + price", "sum = sum + price * count"), at="g"),
    turn(edit("sum += price\n", "sum += price * count\n"), at="h"),
    turn(BASH, say="One of two is right.", at="i"),
    turn(
        (
            "MultiEdit",
            {"path": "total.py", "edits": [{"old_string": "sum + discount", "new_string": "sum - discount"}]},
        ),
        ("Bash", {"command": "rm -rf __pycache__"}),
        at="j",
    ),
    turn(BASH, todos("completed", "completed", "completed", "completed"), at="k"),
    wire.exchange(wire.text("The check passes: `total` counts each item and takes the discount off.")),
)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_whole_task_is_as_it_was(cli: Cli, output: str) -> None:
    for name, text in (("total.py", TOTAL), ("check.py", CHECK), ("shop.py", SHOP)):
        (cli.work / name).write_text(text, encoding="utf-8")
    cli.script(*TURNS)
    args = ("-p", "The check fails. Repair it.", *FLAGS, *OUTPUTS[output])
    done = cli.run(*args)
    assert (cli.work / "total.py").read_text(encoding="utf-8") == REPAIRED
    assert subprocess.run([sys.executable, "-B", "check.py"], cwd=cli.work, check=False).returncode == 0
    assert len(cli.bodies()) == len(TURNS), "each turn of the script was asked for, and no other"
    assert not [body for body in cli.bodies() if len(json.dumps(body)) > 40_000]
    check(f"task/{output}.txt", Names(cli)(transcript(args, done)))
