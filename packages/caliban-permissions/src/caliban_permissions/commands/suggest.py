"""The rules that "always allow" proposes for a shell command: one for each leaf that is not yet allowed."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re
from collections.abc import Mapping

from caliban_permissions.commands.simple import LeafSubject
from caliban_permissions.commands.wrappers import SUBCOMMAND_PROGRAMS, program
from caliban_permissions.names import EDITORS, SHELL
from caliban_permissions.rules.glob import escaped
from caliban_permissions.rules.pattern import parse_pattern

_NESTED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("run",)),
    "git": ("stash", "remote"),
}
_EXACT_ONLY = frozenset(
    "rm rmdir mv cp ln dd tee truncate shred chmod chown chgrp kill pkill killall curl wget nc scp rsync ssh "
    "mount umount shutdown reboot halt install touch mkdir".split()
)
"""Programs whose every use is a decision of its own."""

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.:@/+=,-]+")


def leaf_patterns(tool: str, leaves: tuple[LeafSubject, ...], settled: frozenset[str]) -> tuple[str, ...]:
    """Patterns for the leaves and their redirects that are not `settled`; none where one leaf gets none."""
    found: dict[str, None] = {}
    for leaf in leaves:
        if leaf.leaf.raw in settled:
            continue
        pattern = _for_leaf(tool, leaf)
        if pattern is None:
            return ()
        found.setdefault(pattern)
    found.update(
        (f"{EDITORS[0]}:{escaped(subject.names.canonical)}", None)
        for leaf in leaves
        for subject in leaf.redirected()
        if subject.names.uncertain is None and subject.names.given not in settled
    )
    return tuple(found)


def _for_leaf(tool: str, leaf: LeafSubject) -> str | None:
    """A prefix rule for the program and its sub-command, or the exact text where a prefix would delegate."""
    words = leaf.leaf.words
    argv = leaf.leaf.argv
    if any(item.size > len(argv[item.word]) for item in leaf.evidence):
        return None
    name = program(argv[0])
    size = 1
    if name in SUBCOMMAND_PROGRAMS and len(argv) > 1:
        size = 3 if argv[1] in _NESTED.get(name, ()) and len(argv) > 2 else 2
    head = argv[:size]
    reach = max((item.word for item in leaf.evidence), default=-1)
    plain = all(_PLAIN_WORD.fullmatch(word) and not word.startswith("-") for word in head)
    if reach < size and plain and name not in _EXACT_ONLY:
        return f"{SHELL}({' '.join(head)}:*)" if tool == SHELL else f"{tool}:{' '.join(head)} *"
    pattern = f"{tool}:" + escaped(" ".join(word.raw for word in words))
    return pattern if parse_pattern(pattern).problem is None else None
