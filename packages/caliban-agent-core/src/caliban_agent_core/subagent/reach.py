"""Which tools a kind of agent may use."""

from __future__ import annotations

from fnmatch import fnmatchcase

from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.spec import NAME
from caliban_common.tool import ToolSpec


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
    """Whether the name of a tool is one of `patterns`, in which `*` stands for anything."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
