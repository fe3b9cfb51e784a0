"""Which tools a kind of agent may use."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.spec import NAME, OTHER_NAMES
from caliban_common.tool import ToolSpec

SERVERS: Final = "mcp__"
"""How the names of tools of servers begin."""


def may_use(kind: AgentDefinition, tool: ToolSpec) -> bool:
    """Whether an agent of `kind` may use `tool`."""
    if tool.kind == "session" and tool.name != NAME and kind.tools is None:
        return False  # the caller's own lists and modes: an agent has them where its definition says so
    return (
        not (kind.reads_only and tool.kind != "read")
        and (kind.tools is None or matches(tool.name, kind.tools))
        and not matches(tool.name, kind.denied_tools)
        and (kind.servers is None or tool.server in ("", *kind.servers))
    )


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether the name of a tool is one of `patterns`, in which `*` stands for anything.

    As in the rules of people, the bare name of a server (`mcp__docs`) is all of its tools, and the tool that
    starts agents has the names that others have for it: what is denied must not depend on who reads it.
    """
    return any(_is_meant(name, pattern) for pattern in patterns)


def _is_meant(name: str, pattern: str) -> bool:
    is_server = pattern.startswith(SERVERS) and name.startswith(f"{pattern}__")
    return is_server or fnmatchcase(name, pattern) or (name == NAME and pattern in OTHER_NAMES)
