"""The rules that "always allow" proposes: one narrow rule for each part that is not yet allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.tool import ToolSpec
from caliban_permissions.calls import path_names
from caliban_permissions.glob import escaped
from caliban_permissions.outcome import Outcome
from caliban_permissions.paths import PathContext
from caliban_permissions.url import parse_url


def suggest(tool: ToolSpec, args: Mapping[str, Any], place: PathContext, outcome: Outcome) -> tuple[str, ...]:
    """Patterns, each narrow and each needed; none where no durable rule should be made.

    A command with anything opaque in it gets none, nor does a call that only a person may approve.
    """
    if any(floor.kind != "outside" for floor in outcome.floors):
        return ()
    if tool.name == "Bash":
        settled = frozenset(unit.text for unit in outcome.units if unit.action == "allow")
        return () if outcome.command is None else outcome.command.patterns(settled)
    names = path_names(tool, args, place)
    if names is not None:
        usable = names.refused is None and names.uncertain is None
        return (f"{tool.name}:{escaped(names.canonical)}",) if usable else ()
    main = args.get(tool.main_argument) if tool.main_argument else None
    if tool.main_argument == "url" and isinstance(main, str):
        url = parse_url(main)
        port = f":{url.port}" if url.port else ""
        return () if url.refused or url.userinfo else (f"{tool.name}:{url.scheme}://{url.host}{port}/*",)
    return (tool.name,)
