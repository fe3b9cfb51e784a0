"""Names that a wildcard gives a command which only chooses by them among the files that git holds.

What it then shows of those is judged by what the index and the disk say, and not by the names alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caliban_permissions.shell import SimpleCommand, Word

_SHOWS_NAMES = frozenset(
    {"--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--oneline", "--no-color"}
)


def chosen(
    simple: SimpleCommand, expanded: Sequence[tuple[int, str]], in_repository: Callable[[], bool]
) -> frozenset[int]:
    """The places of the names, after expansion, by which `git diff` or `git log` chooses.

    Outside of a repository a diff compares the files themselves.
    """
    words = simple.words
    if [word.text for word in words[:2]] not in (["git", "diff"], ["git", "log"]):
        return frozenset()
    behind = next((at for at, word in enumerate(words) if word.text == "--"), len(words))
    if not all(_is_plain(word) for word in words[2:]):
        return frozenset()
    globbed = [(place, name) for place, (at, name) in enumerate(expanded) if words[at].glob is not None]
    if any(name.startswith("-") and expanded[place][0] < behind for place, name in globbed):
        return frozenset()
    return frozenset(place for place, _ in globbed) if globbed and in_repository() else frozenset()


def _is_plain(word: Word) -> bool:
    """Whether a word is a wildcard below the directory, or an option by which less is shown."""
    if word.glob is None:
        return word.text == "--" or word.text in _SHOWS_NAMES
    return not word.at_home and not word.text.startswith("/") and ".." not in word.text.split("/")
