"""The sub-commands of git that only read, with the options of which that is known."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.readonly.options import KnownArguments, OptionGrammar, read_arguments
from caliban_permissions.readonly.reads import NOTHING, Reads, Tree
from caliban_permissions.shell import HOLE

_DIFF_LONG = (
    "patch no-patch stat numstat shortstat dirstat summary name-only name-status raw patch-with-stat "
    "compact-summary color no-color color-words word-diff minimal patience histogram cached staged "
    "merge-base no-ext-diff no-textconv full-index binary abbrev find-renames find-copies no-renames "
    "check ignore-space-change ignore-all-space ignore-blank-lines ignore-space-at-eol ignore-cr-at-eol "
    "function-context exit-code quiet text relative no-prefix no-relative ignore-submodules unified "
    "diff-filter diff-algorithm stat-width inter-hunk-context pickaxe-all pickaxe-regex cumulative "
    "irreversible-delete"
)
_LOG_LONG = (
    "oneline graph all branches tags remotes decorate no-decorate decorate-refs follow merges no-merges "
    "first-parent reverse date-order author-date-order topo-order pretty format abbrev-commit "
    "no-abbrev-commit "
    "parents children left-right cherry-pick cherry-mark cherry boundary simplify-by-decoration full-history "
    "walk-reflogs relative-date date max-count skip since after until before author committer grep all-match "
    "invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp no-walk "
    "clear-decorations source "
    "use-mailmap mailmap notes no-notes show-notes log-size min-parents max-parents not glob exclude "
    "bisect count "
    "encoding no-mailmap no-expand-tabs expand-tabs ancestry-path dense sparse remove-empty objects"
)
_LOG_TAKES_LONG = "max-count skip since after until before author committer grep date encoding"
_DIFF = OptionGrammar(
    "pusRazbwBCDM",
    "GSl",
    _DIFF_LONG,
    "diff-filter diff-algorithm",
    glued="U",
    numbers=True,
)
_LOG = OptionGrammar(
    "pusRazbwBCDMmciEFPg",
    "GSlnL",
    f"{_DIFF_LONG} {_LOG_LONG}",
    f"diff-filter diff-algorithm {_LOG_TAKES_LONG}",
    glued="U",
    numbers=True,
)
_LISTING = "all remotes list merged no-merged contains no-contains points-at sort format column no-column "
_GRAMMARS: Mapping[str, OptionGrammar] = {
    "diff": _DIFF,
    "log": _LOG,
    "show": _LOG,
    "whatchanged": _LOG,
    "reflog": _LOG,
    "status": OptionGrammar(
        "sbzvu",
        "",
        "short branch show-stash porcelain long verbose untracked-files ignored ahead-behind no-ahead-behind "
        "renames no-renames find-renames column no-column ignore-submodules null",
    ),
    "blame": OptionGrammar(
        "lstefnwcMC",
        "L",
        "porcelain line-porcelain incremental root show-stats score-debug show-name show-number show-email "
        "date color-lines color-by-age abbrev",
        "since",
    ),
    "shortlog": OptionGrammar(
        "snecw", "", f"summary numbered email committer group {_LOG_LONG}", _LOG_TAKES_LONG, numbers=True
    ),
    "ls-files": OptionGrammar(
        "cdmoiskutvfz",
        "x",
        "cached deleted modified others ignored stage directory no-empty-directory unmerged killed "
        "exclude-standard error-unmatch full-name abbrev debug eol deduplicate recurse-submodules",
        "exclude",
    ),
    "ls-tree": OptionGrammar(
        "drtlz", "", "name-only name-status full-name full-tree abbrev object-only long"
    ),
    "rev-parse": OptionGrammar(
        "q",
        "",
        "verify quiet short abbrev-ref symbolic symbolic-full-name all branches tags remotes show-toplevel "
        "show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree "
        "is-inside-git-dir is-bare-repository is-shallow-repository show-superproject-working-tree "
        "show-object-format",
    ),
    "rev-list": _LOG,
    "describe": OptionGrammar(
        "",
        "",
        "tags all always dirty broken long exact-match abbrev first-parent contains match candidates exclude",
    ),
    "merge-base": OptionGrammar("a", "", "all octopus is-ancestor independent fork-point"),
    "name-rev": OptionGrammar("", "", "name-only tags refs always"),
    "show-ref": OptionGrammar("sdq", "", "head tags heads branches hash verify abbrev dereference quiet"),
    "for-each-ref": OptionGrammar("", "", "count sort format merged no-merged contains points-at"),
    "cat-file": OptionGrammar("tspe", "", "", most=2),
    "count-objects": OptionGrammar("vH", "", "verbose human-readable", operands="none"),
    "check-ignore": OptionGrammar("qvn", "", "quiet verbose non-matching no-index"),
    "diff-tree": _LOG,
    "diff-index": _DIFF,
    "diff-files": _DIFF,
    "cherry": OptionGrammar("v", "", "abbrev"),
    "var": OptionGrammar(operands="text", most=1),
    "version": OptionGrammar("", "", "build-options", operands="none"),
    "grep": OptionGrammar(
        "aiIwvhHEGPFnlLcoqWpzr",
        "eABCm",
        "text ignore-case word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp "
        "fixed-strings line-number column files-with-matches name-only files-without-match count "
        "only-matching quiet heading break show-function function-context cached color and or not all-match "
        "null recursive",
        "after-context before-context context max-count max-depth threads",
        operands="script",
        scripts="e",
        numbers=True,
    ),
    "branch": OptionGrammar(
        "arvql", "", "show-current verbose abbrev color no-color ignore-case " + _LISTING, operands="text"
    ),
    "tag": OptionGrammar("ln", "", "color ignore-case " + _LISTING, operands="text", numbers=True),
    "remote": OptionGrammar("v", "", "verbose", operands="text"),
    "stash": OptionGrammar(
        "pu", "", "stat patch name-only name-status oneline no-color color include-untracked", operands="text"
    ),
    "worktree": OptionGrammar("vz", "", "porcelain verbose", operands="text"),
    "config": OptionGrammar("", "", "get global local system bool int path", operands="text"),
}
_NAMES_ALONE = frozenset({"ls-files", "check-ignore"})
_VERBS = frozenset({"stash", "worktree"})
_REFLOGS = frozenset({"show", "list", "exists", "HEAD"})
_LISTED_BY = frozenset(
    "c m o d z cached modified others deleted exclude-standard deduplicate error-unmatch".split()
)
_OF_HISTORY = frozenset({"cached", "staged", "merge-base"})
_MAGIC = lazy_pattern(r"^(?:\([^)]*\)|[!^/]+)")
_SIGNATURE = lazy_pattern(r"%[-+ ]?G")
_LISTS = frozenset({"l", "list", "contains", "no-contains", "merged", "no-merged", "points-at"})
_PLAIN_KEYS = lazy_pattern(
    r"(?:user\.(?:name|email)|init\.defaultbranch|core\.(?:bare|editor|autocrlf|eol|filemode|hookspath)|"
    r"branch\.[^=]+\.(?:remote|merge)|pull\.rebase|push\.default|remote\.[^=.]+\.fetch)",
    re.IGNORECASE,
)


def git_reads(words: tuple[str, ...]) -> Reads | None:
    """What a git command looks at; `None` for what may write, run a program, or reach another host."""
    directory, at = ".", 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            at += 1
        elif words[at] == "-C" and at + 1 < len(words) and directory == "." and HOLE not in words[at + 1]:
            directory = words[at + 1]
            at += 2
        else:
            return NOTHING if words in (("--version",), ("-v",)) else None
    if at >= len(words):
        return None
    sub, rest = words[at], words[at + 1 :]
    grammar = _GRAMMARS.get(sub)
    if grammar is None or any("::" in word for word in rest) or any(map(_verifies, _formats(rest))):
        return None
    if sub in _VERBS and rest[:1] and rest[0].startswith("-"):
        return None  # with an option for the first word another verb may be meant
    arguments = read_arguments(rest, grammar)
    if arguments is None or not _only_reads(sub, arguments):
        return None
    if sub == "version":
        return NOTHING
    reads = Reads(places=(directory,) if directory != "." else (), repositories=(directory,))
    if grammar.operands == "text":
        return replace(reads, addresses=sub == "remote" and bool(rest))
    operands = arguments.operands
    if sub == "grep":
        operands = operands if "e" in dict(arguments.values) else operands[1:]
        reads = replace(reads, trees=tuple(Tree(_below(directory, word)) for word in operands or (".",)))
    named = tuple(path for word in operands for path in _paths(word))
    named += tuple(
        value.rpartition(":")[2] for option, value in arguments.values if option == "L" and ":" in value
    )
    listed = directory == "." and _lists(sub, arguments)
    trees = (Tree(directory, bare=True, indexed=True),) if listed else ()
    files = tuple(_below(directory, path) for path in named)
    null = "z" in arguments.options
    if sub in _NAMES_ALONE:
        return replace(reads, places=(*reads.places, *files), listed=trees, null=null)
    return replace(reads, files=files, listed=trees, null=null, compares=sub == "diff")


def _only_reads(sub: str, arguments: KnownArguments) -> bool:
    """Whether a sub-command that also writes is used to look."""
    operands, options = arguments.operands, arguments.options
    listing = bool(options & _LISTS) or any(name in _LISTS for name, _ in arguments.values)
    match sub:
        case "branch":
            return listing or not operands
        case "tag":
            return "l" in options or "list" in options or listing or not operands
        case "remote":
            return not operands or (len(operands) == 2 and operands[0] == "get-url")
        case "stash":
            return operands[:1] in (("list",), ("show",))
        case "worktree":
            return operands == ("list",)
        case "reflog":
            return not operands or operands[0] in _REFLOGS or "@" in operands[0]
        case "config":
            keys = operands[1:] if operands[:1] == ("get",) else operands
            return len(keys) == 1 and _PLAIN_KEYS.fullmatch(keys[0]) is not None
        case _:
            return True


def _paths(word: str) -> tuple[str, ...]:
    """What of an operand may be a file: all of it, and what stands behind the name of a revision.

    A name may have colons of its own, and before the colon a message or a time that is looked for.
    """
    tails = tuple(word[at + 1 :] for at, char in enumerate(word) if char == ":")
    if not word.startswith(":"):
        return (word, *filter(None, tails))
    return tuple(_MAGIC.sub("", tail).lstrip("/") or word for tail in tails)


def _formats(words: tuple[str, ...]) -> Iterator[str]:
    """What says how something is shown or sorted."""
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in ("--format", "--pretty", "--sort"):
            yield value if equals else " ".join(words[at + 1 : at + 2])


def _verifies(text: str) -> bool:
    """Whether a format makes git run the program that checks signatures, or may: nobody knows all of it."""
    return HOLE in text or "signature" in text or _SIGNATURE.search(text) is not None


def _lists(sub: str, arguments: KnownArguments) -> bool:
    """Whether it prints names of files below the directory, and of none that only history knows."""
    if sub == "ls-files":
        inside = all(word[:1] not in (":", "/") and ".." not in word for word in arguments.operands)
        return inside and arguments.options <= _LISTED_BY
    of_history = arguments.operands or arguments.options & _OF_HISTORY
    return sub == "diff" and "name-only" in arguments.options and not of_history


def _below(directory: str, path: str) -> str:
    return path if directory == "." or path.startswith("/") else f"{directory}/{path}"
