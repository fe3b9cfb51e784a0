"""Which files a simple command names: those it may read and those it writes."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.wrappers import program
from caliban_permissions.side_effects import side_effects
from caliban_permissions.side_effects.bundles import unbundled
from caliban_permissions.side_effects.row import READS

_READS_NOTHING = frozenset(
    "echo printf true false : mkdir rmdir rm unlink touch ls dir stat test [ cd pwd basename dirname "
    "realpath "
    "readlink which type chmod chown chgrp kill sleep seq date whoami id uname hostname df du export "
    "find fd tree locate".split()
)
STAYS = frozenset(
    "echo printf true false : sleep seq date pwd cd whoami id uname hostname which type test [ "
    "basename dirname realpath readlink stat file ls cat head tail wc mkdir touch".split()
)
"""Programs that open what they name, if anything: nothing below a directory, nothing of a repository."""
_RUNS_ON_FILES = frozenset("-exec -execdir -ok -okdir -x -X --exec --exec-batch".split())
_GIT_READS = frozenset(
    "show diff log blame annotate cat-file grep archive hash-object format-patch apply am range-diff "
    "diff-tree diff-index diff-files difftool whatchanged stash commit tag notes bundle".split()
)
_FINDS = ("find", "gfind")
_TESTS = frozenset("-name -iname -path -ipath -wholename -iwholename".split())
_PASSES_BY = frozenset("grep egrep fgrep ggrep rgrep tar gtar bsdtar rsync diff".split())
_ALL_OPERANDS = frozenset(
    "mv tee touch truncate rm rmdir unlink mkdir mkfifo mknod shred sponge chattr setfacl setfattr".split()
)
_AFTER_FIRST = frozenset("chmod chown chgrp".split())
_LAST_OPERAND = frozenset("cp ln install rsync scp".split())
_WRITE_BY_O = (
    "sort shuf curl base64 iconv tree gcc cc g++ c++ clang clang++ rustc gpg go ld nvcc ghc dot pandoc ctags"
).split()
_OUTPUT_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(_WRITE_BY_O, "-o"),
    "wget": "-O",
    "gh": "-D",
}
_SED_READS = lazy_pattern(r"(?=[rR] *([^\s;}]+))")
_TAR_WRITES = ("--create", "--append", "--update", "--delete", "--concatenate", "--catenate")
_CLUSTER = lazy_pattern(r"-[A-Za-eg-z]*f")
_GIT_WRITES = frozenset("checkout restore rm mv".split())
_CLOUD_COPIES = frozenset("s3 get-object invoke cp storage rsync".split())
_WRITERS = frozenset("sed gsed perl ruby uniq xxd git aws gsutil gcloud".split())
_WRITERS |= _ALL_OPERANDS | _AFTER_FIRST | _LAST_OPERAND
_SHARED = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})


def read_candidates(argv: tuple[str, ...]) -> Iterator[str]:
    """Every argument, or part of one, that a command may read as a file."""
    name = program(argv[0])
    if name in _READS_NOTHING and not _RUNS_ON_FILES.intersection(argv):
        yield from _read_by_options(argv)
        return
    if argv[:2] in (("command", "-v"), ("command", "-V")):
        return
    if name in ("sed", "gsed"):
        yield from (found for word in argv[1:] for found in _SED_READS.findall(word))
    yield from _moved(argv)
    is_git = name == "git"
    if is_git and not _GIT_READS.intersection(argv[1:]):
        return
    for before, word in pairwise(argv):
        if not word or word == "-" or _leaves_out(name, before, word):
            continue
        if not word.startswith("-"):
            yield word
        elif not word.startswith("--") and len(word) > 2:
            yield word[2:]
        for mark in ("=", "@", "<"):
            tail = word.partition(mark)[2]
            if tail:
                yield tail.lstrip("@<")
        if "," in word:
            yield from filter(None, (part.partition("=")[2] for part in word.split(",")[1:]))
        if is_git and ":" in word:
            yield word.partition(":")[2]
        if word.lower().startswith("file:"):
            yield "/" + word[5:].lstrip("/").removeprefix("localhost/")


def _leaves_out(name: str, before: str, word: str) -> bool:
    """Whether a word only says which files are not read, or which names are looked for."""
    if name in _FINDS:
        return before in _TESTS
    if name in _PASSES_BY:
        return word.startswith(("--exclude=", "--exclude-dir="))
    if name in ("rg", "ag", "ugrep"):
        return word.startswith(("!", "-g!", "--glob=!", "--iglob=!"))
    return name == "git" and word.startswith((":!", ":^", ":(exclude)"))


def _read_by_options(argv: tuple[str, ...]) -> Iterator[str]:
    """What a program reads only where an option says so."""
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


def write_targets(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The files that a known command creates, changes or deletes, with the index of the argument."""
    name = program(argv[0])
    if name == "dd":
        yield from ((index, word[3:]) for index, word in enumerate(argv) if word.startswith("of="))
        return
    if name == "unzip":
        yield from option_values(argv, "-d", ())
        return
    if name in ("tar", "gtar", "bsdtar", "star"):
        yield from _tar_targets(argv)
        return
    if name in _OUTPUT_OPTIONS:
        yield from option_values(argv, _OUTPUT_OPTIONS[name], ("--output", "--output-document", "--dir"))
        return
    if name not in _WRITERS:
        return
    operands = list(operands_of(argv))
    if name in ("sed", "gsed", "perl", "ruby") and any(_in_place(word) for word in argv[1:]):
        yield from operands
    elif name in ("uniq", "xxd"):
        yield from operands[1:2]
    elif name == "git" and operands and operands[0][1] in _GIT_WRITES:
        yield from operands[1:]
    elif name in ("aws", "gsutil", "gcloud") and operands and "://" not in operands[-1][1]:
        yield from operands[-1:] if _CLOUD_COPIES.intersection(argv) else ()
    if name in _ALL_OPERANDS or (name == "install" and any(map(_makes_directories, argv))):
        yield from operands
    elif name in _AFTER_FIRST:
        yield from operands[1:]
    elif name not in _LAST_OPERAND:
        return
    if name in _LAST_OPERAND or name == "mv":
        yield from _into_directory(argv, operands)


