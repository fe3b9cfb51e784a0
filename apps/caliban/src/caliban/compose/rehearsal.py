"""What a first command is judged and run with, used once in vain: patterns are compiled by that, and kept.

Nothing is decided or run here. It takes some 4 ms, and is done while a model thinks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from caliban_permissions import Engine, RuleSet
from caliban_process.environ import shell_environment
from caliban_tools_builtin import builtin_specs

COMMAND: Final = "LANG=C ls -l 'a b' *.txt | head -n 1 > /dev/null"
"""Has a bit of everything that is read with patterns of its own."""


def judge_a_command() -> None:
    """Read a command as the first one will be read."""
    spec = next(spec for spec in builtin_specs() if "command" in spec.roles.values())
    engine = Engine(RuleSet(), mode="default", workspace=Path("/"), interactive=False, vouched=(spec,))
    engine.decide(spec, {"command": COMMAND})


def choose_an_environment() -> None:
    """Choose the variables of a command as they will be chosen."""
    shell_environment({"LANG": "C", "PATH": "/bin"}, {})
