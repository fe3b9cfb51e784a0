"""The rules that "always allow" proposes: one narrow rule for each part that is not yet allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from caliban_common.tool import ToolSpec
from caliban_permissions.bash import Command
from caliban_permissions.calls import path_names
from caliban_permissions.leaf import LeafSubject
from caliban_permissions.outcome import Outcome
from caliban_permissions.paths import Place
from caliban_permissions.pattern import parse_pattern
from caliban_permissions.url import parse_url
from caliban_permissions.wrappers import SUBCOMMAND_PROGRAMS, program

_NESTED = {"npm": ("run",), "pnpm": ("run",), "yarn": ("run",), "bun": ("run",), "git": ("stash", "remote")}
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.:@/+=,-]+")
_WILD = re.compile(r"[*?\[\]{}]")


def suggest(tool: ToolSpec, args: Mapping[str, Any], place: Place, outcome: Outcome) -> tuple[str, ...]:
    """Patterns, each narrow and each needed; none where no durable rule should be made.

    A command with anything opaque in it gets none, nor does a call that only a person may approve.
    """
    if any(floor.kind != "outside" for floor in outcome.floors):
        return ()
    if tool.name == "Bash":
        settled = frozenset(unit.text for unit in outcome.units if unit.action == "allow")
        return () if outcome.command is None else _for_command(outcome.command, settled)
    names = path_names(tool, args, place)
    if names is not None:
        usable = names.refused is None and names.uncertain is None
        return (f"{tool.name}:{_escaped(names.canonical)}",) if usable else ()
    main = args.get(tool.main_argument) if tool.main_argument else None
    if tool.main_argument == "url" and isinstance(main, str):
        url = parse_url(main)
        port = f":{url.port}" if url.port else ""
        return () if url.refused or url.userinfo else (f"{tool.name}:{url.scheme}://{url.host}{port}/*",)
    return (tool.name,)


def _for_command(command: Command, settled: frozenset[str]) -> tuple[str, ...]:
    if command.opaque:
        return ()
    found: dict[str, None] = {}
    for leaf in command.leaves:
        if leaf.leaf.raw in settled:
            continue
        pattern = _for_leaf(leaf)
        if pattern is None:
            return ()
        found.setdefault(pattern)
    found.update(
        (f"Write:{_escaped(subject.names.canonical)}", None)
        for leaf in command.leaves
        for subject in leaf.redirected()
        if subject.names.uncertain is None and subject.names.given not in settled
    )
    return tuple(found)


def _for_leaf(leaf: LeafSubject) -> str | None:
    """A prefix rule for the program and its sub-command, or the exact text where a prefix would delegate."""
    argv = leaf.leaf.argv
    size = 1
    if program(argv[0]) in SUBCOMMAND_PROGRAMS and len(argv) > 1:
        size = 3 if argv[1] in _NESTED.get(program(argv[0]), ()) and len(argv) > 2 else 2
    head = argv[:size]
    reach = max((item.word for item in leaf.evidence), default=-1)
    if reach < size and all(_PLAIN_WORD.fullmatch(word) and not word.startswith("-") for word in head):
        return f"Bash({' '.join(head)}:*)"
    pattern = "Bash:" + _escaped(
        leaf.leaf.raw if leaf.leaf.redirects == () else " ".join(w.raw for w in leaf.leaf.words)
    )
    return pattern if parse_pattern(pattern).problem is None else None


def _escaped(text: str) -> str:
    return _WILD.sub(r"\\\g<0>", text)
