"""What the specs of the shell tools say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caliban_tools_builtin.facts import ToolFacts, text, whole

FACTS: Final[Mapping[str, ToolFacts]] = {
    "Bash": ToolFacts(  # no repeat key: the same command asks something else each time
        kind="execute",
        properties={
            "command": text("shell command"),
            "timeout_seconds": whole("limit (default 60)", low=1, high=600),
            "cwd": text("directory to run in (default: the workspace)"),
        },
        required=("command",),
        roles={"command": "command", "cwd": "directory"},
        aliases={
            "cmd": "command",
            "script": "command",
            "timeout": "timeout_seconds",
            "timeout_ms": "timeout_seconds",
            "timeout_s": "timeout_seconds",
            "workdir": "cwd",
            "working_directory": "cwd",
            "dir": "cwd",
        },
    ),
}
