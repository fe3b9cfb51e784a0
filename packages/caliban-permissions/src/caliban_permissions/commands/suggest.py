"""The rules that "always allow" proposes for a shell command: one for each part that is not yet allowed."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Mapping

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.code import takes_code
from caliban_permissions.commands.simple import SimpleSubject
from caliban_permissions.commands.wrappers import SHELLS, SUBCOMMAND_PROGRAMS, WRAPPERS, program
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

_PLAIN_WORD = lazy_pattern(r"[A-Za-z0-9_.:@/+=,-]+")


def simple_patterns(
    tool: str, simple_commands: tuple[SimpleSubject, ...], settled: frozenset[str]
) -> tuple[str, ...]:
    """Patterns for the commands and redirects that are not `settled`; none where one of them gets none."""
    patterns: dict[str, None] = {}
    for simple in simple_commands:
        if simple.parsed.raw in settled:
            continue
        pattern = _for_simple(tool, simple)
        if pattern is None:
            return ()
        patterns.setdefault(pattern)
    patterns.update(
        (f"{EDITORS[0]}:{escaped(subject.names.canonical)}", None)
        for simple in simple_commands
        for subject in simple.redirected()
        if subject.names.uncertain is None and subject.names.given not in settled
    )
    return tuple(patterns)


def _for_simple(tool: str, simple: SimpleSubject) -> str | None:
    """A prefix rule for the program and its sub-command, or the exact text where a prefix would delegate."""
    words = simple.parsed.words
    argv = simple.parsed.argv
    if not argv or any(item.size > len(argv[item.word]) for item in simple.evidence):
        return None
    name = program(argv[0])
    runs_input = name in SHELLS or name in WRAPPERS or takes_code(argv)
    if runs_input and any(item.op.startswith("<") for item in simple.parsed.redirects):
        return None  # a rule for the words would allow every other input, too
    size = 1
    if name in SUBCOMMAND_PROGRAMS and len(argv) > 1:
        size = 3 if argv[1] in _NESTED.get(name, ()) and len(argv) > 2 else 2
    head = argv[:size]
    reach = max((item.word for item in simple.evidence), default=-1)
    plain = all(_PLAIN_WORD.fullmatch(word) and not word.startswith("-") for word in head)
    if reach < size and plain and name not in _EXACT_ONLY:
        return f"{SHELL}({' '.join(head)}:*)" if tool == SHELL else f"{tool}:{' '.join(head)} *"
    pattern = f"{tool}:" + escaped(" ".join(word.raw for word in words))
    return pattern if parse_pattern(pattern).problem is None else None
