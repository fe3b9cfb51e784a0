"""What sub-commands of git show, and change, of the files that it holds."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from caliban_permissions.reach.value import UNKNOWN, Fed, Held, Reach
from caliban_permissions.reach.words import SortedWords, sort_words

_GLOBAL_TAKES = frozenset("-C -c --git-dir --work-tree --namespace --exec-path --config-env".split())
_HEADS = frozenset(
    "log show whatchanged diff format-patch diff-tree diff-index diff-files range-diff reflog".split()
)
_PATCHES = frozenset("diff show format-patch whatchanged range-diff".split())
_NO_CONTENTS = (
    "stat numstat shortstat dirstat summary name-only name-status no-patch raw compact-summary quiet"
).split()
_ALSO = (
    "patch unified cc patch-with-stat patch-with-raw function-context word-diff color-words remerge-diff"
).split()
_LOG_TAKES = "nSGLOlU"
_LOG_LONG = (
    "max-count skip since until after before author committer grep date diff-filter output format pretty"
)
_BISECTS = frozenset("start log view visualize terms replay help".split())
_MOVES = frozenset("pull bisect read-tree checkout-index sparse-checkout rerere".split())
"""Sub-commands that bring the working tree to another state."""

_LOOKS = frozenset("list show drop clear create store export".split())
_ELSEWHERE = ("--git-dir", "--work-tree", "--namespace", "--config-env", "-c")
_ENDINGS = frozenset("--abort --quit --continue --skip --edit-todo".split())
_LEAVES_OUT = (":!", ":^", ":(exclude)")
_TRACKED = Reach(root=".", held="tracked")
_CHANGED = Reach(root=".", held="changed")
_MAYBE = Reach(root=".", held="tracked", certain=False)


class GitCommand(Struct, frozen=True):
    """A git command taken apart: the directory it works in, its sub-command and the words behind that.

    `elsewhere` is whether an option may name another repository than the one of that directory.
    """

    directory: str
    sub: str
    words: tuple[str, ...]
    elsewhere: bool = False


def taken_apart(argv: Sequence[str]) -> GitCommand | None:
    """The parts of a git command; `None` where it has no sub-command."""
    directory, at = ".", 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] in ("-C", "--work-tree") and at + 1 < len(argv):
            directory = posixpath.join(directory, argv[at + 1])
        elif argv[at].startswith("--work-tree="):
            directory = argv[at].partition("=")[2]
        at += 1 + (argv[at] in _GLOBAL_TAKES)
    if at >= len(argv):
        return None
    elsewhere = any(word.startswith(_ELSEWHERE) for word in argv[1:at])
    return GitCommand(directory, argv[at], tuple(argv[at + 1 :]), elsewhere)


def git_lists(argv: Sequence[str]) -> Fed:
    """The files of which a git command prints the names."""
    git = taken_apart(argv)
    if git is None:
        return UNKNOWN
    words = sort_words(git.words, "xXS")
    if git.sub == "ls-files":
        others = words.has("o", "others")
        held: tuple[Held, ...] = ("untracked",) if others else ("tracked",)
        if others and words.has("c", "cached"):
            held = ("tracked", "untracked")
        everything = not words.has("", "exclude-standard")
        return Fed(
            tuple(
                reach
                for each in held
                for reach in _meant(git, words.operands, Reach(root=".", held=each, ignored=everything))
            )
        )
    if git.sub in ("diff", "grep", "ls-tree", "log", "show", "status", "diff-tree", "diff-index"):
        changed = git.sub in ("diff", "diff-files") and not words.operands
        return Fed((Reach(root=git.directory, held="changed" if changed else "tracked", certain=changed),))
    return UNKNOWN


def git_reads(argv: Sequence[str]) -> Iterator[Reach]:
    """The files whose contents a git command shows, or puts where they can be read."""
    git = taken_apart(argv)
    if git is None:
        return
    if git.sub == "grep":
        yield from _grep(git)
    elif git.sub in _HEADS or (git.sub == "stash" and git.words[:1] == ("show",)):
        yield from _shown(git)
    elif git.sub == "archive" or (git.sub == "worktree" and git.words[:1] == ("add",)):
        words = sort_words(git.words, "o", "output format prefix remote exec")
        paths = words.operands[1:] if git.sub == "archive" else ()
        listing = words.has("l", "list") or "--remote" in dict(words.options)
        yield from () if listing else _meant(git, paths, _TRACKED)
    elif git.sub in ("fast-export", "bundle", "clone") or (
        git.sub == "checkout-index" and any(word.startswith("--prefix") for word in git.words)
    ):
        yield replace(_TRACKED, root=git.directory, certain=False)
    elif git.sub in ("add", "commit", "checkout", "restore", "reset", "stash"):
        words = sort_words(git.words, "mFCct")
        if words.has("p", "patch") or (git.sub == "commit" and words.has("v", "verbose")):
            held: Held = "changed" if git.sub in ("add", "checkout") else "tracked"
            yield Reach(root=git.directory, held=held, certain=False)


def _grep(git: GitCommand) -> Iterator[Reach]:
    words = sort_words(
        git.words, "efABCmO", "max-depth after-context before-context context max-count threads"
    )
    operands, ended = _split_at_dashes(git.words, words)
    if not words.values("ef"):
        operands = operands[1:]
    if words.has("", "no-index"):
        reach = Reach(root=".", ignored=not words.has("", "exclude-standard"))
        yield from _meant(git, ended or operands, reach)
        return
    yield from _paths_or_all(git, operands, ended, (_TRACKED, _TRACKED))
    if words.has("", "untracked"):
        reach = Reach(root=".", held="untracked", ignored=words.has("", "no-exclude-standard"))
        yield from _paths_or_all(git, operands, ended, (reach, reach))


def _paths_or_all(
    git: GitCommand, operands: Sequence[str], ended: Sequence[str], reaches: tuple[Reach, Reach]
) -> Iterator[Reach]:
    """What is meant by the paths behind `--`, by operands that may be paths, or by none of them."""
    path, revision = reaches
    if ended:
        yield from _meant(git, ended, revision if operands else path)
    elif operands:
        yield from _words_meant(git, operands, path, revision)
    else:
        yield from _meant(git, (), path)


def _shown(git: GitCommand) -> Iterator[Reach]:
    words = sort_words(git.words, _LOG_TAKES, _LOG_LONG)
    operands, ended = _split_at_dashes(git.words, words)
    if words.has("", "no-index"):
        yield from (Reach(root=root) for root in operands)
        return
    if not _shows_contents(git.sub, words):
        return
    if git.sub == "show" and operands and not ended and all(":" in word for word in operands):
        return  # files of a revision, which are looked at by their names
    of_index = git.sub in ("diff", "diff-files") and not words.has("", "cached", "staged", "merge-base")
    maybe = replace(_MAYBE, all=True)
    path = replace(_CHANGED, all=True) if of_index else maybe
    if git.sub == "stash":
        operands = ()
    yield from _paths_or_all(git, operands, ended, (path, maybe))


def _shows_contents(sub: str, words: SortedWords) -> bool:
    """Whether it prints more of files than their names and numbers."""
    if any(words.has("", name) for name in _ALSO) or words.has("pucWUL"):
        return True
    silent = any(words.has("", name) for name in _NO_CONTENTS) or (sub != "diff" and words.has("s"))
    return sub in _PATCHES and not silent


def git_changes(argv: Sequence[str]) -> Iterator[Reach]:
    """The files of the working tree that a git command changes or deletes."""
    git = taken_apart(argv)
    if git is None:
        return
    match git.sub:
        case "checkout" | "switch":
            yield from _checked_out(git)
        case "restore":
            words = sort_words(git.words, "s", "source")
            if not words.has("S", "staged") or words.has("W", "worktree"):
                known = not words.values("s", "source") and not words.has("S", "staged")
                yield from _restored(git, words.operands, known=known)
        case "reset" if sort_words(git.words).has("", "hard", "merge", "keep"):
            yield from _emptied(git, ())
            yield from _brought(git, sort_words(git.words).operands[:1])
        case "merge" | "rebase" | "cherry-pick" | "revert" if not _ENDINGS.intersection(git.words):
            yield from _committed(git)
        case "stash":
            yield from _stashed(git)
        case "clean":
            yield from _cleaned(git)
        case "rm" | "mv":
            words = sort_words(git.words)
            cached = words.has("", "cached") or words.has("n", "dry-run")
            operands = words.operands if git.sub == "rm" else words.operands[:-1]
            yield from () if cached or not operands else _meant(git, operands, replace(_TRACKED, empty=True))
        case "apply" | "am":
            words = sort_words(git.words, "pC", "directory exclude include whitespace")
            looks = any(words.has("", name) for name in ("check", "stat", "numstat", "summary", "cached"))
            if not looks or words.has("", "apply") or git.sub == "am":
                strips = [value for value in words.values("p") if value.isdigit()]
                yield from applied(git.directory, words.operands, int(strips[-1]) if strips else 1)
        case "bisect" if not git.words or git.words[0] in _BISECTS:
            return
        case sub if sub in _MOVES and not (git.words and _ENDINGS.issuperset(git.words)):
            yield from _restored(git, (), known=False)


def applied(root: str, patches: Sequence[str], strip: int) -> Iterator[Reach]:
    """The files that patches name; where they come from elsewhere, any that is there."""
    yield from (Reach(root=root, patch=patch, strip=strip) for patch in patches)
    if not patches:
        yield Reach(root=root, certain=False)


def _restored(git: GitCommand, operands: tuple[str, ...], *, known: bool) -> Iterator[Reach]:
    yield from _meant(git, operands, replace(_CHANGED if known else _MAYBE, all=True))


def _checked_out(git: GitCommand) -> Iterator[Reach]:
    words = sort_words(git.words, "bBcC", "orphan conflict")
    operands, ended = _split_at_dashes(git.words, words)
    if words.has("f", "force", "discard-changes") and not ended:
        yield from _emptied(git, ())
    if words.values("bBcC", "orphan") or git.sub == "switch" or words.has("", "detach"):
        yield from _brought(git, operands[:1])
    elif ended:
        yield from _restored(git, ended, known=not operands)
    elif operands[1:]:
        yield from _restored(git, operands[1:], known=False)
        yield from _meant(git, operands[:1], _CHANGED)
    elif operands:
        place = posixpath.normpath(posixpath.join(git.directory, operands[0]))
        is_path = operands[0] in (".", "..") or any(mark in operands[0] for mark in ":*?[")
        yield from (
            replace(reach, there="" if is_path else place) for reach in _meant(git, operands, _CHANGED)
        )
        yield from () if is_path else (replace(reach, gone=place) for reach in _brought(git, operands))


def _brought(git: GitCommand, revisions: Sequence[str], *, applied: bool = False) -> Iterator[Reach]:
    """What is other in the working tree once it is that of another revision, or has its changes."""
    for text in revisions:
        yield replace(
            _TRACKED,
            root=git.directory,
            certain=False,
            all=True,
            revision="" if git.elsewhere else text,
            applied=applied,
        )


def _emptied(git: GitCommand, paths: Sequence[str]) -> Iterator[Reach]:
    """What goes back to the last commit."""
    yield from _meant(git, paths, replace(_CHANGED, all=True))
    yield from _meant(git, paths, Reach(root=".", held="staged", all=True))


def _committed(git: GitCommand) -> Iterator[Reach]:
    """What commits that are there bring along."""
    words = sort_words(git.words, "msXSCFx", "message strategy strategy-option onto exec mainline cleanup")
    by_hand = words.has("ix", "interactive", "exec", "root", "autostash")
    named = (*words.operands, *words.values("", "onto"))
    if by_hand or not named or any(".." in text for text in named):
        yield from _restored(git, (), known=False)
    else:
        yield from _brought(git, named, applied=git.sub in ("cherry-pick", "revert"))


def _stashed(git: GitCommand) -> Iterator[Reach]:
    verb = git.words[0] if git.words and not git.words[0].startswith("-") else "push"
    if verb in _LOOKS:
        return
    words = sort_words(git.words, "m", "message pathspec-from-file")
    operands = words.operands[1:] if git.words[:1] == (verb,) else words.operands
    paths = operands if verb == "push" else ()
    if verb in ("pop", "apply", "branch"):
        named = operands[1:2] if verb == "branch" else operands[:1]
        entry = "".join(named) or "refs/stash"
        yield from _brought(git, (f"stash@{{{entry}}}" if entry.isdigit() else entry,), applied=True)
        return
    yield from _emptied(git, paths)
    if words.has("ua", "include-untracked", "all"):
        everything = words.has("a", "all")
        yield from _meant(git, paths, Reach(root=".", held="untracked", ignored=everything, all=True))


def _cleaned(git: GitCommand) -> Iterator[Reach]:
    words = sort_words(git.words, "e", "exclude")
    if words.has("n", "dry-run") or not words.has("fi", "force", "interactive"):
        return
    deep = words.has("d")
    reach = Reach(
        root=".",
        held="untracked",
        ignored=words.has("xX"),
        spared=words.values("e", "exclude"),
        certain=deep and not words.has("Xi", "interactive"),
    )
    yield from _meant(git, words.operands, reach)


def _meant(git: GitCommand, paths: Sequence[str], reach: Reach) -> Iterator[Reach]:
    """The reach for each place that pathspecs mean: for the directory of the command where there are none.

    One for `all` of the working tree is for that.
    """
    given = [path for path in paths if not path.startswith(_LEAVES_OUT)]
    spared = tuple(path[len(mark) :] for path in paths for mark in _LEAVES_OUT if path.startswith(mark))
    for path in given or (".",):
        plain = path.partition(")")[2] if path.startswith(":(") else path.lstrip(":")
        if path.startswith(":"):
            plain = plain.lstrip("/")
        wild = min((plain.find(mark) for mark in "*?[" if mark in plain), default=-1)
        named: tuple[str, ...] = ()
        if wild >= 0:
            folder, _, name = plain[:wild].rpartition("/")
            rest = name + plain[wild:]
            plain, named = folder, (rest,) if "/" not in rest and "[" not in rest else ()
        top = path.startswith((":/", ":(top")) or (reach.all and not given)
        root = posixpath.normpath(posixpath.join(git.directory, plain or "."))
        yield replace(reach, root=root, names=named, spared=(*reach.spared, *spared), all=top)


def _words_meant(git: GitCommand, words: Sequence[str], path: Reach, revision: Reach) -> Iterator[Reach]:
    """The reaches of words that are paths where such files are there, and else revisions."""
    for word in words:
        if word.startswith(":") or any(mark in word for mark in "*?["):
            yield from _meant(git, (word,), path)
            continue
        place = posixpath.normpath(posixpath.join(git.directory, word))
        yield replace(path, root=place, there=place)
        if word not in (".", "..", "HEAD"):
            yield replace(revision, root=git.directory, gone=place)
        elif word == "HEAD":
            yield replace(revision, root=git.directory)


def _split_at_dashes(
    words: Sequence[str], sorted_words: SortedWords
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operands in front of `--`, and those behind it."""
    if "--" not in words:
        return sorted_words.operands, ()
    behind = tuple(words[list(words).index("--") + 1 :])
    return sorted_words.operands[: len(sorted_words.operands) - len(behind)], behind
