"""What packages of others bring along, for doctor: tools that load or do not, names that two claim."""

from __future__ import annotations

from collections.abc import Iterator

from caliban_agent_core.registry import installed_tools
from caliban_common.text import plural
from caliban_provider.registry import clashes
from caliban_tools_builtin import builtin_specs


def problems() -> Iterator[tuple[str, str]]:
    """What keeps something installed from use: the name of the check, and the words."""
    for name, packages in clashes().items():
        yield "providers", f"several packages offer a provider {name!r}: {' and '.join(packages)}"
    for problem in installed_tools({spec.name for spec in builtin_specs()}).problems:
        yield "tools", problem.message


def offered() -> str:
    """The tools of other packages, in words; nothing where there is none."""
    tools = installed_tools({spec.name for spec in builtin_specs()}).tools
    names = ", ".join(tool.spec.name for tool in tools)
    return f"{plural(len(tools), 'tool')} of other packages: {names}" if tools else ""
