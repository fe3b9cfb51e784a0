"""The names that people's rules use: the one place where policies know a tool by its name (ADR 0024).

A rule names a family by one of its members: `Edit:src/**` denies writing by whatever tool or redirect,
`Read:.env` reading, `Bash:rm *` running.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from caliban_common.tool import ArgumentRole, ToolKind, ToolSpec

SHELL = "Bash"
POWERSHELL = "PowerShell"
"""Its language is not read: only a rule that is the whole command, or names the tool, allows a call."""

READER = "Read"
EDITORS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
"""The file tools of the guide; a redirect of the shell counts as the first."""

SEARCHERS = ("Grep", "Glob", "LS")
FETCHER = "WebFetch"
PLAN_LEAVER = "ExitPlanMode"

SHELL_COMMAND = "command"
SHELL_FIELDS = (SHELL_COMMAND, "cwd", "background")
"""What a rule for the shell can name as `Bash:key=glob`; other text with a `=` is part of a command."""

OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType({"Agent": ("AgentTool", "Task")})
"""A tool, and what the rules of the guide and of other harnesses call it."""

PATH_WORDS = frozenset(
    "path file_path notebook_path file filename directory dir folder root target destination".split()
)
"""What tools call the path they work on, for those that do not say it by a role."""

FAMILIES: Mapping[ArgumentRole, tuple[str, ...]] = MappingProxyType(
    {"reads": (READER,), "searches": (READER,), "writes": EDITORS, "command": (SHELL,), "url": (FETCHER,)}
)
"""Under which names, besides that of the tool, a deny or ask rule means an argument."""

_GUIDE: Mapping[str, tuple[ToolKind, str | None, Mapping[str, ArgumentRole]]] = MappingProxyType(
    {
        SHELL: ("execute", "command", {"command": "command", "cwd": "directory"}),
        POWERSHELL: ("execute", "command", {}),
        READER: ("read", "path", {"path": "reads"}),
        "Grep": ("read", "pattern", {"path": "searches"}),
        "Glob": ("read", "pattern", {"path": "searches"}),
        "LS": ("read", "path", {"path": "searches"}),
        **dict.fromkeys(EDITORS, ("edit", "path", {"path": "writes"})),
        FETCHER: ("network", "url", {"url": "url"}),
        "WebSearch": ("network", "query", {}),
        "TodoWrite": ("session", None, {}),
        "EnterPlanMode": ("session", None, {}),
        PLAN_LEAVER: ("session", None, {}),
    }
)
"""The tools of the guide, of which rules may speak before they exist: kind, main argument and roles."""


def guide_spec(name: str) -> ToolSpec | None:
    """What a tool of this name is taken to be where there is none, or none that anybody vouches for."""
    if name not in _GUIDE:
        return None
    kind, main, roles = _GUIDE[name]
    return ToolSpec(
        name=name,
        description="",
        input_schema={},
        kind=kind,
        main_argument=main,
        roles=roles,
        ends_plan=name == PLAN_LEAVER,
    )


def names_for(tool: str, role: ArgumentRole) -> tuple[str, ...]:
    """The names under which rules may speak of an argument; only the first, the tool's own, allows."""
    return (tool, *(name for name in FAMILIES.get(role, ()) if name != tool))