def operands_of(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The arguments that are no options, with their indexes."""
    ended = False
    for index, word in enumerate(argv[1:], start=1):
        if word == "--" and not ended:
            ended = True
        elif ended or not word.startswith("-") or word == "-":
            yield index, word


def option_values(argv: tuple[str, ...], option: str, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The values of a short option and of the long ones that mean the same."""
    for index, word in enumerate(argv):
        if word in (option, *names) and index + 1 < len(argv):
            yield index + 1, argv[index + 1]
        elif word.startswith("--") and len(word) > 3 and _abbreviates(word.partition("=")[0], names):
            if "=" in word:
                yield index, word.partition("=")[2]
            elif index + 1 < len(argv):
                yield index + 1, argv[index + 1]
        elif word.startswith(option) and len(word) > len(option):
            yield index, word[len(option) :]


def _into_directory(argv: tuple[str, ...], operands: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The last operand or the target directory, and the names that the sources get in it."""
    targets = operands[-1:] if len(operands) > 1 else []
    for index, word in enumerate(argv):
        if word == "--":
            break
        value = _target_directory(word)
        if value:
            targets = [(index, value)]
        elif value is not None and index + 1 < len(argv):
            targets = [(index + 1, argv[index + 1])]
    keeps_parents = any(_abbreviates(word, ("--parents",)) for word in argv)
    for index, target in targets:
        yield index, target
        for _, source in operands:
            if source != target:
                yield index, posixpath.join(target, posixpath.basename(source.rstrip("/")) or ".")
                if keeps_parents:
                    yield index, posixpath.join(target, source.lstrip("/"))


def _tar_targets(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Where a tar command extracts to, and the archive that it writes."""
    words = unbundled(argv)
    last = len(argv) - 1
    values = [*option_values(words, "-C", ("--directory", "--one-top-level"))]
    writes = any(word in _TAR_WRITES or _abbreviates(word, _TAR_WRITES) for word in words[1:])
    if writes or any(re.match(r"-[A-Za-z]*[cruA]", word) for word in words[1:]):
        values += option_values(words, "--file", ("--file",))
        for index, word in enumerate(words):
            cluster = _CLUSTER.match(word)
            if cluster is not None and (cluster.end() < len(word) or index < len(words) - 1):
                glued = word[cluster.end() :]
                values.append((index, glued) if glued else (index + 1, words[index + 1]))
    yield from ((min(index, last), value) for index, value in values if value != "-")


def _abbreviates(word: str, names: tuple[str, ...]) -> bool:
    return word.startswith("--") and len(word) > 3 and any(name.startswith(word) for name in names)


def _target_directory(word: str) -> str | None:
    """The value of the target directory in an option; empty where the next word is it."""
    if word.startswith("--"):
        name, _, value = word.partition("=")
        return value if len(name) > 2 and "--target-directory".startswith(name) else None
    if not word.startswith("-"):
        return None
    cluster = word[1:].partition("S")[0]
    return cluster.partition("t")[2] if "t" in cluster else None


def _makes_directories(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 3 and "--directory".startswith(word)
    return word.startswith("-") and "d" in word.partition("S")[0]


def _in_place(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 3 and "--in-place".startswith(word.partition("=")[0])
    return word.startswith("-") and "i" in word


def shared_device(path: str) -> bool:
    """Whether writing to it writes no file."""
    return path in _SHARED or path in ("/dev/fd/1", "/dev/fd/2")
