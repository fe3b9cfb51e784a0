"""Which arguments of a simple command may name a file that it reads."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.files import option_values
from caliban_permissions.commands.wrappers import program
from caliban_permissions.shell import HOLE
from caliban_permissions.side_effects import side_effects
from caliban_permissions.side_effects.row import READS
from caliban_permissions.side_effects.sed import DOES_MORE

_READS_NOTHING = frozenset(
    "echo printf true false : mkdir rmdir rm unlink touch ls dir stat test [ cd pwd basename dirname "
    "realpath "
    "readlink which type chmod chown chgrp kill sleep seq date whoami id uname hostname df du export "
    "find fd tree locate tr expr".split()
)
_RUNS_ON_FILES = frozenset("-exec -execdir -ok -okdir -x -X --exec --exec-batch".split())
_GIT_READS = frozenset(
    "show diff log blame annotate cat-file grep archive hash-object format-patch apply am range-diff "
    "diff-tree diff-index diff-files difftool whatchanged stash commit tag notes bundle merge-file mailinfo "
    "mailsplit fmt-merge-msg interpret-trailers send-email credential-store".split()
)
_GIT_FILES = ("--file", "--exclude-from", "--pathspec-from-file", "--exclude-per-directory")
"""Options by which every other sub-command of git may read a file."""

_FINDS = ("find", "gfind")
_TESTS = frozenset("-name -iname -path -ipath -wholename -iwholename".split())
_PASSES_BY = frozenset("grep egrep fgrep ggrep rgrep tar gtar bsdtar rsync diff".split())
_SEDS = ("sed", "gsed")
JQS = ("jq", "gojq", "jaq")
_SED_READS = lazy_pattern(r"(?=[rR] *([^\s;}]+))")
_SED_RUNS = lazy_pattern(r"(?:^|[\s;{}!$/0-9])e|[^\w\s][gpIiMm0-9]*e[gpIiMmw0-9]*(?:$|[\s;}])")
_SED_WORDS = lazy_pattern(r"[^\s;|&<>()'\"#@,]+")
_MARK = lazy_pattern(r"[=@<]")
_CUT = lazy_pattern(r"[;,]")
_SCHEMES = frozenset("socat convert magick identify mogrify composite montage gm".split())
"""Programs whose files may stand behind the name of a kind: `OPEN:x`, `text:x`."""

_CLUSTER = lazy_pattern(r"-[A-Za-z]{2,8}(?=[./~_0-9])")
_CHOICE = lazy_pattern(r"\{[^}]*\}|\[[^\]]*\]")
_IMPORTS = lazy_pattern(r"\b(?:import|include|modulemeta)\b")
_JQ_TEXT = lazy_pattern(r"\"([^\"\\]{1,200})\"")
_PLACE = lazy_pattern(r"\{(?:[+-]?[0-9]+)?(?:/\.?|//|\.|#)?\}")
_MERGES = lazy_pattern(r"(?:merge|dir-merge|[.:])[^ _]*[ _]+(.+)")
_MAX_MARKS = 16
_MAX_VALUES = 16
_NONE: frozenset[int] = frozenset()


def read_candidates(argv: tuple[str, ...], texts: frozenset[int] = _NONE) -> Iterator[str]:
    """Every argument, or part of one, that a command may read as a file.

    `texts` are the places of arguments of which somebody knows that they are no files.
    """
    name = program(argv[0])
    if name in _READS_NOTHING and not _RUNS_ON_FILES.intersection(argv):
        yield from _read_by_options(name, argv)
        return
    if argv[:2] in (("command", "-v"), ("command", "-V")):
        return
    yield from _of_its_own(name, argv)
    yield from _moved(argv)
    is_git = name == "git"
    if is_git and not _GIT_READS.intersection(argv[1:]):
        yield from _read_by_git(argv)
        return
    for at, word in enumerate(argv[1:], start=1):
        if at in texts or not word or word == "-" or _leaves_out(name, argv[at - 1], word):
            continue
        yield from _in_word(word)
        if is_git and ":" in word:
            yield word.partition(":")[2]


def _in_word(word: str) -> Iterator[str]:
    """What in a word may be a file: all of it, what is glued to an option, what stands behind a mark."""
    if not word.startswith("-"):
        yield word
    elif not word.startswith("--") and len(word) > 2:
        yield word[2:]
        cluster = _CLUSTER.match(word)
        if cluster is not None and cluster.end() > 2:
            yield word[cluster.end() :]
    for number, mark in enumerate(_MARK.finditer(word)):
        tail = word[mark.end() :].lstrip("@<")
        if number < _MAX_MARKS and tail:
            yield tail
        if tail and _CUT.search(tail):
            yield _CUT.split(tail, maxsplit=1)[0]
    if "," in word:
        yield from filter(None, (part.partition("=")[2] for part in word.split(",")[1:]))
    if word.lower().startswith(("file:", "fileb:")):
        rest = word.partition(":")[2]
        yield "/" + rest.lstrip("/").removeprefix("localhost/")
        yield rest.lstrip("/")


def _of_its_own(name: str, argv: tuple[str, ...]) -> Iterator[str]:
    """The files that a program is told of in a language of its own."""
    if name in _SEDS:
        yield from (path for word in argv[1:] for path in _SED_READS.findall(word))
        does_more = any(item.why == DOES_MORE for item in side_effects(argv))
        if does_more and any(map(_SED_RUNS.search, argv[1:])):
            words = (piece for word in argv[1:] for piece in _SED_WORDS.findall(word.replace("\\/", "/")))
            for word in words:
                yield word
                yield word.rpartition("/")[0]
    elif name in JQS:
        yield from _imported(argv)
    elif name == "parallel":
        yield from (word for made in composed(argv) for word in made[1:])
    elif name in _SCHEMES:
        yield from (word.partition(":")[2] for word in argv[1:] if ":" in word)
    elif name == "rsync":
        for _, rule in option_values(argv, "-f", ("--filter",)):
            yield from _MERGES.findall(rule)
    elif name == "curl":
        for _, value in option_values(argv, "-T", ("--upload-file",)):
            if _CHOICE.search(value):
                yield _CHOICE.sub(HOLE, value)


def _imported(argv: tuple[str, ...]) -> Iterator[str]:
    """The modules and data that a filter of jq imports, below every directory that it may search."""
    filters = [word for word in argv[1:] if _IMPORTS.search(word)][:_MAX_MARKS]
    literals = [text for word in filters for text in _JQ_TEXT.findall(word)][:_MAX_MARKS]
    places = [value for _, value in option_values(argv, "-L", ())][:_MAX_MARKS] if literals else []
    for text in literals:
        for place in ("", *places, *literals):
            whole = posixpath.join(place, text)
            yield from (whole + end for end in ("", ".json", ".jq", f"/{posixpath.basename(text)}.json"))


def composed(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The commands that `parallel` makes of words with places in them, and of the values in the line."""
    at = next((place for place, word in enumerate(argv) if word.startswith(":::")), len(argv))
    values = [word for word in argv[at:] if not word.startswith(":::")][:_MAX_VALUES]
    start = next((place for place in range(1, at) if not argv[place].startswith("-")), at)
    words = argv[start:at]
    placed = any(map(_PLACE.search, words))
    for first in values:
        for second in values:
            made = tuple(_filled(word, first, second) for word in words)
            yield made if placed else (*made, first)


