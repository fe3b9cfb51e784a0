"""What third-party packages provide, for doctor: tools that load or fail, and name clashes."""

from __future__ import annotations

from collections.abc import Iterator

from caliban_agent_core.registry import installed_tools
from caliban_common.text import plural
from caliban_provider.registry import clashes
from caliban_tools_builtin import builtin_specs


def problems() -> Iterator[tuple[str, str]]:
    """What is installed and cannot be used: the name of the check, and why."""
    for name, packages in clashes().items():
        yield "providers", f"several packages offer a provider {name!r}: {' and '.join(packages)}"
    for problem in installed_tools({spec.name for spec in builtin_specs()}).problems:
        yield "tools", problem.message


def offered() -> str:
    """The tools of third-party packages, in words; empty where there are none."""
    tools = installed_tools({spec.name for spec in builtin_specs()}).tools
    names = ", ".join(tool.spec.name for tool in tools)
    return f"{plural(len(tools), 'tool')} of other packages: {names}" if tools else ""
