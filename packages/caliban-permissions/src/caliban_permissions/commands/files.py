"""Which files a simple command writes by its arguments."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.wrappers import program
from caliban_permissions.side_effects.bundles import unbundled

STAYS = frozenset("echo printf true false : sleep seq date pwd whoami id uname hostname which type".split())
"""Programs that open nothing, whatever they are told."""
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
_TAR_WRITES = ("--create", "--append", "--update", "--delete", "--concatenate", "--catenate")
_CLUSTER = lazy_pattern(r"-[A-Za-eg-z]*f")
_GIT_WRITES = frozenset("checkout restore rm mv init".split())
_GIT_REPORTS = ("bugreport", "diagnose")
_PACKERS = frozenset("gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd uncompress pigz".split())
_PACKED = lazy_pattern(r"\.(?:gz|bz2|xz|lzma|zst|Z)$")
_ONLY_LOOKS = lazy_pattern(r"-[a-zA-Z0-9]*[cltV]|--(?:stdout|to-stdout|list|test|version|help)$")
_CLOUD_COPIES = frozenset("s3 get-object invoke cp storage rsync".split())
_WRITERS = frozenset("sed gsed perl ruby uniq xxd git aws gsutil gcloud".split())
_WRITERS |= _ALL_OPERANDS | _AFTER_FIRST | _LAST_OPERAND
_SHARED = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})


def write_targets(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The files that a known command creates, changes or deletes, with the index of the argument."""
    name = program(argv[0])
    if name == "dd":
        yield from ((index, word[3:]) for index, word in enumerate(argv) if word.startswith("of="))
        return
    if name in _PACKERS:
        yield from _packed(argv)
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
    elif name == "git" and operands and operands[0][1] in _GIT_REPORTS:
        yield from option_values(argv, "-o", ("--output-directory",))
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


def _packed(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """What is unpacked where it is: the file, and the name that it has without its ending."""
    if not any(map(_ONLY_LOOKS.match, argv[1:])):
        for index, word in operands_of(argv):
            if _PACKED.search(word):
                yield index, word
                yield index, _PACKED.sub("", word)


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
