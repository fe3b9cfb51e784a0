"""The rules that "always allow" proposes: one narrow rule for each part that is not yet allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.tool import ArgumentRole
from caliban_permissions.facts import PATH_ROLES, JudgedTool
from caliban_permissions.judgement import Judgement
from caliban_permissions.paths import PathContext, resolve
from caliban_permissions.rules.glob import escaped
from caliban_permissions.rules.url import parse_url


def suggest(
    tool: JudgedTool, args: Mapping[str, Any], place: PathContext, judgement: Judgement
) -> tuple[str, ...]:
    """Patterns, each narrow and each needed; none where no durable rule should be made.

    A command with anything opaque in it gets none, nor does a call that only a person may approve.
    """
    if any(only.kind != "outside" for only in judgement.human_only):
        return ()
    if tool.command is not None:
        settled = frozenset(part.text for part in judgement.parts if part.action == "allow")
        return () if judgement.command is None else judgement.command.patterns(settled)
    patterns = [_pattern(tool.name, role, args.get(name), place) for name, role in tool.roles.items()]
    if "" in patterns:
        return ()
    return tuple(dict.fromkeys(pattern for pattern in patterns if pattern is not None)) or (tool.name,)


def _pattern(tool: str, role: ArgumentRole, value: object, place: PathContext) -> str | None:
    """The pattern that covers an argument: empty where none should last, `None` where none is needed."""
    if not isinstance(value, str):
        return None
    if role in PATH_ROLES:
        names = resolve(value, place)
        usable = names.refused is None and names.uncertain is None
        return f"{tool}:{escaped(names.canonical)}" if usable else ""
    url = parse_url(value)
    port = f":{url.port}" if url.port else ""
    return "" if url.refused or url.userinfo else f"{tool}:{url.scheme}://{url.host}{port}/*"
