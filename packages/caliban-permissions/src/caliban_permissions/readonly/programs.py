"""What a simple command looks at if it only reads, by its program and arguments."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.files import shared_device
from caliban_permissions.readonly.find import find_reads
from caliban_permissions.readonly.git import git_reads
from caliban_permissions.readonly.languages import awk_reads, jq_reads, printf_reads, sed_reads, test_reads
from caliban_permissions.readonly.options import KnownArguments, OptionGrammar, read_arguments
from caliban_permissions.readonly.processes import ps_reads
from caliban_permissions.readonly.quirks import quirk, readmitted, runs_plainly, with_endings
from caliban_permissions.readonly.reads import NOTHING, Reads, Tree, plain_globs
from caliban_permissions.readonly.table import FREE, GRAMMARS, VERSIONS
from caliban_permissions.shell import HOLE
from caliban_permissions.shell.variables import harmless

LOOSE = HOLE * 2
"""Stands for text that is not known and that may become any number of words."""

_SYSTEM_DIRECTORIES = ("/bin/", "/usr/bin/")
_TRANSPARENT = frozenset({"timeout", "gtimeout", "nice", "time", "command"})
_VARIABLE = lazy_pattern(r"[a-z_][a-z0-9_]*")
_PLAIN_DATE = frozenset("-u --utc --universal -R --rfc-email -I -Iseconds -Iminutes -Idate -Ihours".split())
_TAR_LISTS = lazy_pattern(r"-?(?=[a-zJ]*t)[tzjJv]*f")
_ZIP_LISTS = (("-l",), ("-v",), ("-Z1",))
_MANY = 512
_MAX_WRAPPERS = 4
_READERS: Mapping[str, Callable[[tuple[str, ...]], Reads | None]] = {
    "find": find_reads,
    "git": git_reads,
    "sed": sed_reads,
    "gsed": sed_reads,
    "awk": awk_reads,
    "gawk": awk_reads,
    "mawk": awk_reads,
    "nawk": awk_reads,
    "jq": jq_reads,
    "test": test_reads,
    "[": test_reads,
    "printf": printf_reads,
    "ps": ps_reads,
}


def reads_of(argv: tuple[str, ...], fed: Reads | None = None) -> Reads | None:
    """What the command looks at, or `None` when it is not known to only read.

    In `argv` quoted text that is not known is a HOLE, and any other is LOOSE. `fed` is what the command looks
    at whose output it reads.
    """
    for _ in range(_MAX_WRAPPERS):
        name = _program(argv[0])
        if name not in _TRANSPARENT or (name == "command" and argv[1:2] in (("-v",), ("-V",))):
            break
        start = runs_plainly(argv)
        if start is None:
            return None
        argv = argv[start:]
    name = _program(argv[0])
    words = argv[1:]
    if name is None:
        return None
    if name in FREE or (name == "command" and words[:1] in (("-v",), ("-V",))):
        return NOTHING
    if len(words) == 1 and words[0] in VERSIONS.get(name, ()):
        return NOTHING
    if any(LOOSE in word for word in words) and name != "printf":
        return None
    if name == "xargs":
        return _xargs(words, fed)
    if name == "find" and "-exec" in words:
        return _find_running(words)
    return _listed(_own(name, words), fed, name, words)


def _own(name: str, words: tuple[str, ...]) -> Reads | None:
    reader = _READERS.get(name)
    if reader is not None:
        return reader(words)
    match name:
        case "cd":
            return _cd(words)
        case "date":
            return _date(words)
        case "read":
            return _read(words)
        case "tee":
            return NOTHING if words and all(map(shared_device, words)) else None
        case "tar" | "gtar" | "bsdtar":
            return _tar(words)
        case "unzip":
            listing = words[:1] in _ZIP_LISTS and len(words) == 2 and HOLE not in words[1]
            return with_endings(Reads(files=words[1:])) if listing else None
    grammar = GRAMMARS.get(name)
    if grammar is None:
        return None
    arguments = read_arguments(words, grammar)
    reads = None if arguments is None else _by_grammar(name, grammar, arguments)
    return reads if reads is None or arguments is None else quirk(name, arguments, reads)


def _program(word: str) -> str | None:
    """The name of an installed program; `None` for one that a path names elsewhere."""
    for directory in _SYSTEM_DIRECTORIES:
        if word.startswith(directory):
            word = word[len(directory) :]
    return None if "/" in word or HOLE in word else word


def _by_grammar(name: str, grammar: OptionGrammar, arguments: KnownArguments) -> Reads | None:
    operands = arguments.operands
    named = frozenset(name for name, _ in arguments.values) | arguments.options
    if grammar.operands == "script" and not named.intersection(grammar.scripts.split()):
        if not operands and name != "fd":
            return None
        operands = operands[1:]
    files = tuple(value for option, value in arguments.values if option in grammar.files.split())
    files += arguments.late
    match grammar.operands:
        case "text":
            return NOTHING
        case "none":
            return None if operands else NOTHING
        case "names":
            return Reads(files=files, places=operands or (".",))
        case _:
            pass
    if name == "fd":
        roots = operands or (".",)
        listed = _trees(roots, bare=not operands)
        return Reads(places=roots, listed=listed, null=bool(named & {"0", "print0"}))
    if name == "rg":
        return _ripgrep(arguments, operands, files)
    if not named.intersection(grammar.recursive.split()):
        return Reads(files=(*files, *operands))
    links = bool(named & {"R", "dereference-recursive"})
    include = tuple(value for option, value in arguments.values if option == "include")
    if not plain_globs(include) or any(option == "exclude" for option, _ in arguments.values):
        include = ()
    trees = _trees(operands or (".",), links=links, names=include, bare=not operands)
    lists = trees if named & _FILES_ALONE else ()
    return Reads(files=files, trees=trees, listed=lists, null=bool(named & {"Z", "null"}))


def _ripgrep(arguments: KnownArguments, operands: tuple[str, ...], files: tuple[str, ...]) -> Reads:
    names = readmitted(arguments)
    hidden = bool(arguments.options & {"hidden", ".", "u", "unrestricted", "no-ignore"})
    hidden = hidden or names is not None
    ignoring = names is None and arguments.options.isdisjoint(_NO_IGNORE)
    roots = operands or (".",)
    trees = tuple(
        Tree(root, hidden, names=names or (), bare=not operands, ignoring=ignoring) for root in roots
    )
    lists = arguments.options & ({"files"} | _FILES_ALONE) and arguments.options <= _LISTS_WITH
    null = bool(arguments.options & {"0", "null"})
    if "files" in arguments.options:
        return Reads(files=files, places=roots, listed=trees, null=null)
    return Reads(files=files, trees=trees, listed=trees if lists else (), null=null)


def _trees(
    roots: tuple[str, ...],
    *,
    hidden: bool = True,
    links: bool = False,
    names: tuple[str, ...] = (),
    bare: bool = False,
) -> tuple[Tree, ...]:
    return tuple(Tree(root, hidden, links, names, bare=bare) for root in roots)


_NO_IGNORE = frozenset(("u", "unrestricted", "no-ignore", "no-ignore-vcs", "no-ignore-parent"))
_FILES_ALONE = frozenset({"l", "L", "files-with-matches", "files-without-match"})
_LISTS_WITH = _FILES_ALONE | frozenset(
    "files i S s v w x n N H I F P U u 0 . ignore-case smart-case case-sensitive word-regexp line-regexp "
    "invert-match hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted multiline "
    "multiline-dotall fixed-strings pcre2 null no-messages no-config text a crlf".split()
)
"""Options of `rg` with which it prints names of files: what is shown together with them is not always one."""

_PASSING: Mapping[str, OptionGrammar] = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), OptionGrammar("ivEFwx", "e", operands="script", scripts="e")),
    **dict.fromkeys(("head", "tail"), OptionGrammar("q", "n", numbers=True)),
    "sort": OptionGrammar("bdfgiMhnRrVsu", "k"),
    "uniq": OptionGrammar("iu"),
    "cat": OptionGrammar("u"),
    "tac": OptionGrammar(),
}
"""The filters whose output is whole lines of their input, with the options that keep it so."""


def _listed(reads: Reads | None, fed: Reads | None, name: str, words: tuple[str, ...]) -> Reads | None:
    """A filter that passes whole lines on passes on the names of files that it is fed."""
    if reads != NOTHING or fed is None or fed.null or name not in _PASSING:
        return reads
    return replace(NOTHING, listed=fed.listed) if read_arguments(words, _PASSING[name]) else reads


def _xargs(words: tuple[str, ...], fed: Reads | None) -> Reads | None:
    """A program that only reads, run on the names of files that another one prints."""
    at, null = 0, False
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-0", "--null"):
            null = True
        elif words[at] in ("-n", "-L", "-P"):
            at += 1
            if at >= len(words) or not words[at].isdigit():
                return None
        elif re.fullmatch(r"-[nLP][0-9]+", words[at]) is None and words[at] not in ("-r", "-t"):
            return None
        at += 1
    if words[at : at + 1] == ("echo",):
        return NOTHING  # it prints what it is fed, whatever that is
    if fed is None or not fed.listed or null != fed.null:
        return None
    trees = tuple(replace(tree, split=not null, links=True, fed=True) for tree in fed.listed)
    return _on_fed(words[at:], fed, trees)


def _on_fed(inner: tuple[str, ...], fed: Reads, trees: tuple[Tree, ...]) -> Reads | None:
    """A program run on names of files out of `trees`."""
    grammar = GRAMMARS.get(_program(inner[0]) or "") if inner else None
    # A program of few operands may take the second of them as its output.
    if grammar is None or grammar.most < _MANY or inner[0] == "rg":
        return None
    # The name stands for those that are fed: it is a file like any other, and no option.
    reads = reads_of((*inner, "./fed"))
    if reads is None or reads.trees or "./fed" not in (*reads.files, *reads.places):
        return None
    if any(tree.bare for tree in trees) and _program(inner[0]) == "strings":
        return None  # a name could be one of those that it takes arguments from
    return Reads(
        files=tuple(file for file in reads.files if file != "./fed"),
        places=(*fed.places, *(place for place in reads.places if place != "./fed")),
        trees=(*fed.trees, *trees),
        listed=trees if _names_files(inner) else (),
    )


def _names_files(inner: tuple[str, ...]) -> bool:
    """Whether a program that is run on files prints their names and nothing else."""
    grammar = GRAMMARS.get(inner[0])
    arguments = read_arguments(inner[1:], grammar) if grammar is not None and "grep" in inner[0] else None
    return arguments is not None and bool(arguments.options & _FILES_ALONE)


def _find_running(words: tuple[str, ...]) -> Reads | None:
    """A `find` whose last action runs a program that only reads on the files that it finds."""
    at = words.index("-exec")
    inner = words[at + 1 : -2]
    if words[-2:] not in (("{}", "+"), ("{}", ";")) or "{}" in inner or ";" in inner:
        return None
    reads = find_reads(words[:at])
    if reads is None or not reads.listed:
        return None
    return _on_fed(inner, reads, tuple(replace(tree, links=True, fed=True) for tree in reads.listed))


def _cd(words: tuple[str, ...]) -> Reads | None:
    operands = [word for word in words if word != "--"]
    plain = len(operands) == 1 and not operands[0].startswith("-") and HOLE not in operands[0]
    return Reads(places=tuple(operands)) if plain else None


def _date(words: tuple[str, ...]) -> Reads | None:
    at = 0
    files: list[str] = []
    while at < len(words):
        word = words[at]
        if word in ("-d", "--date", "-r"):
            at += 1
            if at >= len(words):
                return None
            files += [words[at]] if word == "-r" and not words[at].isdigit() else []
        elif not (word.startswith(("+", "--date=")) or word in _PLAIN_DATE):
            return None
        at += 1
    return Reads(places=tuple(files))


def _read(words: tuple[str, ...]) -> Reads | None:
    """`read` into variables of the shell by plain names, which no program looks at."""
    names = [word for word in words if word not in ("-r", "-s")]
    plain = all(_VARIABLE.fullmatch(name) and harmless(name, None) for name in names)
    return NOTHING if names and plain else None


def _tar(words: tuple[str, ...]) -> Reads | None:
    """The contents of an archive, which must be a local file."""
    listing = len(words) >= 2 and _TAR_LISTS.fullmatch(words[0]) is not None
    plain = not any(word.startswith("-") or ":" in word or HOLE in word for word in words[1:])
    return Reads(files=words[1:2]) if listing and plain else None
