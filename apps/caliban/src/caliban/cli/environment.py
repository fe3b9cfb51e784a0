"""The environment variables in use, from the tables of flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from caliban.cli.flag import Flag, Group
from caliban.cli.groups import GROUPS

OTHER_VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ANTHROPIC_API_KEY": "the key of the provider anthropic; others have theirs",
        "ANTHROPIC_BASE_URL": "the server of the provider anthropic; others have theirs",
        "CALIBAN_ROUTER_CONFIG": "the same as --config",
        "CALIBAN_RATES_YAML": "a file with prices that stand above those that are known",
        "CALIBAN_WEBSEARCH_PROVIDER": "who searches: brave, tavily or exa, by BRAVE_API_KEY or the like",
        "CALIBAN_MCP_OAUTH_PORT": "the port that caliban mcp login waits at for the browser",
        "CALIBAN_DEBUG": "1 shows where a fault happened",
    }
)
"""Environment variables that no flag has."""


def variables(groups: Sequence[Group] = GROUPS) -> Mapping[str, str]:
    """The environment variables that count, and what each says."""
    rows = [row for group in groups for row in group.flags if row.variable]
    return {**OTHER_VARIABLES, **{row.variable: _meaning(row) for row in rows}}


def _meaning(row: Flag) -> str:
    name = row.names[-1]
    if row.variable_first:
        return f"the same as {name}, and above it"
    return f"1 is the same as {name}, 0 is not" if row.is_switch else f"the same as {name}"
