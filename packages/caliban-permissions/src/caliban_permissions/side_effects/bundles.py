"""Old-style options: the first word of a tar command holds letters, and their values follow in order."""

from __future__ import annotations

from caliban_permissions.commands.wrappers import program

_TARS = frozenset({"tar", "gtar", "bsdtar", "star"})
_VALUED = "fCTXbgHKLNVIF"


def unbundled(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command with one word for each letter and its value; the same where nothing is bundled."""
    if program(argv[0]) not in _TARS or len(argv) < 2 or argv[1].startswith("-") or not argv[1]:
        return argv
    words: list[str] = [argv[0]]
    rest = list(argv[2:])
    for letter in argv[1]:
        words.append("-" + letter)
        if letter in _VALUED and rest:
            words.append(rest.pop(0))
    return (*words, *rest)
