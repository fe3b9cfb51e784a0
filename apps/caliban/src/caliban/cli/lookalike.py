"""Words that look like commands, which are not sent to a model by mistake."""

from __future__ import annotations

from typing import Final

from caliban.cli.commands import COMMANDS, LATER_COMMANDS

MAX_LETTERS: Final = 2
"""How far a word may be from the name of a command and still be taken for it."""


def lookalike(word: str) -> str | None:
    """The command that `word` is or resembles, one that is still to come included; else `None`.

    Text with a blank in it is a prompt.
    """
    if any(letter.isspace() for letter in word) or not word:
        return None
    from caliban.cli.foreign import COMMANDS as FOREIGN
    from caliban_common.near import distance

    plain = word.lower()
    if plain in FOREIGN:
        return FOREIGN[plain]
    names = (*COMMANDS.names, *LATER_COMMANDS)
    letters = MAX_LETTERS if len(plain) > MAX_LETTERS else len(plain) - 1
    near = [(distance(plain, name), name) for name in names if abs(len(plain) - len(name)) <= letters]
    within = [pair for pair in near if pair[0] <= letters]
    return min(within, key=lambda pair: pair[0])[1] if within else None


def is_slash_command(word: str) -> bool:
    """Whether `word` calls a slash command of ours."""
    if not word.startswith("/"):
        return False
    from caliban.slash.table import NAMES

    return word[1:].lower() in NAMES
