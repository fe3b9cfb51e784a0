"""Where in a simple command text may stand that is known only when it runs.

Such text may be an option, so that a rule with a wildcard covers it only where it can be none: as the value
of an option that is known to take any text, as what a program only prints, or as a name behind `--`.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Mapping

from caliban_common.lazy import lazy_pattern
from caliban_permissions.readonly import FREE
from caliban_permissions.shell import HOLE, Word
from caliban_permissions.shell.line import Segment

_COMMIT = "-m --message --author --date --trailer"
_TEXT_OPTIONS: Mapping[tuple[str, str], frozenset[str]] = {
    (program, sub): frozenset(options.split())
    for program, sub, options in (
        ("git", "commit", _COMMIT + " -am"),
        ("git", "tag", "-m --message"),
        ("git", "stash", "-m --message"),
        ("git", "merge", "-m --message"),
        ("git", "notes", "-m --message"),
        ("git", "log", "--author --since --until --after --before --grep"),
        ("git", "shortlog", "--author --since --until --after --before"),
        ("gh", "pr", "--title --body --label --assignee --reviewer -t -b"),
        ("gh", "issue", "--title --body --label --assignee -t -b"),
        ("gh", "release", "--title --notes -t -n"),
    )
}
"""Options whose value is text and nothing else, by program and sub-command."""

_COMMITS = (("git", "rev-parse"), ("git", "merge-base"))
_COMMIT_FLAGS = frozenset({"--short", "--verify", "-q", "--quiet"})
_REVISION = lazy_pattern(r"[A-Za-z0-9_@][A-Za-z0-9_./@{}~^-]*")

_PLAIN_FLAGS = frozenset(
    "-a --all --amend --no-edit --no-verify -s --signoff --allow-empty -q --draft --fill".split()
)

_ENDS_OPTIONS = frozenset("git cat head tail wc grep rg ls diff stat rm".split())
"""Programs for which every word behind `--` is a name."""

_FLAGS = frozenset("--oneline --stat --cached --staged --name-only --name-status --quiet -p -v -i -l".split())
"""Options without a value that stand before `--` every day."""


def names_after(argv: tuple[str, ...]) -> int:
    """The index from which every word is a name; the number of words where none surely is."""
    if argv and argv[0] in _ENDS_OPTIONS and "--" in argv:
        first = argv.index("--")
        # The word before it might be an option that takes `--` as its value.
        before = argv[first - 1]
        plain = not before.startswith("-") or before in _FLAGS or before[1:].isdigit()
        if plain and all(HOLE not in word for word in argv[:first]):
            return first + 1
    return len(argv)


def only_values(words: tuple[Word, ...]) -> bool:
    """Whether what is not known of the words can be nothing but the value of an argument."""
    argv = tuple(word.text for word in words)
    names = names_after(argv)
    for index, word in enumerate(words):
        if HOLE not in word.text and not word.opaque:
            continue
        if index == 0:
            return False
        if _is_commit(word):
            continue
        if argv[0] in FREE:
            continue
        single = word.segments is not None and all(
            item.quoted or item.kind not in ("variable", "substitution") for item in word.segments
        )
        if not single or word.glob is not None or not _harmless_place(argv, index, names):
            return False
    return True


def _is_commit(word: Word) -> bool:
    """Whether all that is not known of a word is the number of a commit: one word, and no option."""
    unknown = [item for item in word.segments or () if item.kind not in ("text", "directory")]
    return word.glob is None and bool(unknown) and all(map(_names_commit, unknown))


def _names_commit(segment: Segment) -> bool:
    line = segment.line
    if segment.kind != "substitution" or line is None or line.redirects or len(line.simple_commands) != 1:
        return False
    simple = line.simple_commands[0]
    if simple.redirects or simple.assigns or simple.opaque or simple.argv[:2] not in _COMMITS:
        return False
    arguments = [word for word in simple.argv[2:] if word not in _COMMIT_FLAGS]
    return bool(arguments) and all(map(_REVISION.fullmatch, arguments))


def _harmless_place(argv: tuple[str, ...], index: int, names: int) -> bool:
    if index >= names:
        return True
    if argv[0] == "printf":
        return index > 1 and not argv[1].startswith(("-", HOLE))
    sub = argv[1] if len(argv) > 1 else ""
    options = _TEXT_OPTIONS.get((argv[0], sub), frozenset())
    name, equals, _ = argv[index].partition("=")
    if equals and name.startswith("--") and name in options:
        return True
    # The option might itself be the value of one before it.
    return index > 2 and argv[index - 1] in options and not (index > 3 and _may_take(argv[index - 2]))


def _may_take(word: str) -> bool:
    return word.startswith("-") and "=" not in word and word not in _FLAGS and word not in _PLAIN_FLAGS
