"""The tools that rules name: one that does not exist is said, for its rule does nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from caliban.cli.foreign import TOOLS
from caliban.cli.options import PermissionOptions
from caliban.errors import UsageError
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec
from caliban_settings import Settings

NAME: Final = r"[A-Za-z][A-Za-z0-9_-]*"
GUIDE: Final = """
    Agent AgentTool Bash BashBg BashOutput Edit Elicit EnterPlanMode ExitPlanMode Glob Grep
    KillShell ListMcpResources LS Monitor MultiEdit NotebookEdit Read ReadMcpResource ReadMemoryTopic
    Skill Task TodoWrite ToolSearch WaitForMcpServers WebFetch WebSearch Write WriteMemoryTopic
"""
"""What the rules of the guide speak of, tools to come included."""

OUTSIDE: Final = "mcp__"
"""How the names of tools of MCP servers begin."""


def own_specs() -> tuple[ToolSpec, ...]:
    """The tools that a run has of its own, whatever flags and settings leave out of it."""
    from caliban_agent_core.subagent.spec import agent_spec
    from caliban_agent_core.toolsearch.spec import search_spec
    from caliban_skills import skill_spec
    from caliban_tools_builtin import builtin_specs

    return (*builtin_specs(), search_spec(), agent_spec(), skill_spec())


def check_tool_names(
    options: PermissionOptions, settings: Settings, offered: Collection[str]
) -> tuple[str, ...]:
    """What to say of rules for tools that are neither `offered`, nor built in, nor of the guide.

    Raises `UsageError` for one on the command line that was to forbid or to ask.
    """
    given = {"allow": options.allow, "ask": options.ask, "deny": options.deny}
    scopes = settings.rules_by_scope()
    if not any(given.values()) and not scopes:
        return ()
    known = _known(offered)
    for action in ("deny", "ask"):
        for pattern in given[action]:
            name = _unknown(pattern, known)
            if name is not None:
                raise UsageError(_words(f"--{action}", pattern, name), hint=_meant(name, known))
    warnings = [
        _warning("--allow", pattern, name, known) for pattern, name in _all_unknown(given["allow"], known)
    ]
    for scope, rules in scopes.items():
        patterns = [str(rule["pattern"]) for rule in rules]
        warnings += [
            _warning(f"the {scope} settings' rule", pattern, name, known)
            for pattern, name in _all_unknown(patterns, known)
        ]
        warnings += _unreadable(scope, rules)
    return tuple(dict.fromkeys(warnings))


def _unreadable(scope: str, rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What to say of rules that are none: they allow nothing, and what they forbid nobody can tell."""
    from caliban_permissions import parse_rules

    for rule in parse_rules(rules, source="user"):
        if rule.problem is not None:
            shown = one_line(rule.pattern, max_chars=80)
            yield f"the {scope} settings' {rule.action} rule {shown!r} cannot be read: {rule.problem}"


def unknown_tool(pattern: str) -> tuple[str, str] | None:
    """The tool that a rule names, where there is none, and what was probably meant."""
    known = _known(())
    name = _unknown(pattern, known)
    return None if name is None else (name, _meant(name, known) or "")


def unknown_of_agents(kinds: Iterable[AgentDefinition], offered: Collection[str]) -> Iterator[str]:
    """What to say of tools that kinds of agents name, and that are not there."""
    named = [(kind, name) for kind in kinds for name in (*(kind.tools or ()), *kind.denied_tools)]
    if not named:
        return
    known = _known(offered)
    for kind, name in named:
        if _unknown(name, known) == name:
            meant = _meant(name, known)
            words = f"the agent {kind.name} names the tool {name}, which is not there"
            yield f"{words}; {meant}" if meant else words


def _known(offered: Collection[str]) -> frozenset[str]:
    from caliban_tools_builtin import builtin_specs

    return frozenset((*offered, *(spec.name for spec in builtin_specs()), *GUIDE.split()))


def _all_unknown(patterns: Collection[str], known: frozenset[str]) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        name = _unknown(pattern, known)
        if name is not None:
            yield pattern, name


def _unknown(pattern: str, known: frozenset[str]) -> str | None:
    """The tool that `pattern` names, where there is none; patterns for several tools name none."""
    match = re.match(NAME, pattern.strip())
    if match is None:
        return None
    name, rest = match[0], pattern.strip()[match.end() :]
    if rest[:1] not in ("", ":", "(") or name in known or name.startswith(OUTSIDE):
        return None
    return name


def _words(where: str, pattern: str, name: str) -> str:
    return f"{where} {one_line(pattern, max_chars=100)!r} does nothing: there is no tool {name}"


def _meant(name: str, known: Collection[str]) -> str | None:
    ours = TOOLS.get(name.lower())
    return f"did you mean {ours}?" if ours else did_you_mean(name, sorted(known)) or None


def _warning(where: str, pattern: str, name: str, known: Collection[str]) -> str:
    meant = _meant(name, known)
    return _words(where, pattern, name) + (f"; {meant}" if meant else "")
