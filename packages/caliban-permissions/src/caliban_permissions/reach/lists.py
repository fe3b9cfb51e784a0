"""Programs that print names of files, or run others on them: which files those are."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from caliban_permissions.commands.wrappers import program
from caliban_permissions.reach.git import git_lists
from caliban_permissions.reach.value import UNKNOWN, Fed, Reach
from caliban_permissions.reach.words import SortedWords, sort_words
from caliban_permissions.readonly.quirks import TYPES, alternatives
from caliban_permissions.shell import HOLE

FINDS = frozenset({"find", "gfind"})
FDS = frozenset({"fd", "fdfind"})
GREPS = frozenset("grep egrep fgrep ggrep rgrep pcregrep pcre2grep".split())
RIPGREPS = frozenset("rg ag ugrep ug ack".split())
FEEDS = frozenset("xargs gxargs parallel".split())
RUNS = frozenset("-exec -execdir -ok -okdir".split())
_RUNS_FD = frozenset("-x -X --exec --exec-batch".split())
_FILTERS = frozenset("head tail sort uniq tac cat grep egrep fgrep sed awk shuf cut tr tee".split())
_GREP_TAKES = "emABCfdD"
_GREP_LONG = (
    "regexp file max-count after-context before-context context include exclude exclude-dir exclude-from "
    "binary-files directories devices label group-separator"
)
_RG_TAKES = "efgtTmABCMjrdE"
_RG_LONG = (
    "regexp file glob iglob type type-not max-count after-context before-context context max-columns threads "
    "replace max-depth encoding engine sort sortr color colors context-separator max-filesize pre pre-glob "
    "ignore-file path-separator type-add"
)
_TESTS = frozenset("-name -iname -path -ipath -wholename -iwholename".split())
_TAKES_ONE = _TESTS | frozenset(
    "-type -xtype -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer "
    "-perm -user -group -regex -iregex -regextype -links -inum -used -printf -fprint -fls -fstype "
    "-samefile".split()
)
_PASSES = frozenset("-type -maxdepth -print -print0 -depth -mindepth -xdev -mount -noleaf -ls".split())
_NOT = ("!", "-not")
_FEED_TAKES = frozenset(
    "-n -L -P -s -a -d -E -j --max-args --max-procs --max-lines --delimiter --jobs".split()
)


def listed(argv: Sequence[str], fed: Fed | None) -> Fed:
    """The files whose names a command prints; `fed` are those whose names it reads."""
    name = program(argv[0])
    if name in FINDS:
        return Fed((*find_reaches(argv),))
    if name in FDS:
        return Fed((*fd_reaches(argv),))
    if name == "git":
        return git_lists(argv)
    if name in RIPGREPS or name in GREPS:
        reaches = tuple(grep_reaches(argv))
        if not reaches and fed is not None:
            return _some(fed)
        lists = {"-l", "-L", "--files", "--files-with-matches", "--files-without-match"}
        names_only = any(word in lists or (word[:1] == "-" != word[1:2] and "l" in word) for word in argv)
        return Fed(tuple(replace(reach, certain=False) for reach in reaches)) if names_only else UNKNOWN
    if name in ("ls", "dir"):
        words = sort_words(argv[1:], "IwT", "ignore hide width")
        shown = words.has("aA", "all", "almost-all")
        depth = 0 if words.has("R", "recursive") else 1
        return Fed(tuple(Reach(root=root, depth=depth, hidden=shown) for root in words.operands or (".",)))
    if name in ("echo", "printf"):
        return Fed()  # what stands in the line is looked at word by word
    if name in _FILTERS and fed is not None:
        return _some(fed)
    return UNKNOWN


def _some(fed: Fed) -> Fed:
    """Some of the files."""
    return Fed(tuple(replace(reach, certain=False) for reach in fed.reaches), fed.known)


def find_reaches(argv: Sequence[str]) -> list[Reach]:
    """The files that the tests of a `find` let pass, in front of its first action."""
    words = list(argv[1:])
    links = False
    while words and (words[0] in ("-H", "-L", "-P") or words[0][:2] in ("-O", "-D")):
        links = links or words[0] == "-L"
        words.pop(0)
    at = next((place for place, word in enumerate(words) if word[:1] in ("-", "(", "!", ",")), len(words))
    roots = words[:at] or ["."]
    ends = [place for place, word in enumerate(words) if word in RUNS or word == "-delete"]
    tests = words[at : min(ends, default=len(words))]
    pruned, tests = _without_pruned(tests)
    # With more than one action, or with what is joined or turned round, tests say nothing of single files.
    plain = len(ends) < 2 and not {"-o", "-or", ",", "-prune", "(", ")"}.intersection(tests)
    reaches = []
    for root in roots:
        reach = Reach(root=root, links=links or "-follow" in tests, spared=pruned)
        reaches.append(_tested(reach, tests) if plain else replace(reach, certain=False))
    return reaches


def _without_pruned(tests: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """What an expression that begins with a `-prune` leaves out, and the rest of it."""
    if "-prune" not in tests:
        return (), tests
    at = tests.index("-prune")
    group = [word for word in tests[:at] if word not in ("(", ")", "-o", "-or", "-type", "d")]
    tested = [name in _TESTS for name in group[::2]]
    if len(group) % 2 or not all(tested) or tests[at + 1 : at + 2] not in (["-o"], ["-or"]):
        return (), tests
    return tuple(value.removesuffix("/*") for value in group[1::2]), tests[at + 2 :]


def _tested(reach: Reach, tests: Sequence[str]) -> Reach:
    whole, at = reach, 0
    while at < len(tests):
        word, value = tests[at], "".join(tests[at + 1 : at + 2])
        negated = at > 0 and tests[at - 1] in _NOT
        if negated and at > 1 and tests[at - 2] in _NOT:
            return replace(whole, certain=False)
        if word in _TESTS and not value.isascii():
            reach = replace(reach, certain=False)
        elif word in ("-name", "-iname") and negated:
            reach = replace(reach, spared=(*reach.spared, value)) if word == "-name" else reach
        elif word in _TESTS and negated:
            reach = replace(reach, spared=(*reach.spared, value.removesuffix("/*")))
        elif word == "-name" and not reach.names:
            reach = replace(reach, names=(value,))
        elif word in ("-path", "-wholename") and not reach.paths:
            reach = replace(reach, paths=(value,))
        elif word == "-maxdepth" and value.isdigit():
            reach = replace(reach, depth=max(int(value), 1))
        elif word == "-type" and value == "d":
            reach = replace(reach, certain=False)
        elif word == "-type" and value == "f":
            reach = replace(reach, plain=not negated)
        elif word not in _PASSES and word not in _NOT and word not in ("-a", "-and"):
            reach = replace(reach, certain=False)
        at += 1 + (word in _TAKES_ONE)
    return reach


def fd_reaches(argv: Sequence[str]) -> list[Reach]:
    """The files that `fd` finds."""
    end = next((place for place, word in enumerate(argv) if word in _RUNS_FD), len(argv))
    words = sort_words(
        argv[1:end],
        "teEdcSoj",
        "type extension exclude max-depth min-depth exact-depth color size changed-within changed-before "
        "owner max-results threads search-path base-directory",
    )
    open_all = words.has("u", "unrestricted")
    pattern = "".join(words.operands[:1]).strip(".*")
    reach = Reach(
        root=".",
        hidden=open_all or words.has("H", "hidden"),
        ignored=open_all or words.has("I", "no-ignore", "no-ignore-vcs"),
        names=tuple(f"*.{ending}" for ending in words.values("e", "extension")),
        spared=words.values("E", "exclude"),
        links=words.has("L", "follow"),
        certain=not pattern,
    )
    roots = (*words.operands[1:], *words.values("", "search-path", "base-directory")) or (".",)
    return [replace(reach, root=root) for root in roots]


def grep_reaches(argv: Sequence[str]) -> list[Reach]:
    """What a search reads below the directories that it is given; nothing where it reads files alone."""
    name = program(argv[0])
    if name in RIPGREPS:
        return _ripgrep(name, argv)
    words = sort_words(argv[1:], _GREP_TAKES, _GREP_LONG)
    recursive = name == "rgrep" or words.has("rR", "recursive", "dereference-recursive")
    if not recursive and "recurse" not in words.values("d", "directories"):
        return []
    reach = Reach(
        root=".",
        names=() if words.values("", "exclude") else words.values("", "include"),
        spared=(*words.values("", "exclude"), *words.values("", "exclude-dir")),
        links=words.has("R", "dereference-recursive"),
        plain=not words.has("R", "dereference-recursive"),
        certain=not words.values("", "exclude-from"),
    )
    return [replace(reach, root=root) for root in _searched(words)]


def _searched(words: SortedWords) -> tuple[str, ...]:
    """The places behind the pattern."""
    has_pattern = bool(words.values("ef", "regexp", "file"))
    return (words.operands if has_pattern else words.operands[1:]) or (".",)


def _ripgrep(name: str, argv: Sequence[str]) -> list[Reach]:
    words = sort_words(argv[1:], _RG_TAKES, _RG_LONG)
    levels = words.letters.count("u") + sum(option == "unrestricted" for option, _ in words.options)
    globs = words.values("g", "glob", "iglob")
    chosen = tuple(glob for glob in globs if not glob.startswith("!"))
    spared = tuple(glob[1:] for glob in globs if glob.startswith("!"))
    names = [name for glob in chosen for name in alternatives(glob.rpartition("/")[2])]
    types = words.values("tT", "type", "type-not")
    if types and not chosen and not words.values("T", "type-not"):
        names = " ".join(TYPES.get(kind, "[") for kind in types).split()
    files = words.has("", "files")
    ignored = levels > 0 or any(option.startswith("no-ignore") for option, _ in words.options)
    reach = Reach(
        root=".",
        # A glob takes in what is hidden or ignored.
        hidden=name == "ack" or levels > 1 or words.has(".", "hidden") or bool(chosen),
        ignored=name == "ack" or ignored or bool(chosen),
        spared=tuple(glob.removeprefix("**/").removesuffix("/**") for glob in spared),
        names=tuple(names) if all(map(_plain, names)) else (),
        links=words.has("L", "follow"),
        plain=not words.has("L", "follow"),
        certain=not (chosen or types),
    )
    roots = (words.operands or (".",)) if files else _searched(words)
    return [replace(reach, root=root) for root in roots]


def _plain(name: str) -> bool:
    return bool(name) and not set(name) & set("{}[]\\")


def inner_of(argv: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The commands that `find`, `fd` or `xargs` runs, with a HOLE where the names of files stand."""
    name = program(argv[0])
    if name in FINDS or name in FDS:
        inner = []
        for place, word in enumerate(argv[1:], start=1):
            if word in RUNS or (name in FDS and word in _RUNS_FD):
                tail = [*argv[place + 1 :]]
                ends = [at for at, end in enumerate(tail) if end in (";", "+")]
                tail = tail[: min(ends, default=len(tail))]
                command = [HOLE if part in ("{}", "{/}", "{//}") else part for part in tail]
                inner.append(tuple(command if HOLE in command else (*command, HOLE)))
        return tuple(command for command in inner if len(command) > 1)
    words = list(argv[1:])
    mark = ""
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-I", "-J", "--replace", "-i") and words:
            mark = words.pop(0) if word in ("-I", "-J") else "{}"
        elif word[:2] == "-I":
            mark = word[2:]
        elif word in _FEED_TAKES:
            words[:1] = []
    if not words:
        return ()
    if name == "parallel" and ":::" in words:
        words = words[: words.index(":::")]
    if not words:
        return ()
    if mark or name == "parallel":
        placed = tuple(part.replace(mark or "{}", HOLE) for part in words)
        return (placed if any(HOLE in part for part in placed) else (*placed, HOLE),)
    return ((*words, HOLE),)