def _filled(word: str, first: str, second: str) -> str:
    """The word with one value in its first place and another in its second."""
    pieces = _PLACE.split(word)
    values = (first, second)[: len(pieces) - 1]
    if len(pieces) > 3:
        return HOLE.join(pieces)
    return "".join(piece + value for piece, value in zip(pieces, (*values, ""), strict=True))


def _read_by_git(argv: tuple[str, ...]) -> Iterator[str]:
    for short in ("-F", "-X"):
        yield from (value for _, value in option_values(argv, short, _GIT_FILES))
    yield from (value.partition("=")[2] for _, value in option_values(argv, "-c", ()))


def _leaves_out(name: str, before: str, word: str) -> bool:
    """Whether a word only says which files are not read, or which names are looked for."""
    if name in _FINDS:
        return before in _TESTS
    if name in _PASSES_BY:
        return word.startswith(("--exclude=", "--exclude-dir="))
    if name in ("rg", "ag", "ugrep"):
        return word.startswith(("!", "-g!", "--glob=!", "--iglob=!"))
    return name == "git" and word.startswith((":!", ":^", ":(exclude)"))


def _read_by_options(name: str, argv: tuple[str, ...]) -> Iterator[str]:
    """What a program reads only where an option says so."""
    if name == "du":
        yield from (value for _, value in option_values(argv, "-X", ("--exclude-from",)))
    for item in side_effects(argv):
        if item.why == READS and argv[item.word].startswith("-"):
            yield argv[item.word].partition("=")[2] or argv[item.word][item.size :]
            yield from argv[item.word + 1 : item.word + 2]


def _moved(argv: tuple[str, ...]) -> Iterator[str]:
    """The names below another directory that an option names: `env -C app cat .env`."""
    for _, directory in option_values(argv, "-C", ("--chdir", "--directory", "--prefix", "--cwd")):
        yield from (posixpath.join(directory, word) for word in argv[1:] if not word.startswith("-"))


def reads_operands(word: str) -> bool:
    """Whether a program may read the files that it is given."""
    return not word.startswith("-") and program(word) not in _READS_NOTHING
