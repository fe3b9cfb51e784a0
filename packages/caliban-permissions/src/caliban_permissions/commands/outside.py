"""Which commands a person has listed to run outside of a sandbox (security.md SB8)."""

from __future__ import annotations

import os

from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.commands.simple import SimpleSubject
from caliban_permissions.rules.glob import TextGlob, compile_text


def runs_outside(command: ShellCommand, patterns: tuple[str, ...]) -> bool:
    """Whether every command of the line is on the list, and nothing of it is in doubt.

    A pattern with a space means the whole text of a command, any other its program. A variable before a
    command keeps it in, so does a file that a redirect writes, and a program that may lie in the workspace.
    """
    if not patterns or command.opaque or command.doubtful or not command.simple_commands:
        return False
    if any(redirect.writes and redirect.target.text != os.devnull for redirect in command.redirects):
        return False
    programs = [compile_text(pattern) for pattern in patterns if " " not in pattern]
    texts = [compile_text(pattern) for pattern in patterns if " " in pattern]
    return all(_is_listed(simple, programs, texts) for simple in command.simple_commands)


def _is_listed(simple: SimpleSubject, programs: list[TextGlob], texts: list[TextGlob]) -> bool:
    argv = simple.parsed.argv
    if not argv or simple.parsed.assigns or simple.planted or not _is_installed(simple, argv[0]):
        return False
    text = " ".join(argv)
    return any(glob.matches(argv[0]) for glob in programs) or any(glob.matches(text) for glob in texts)


def _is_installed(simple: SimpleSubject, program: str) -> bool:
    """Whether it is named without a directory, or by an absolute path outside of the workspace."""
    if "/" not in program:
        return True
    return program.startswith("/") and not simple.command.place.inside(os.path.realpath(program))
