"""What the specs of the shell tools say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caliban_tools_builtin.facts import SAID, ToolFacts, flag, plain, whole

_SHELL_ID: Final[Mapping[str, str]] = {"bash_id": "shell_id", "task_id": "shell_id", "id": "shell_id"}

FACTS: Final[Mapping[str, ToolFacts]] = {
    "Bash": ToolFacts(  # no repeat key: the same command asks something else each time
        kind="execute",
        properties={
            "command": plain("string"),
            "timeout_seconds": whole("limit (default 60)", low=1, high=600),
            "cwd": plain("string"),
            "background": flag("return a shell_id at once; no limit unless given"),
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
            "run_in_background": "background",
            "is_background": "background",
        },
    ),
    "BashOutput": ToolFacts(
        kind="session",
        properties={
            "shell_id": plain("string"),
            "since_offset": whole("byte to read from (default: where the last look ended)", low=0),
        },
        required=("shell_id",),
        aliases={**_SHELL_ID, "offset": "since_offset"},
        extras=(*SAID, "block"),
        needs="tasks",
    ),
    "KillShell": ToolFacts(
        kind="session",
        properties={"shell_id": plain("string")},
        required=("shell_id",),
        aliases=_SHELL_ID,
        needs="tasks",
    ),
    "PowerShell": ToolFacts(  # no role for the command: what it means is nothing that we read
        kind="execute",
        properties={
            "command": plain("string"),
            "timeout_seconds": whole("limit (default 60)", low=1, high=600),
            "cwd": plain("string"),
        },
        required=("command",),
        aliases={"cmd": "command", "script": "command", "timeout": "timeout_seconds", "workdir": "cwd"},
        needs="powershell",
    ),
}
