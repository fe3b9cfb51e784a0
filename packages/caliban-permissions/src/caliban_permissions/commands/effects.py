"""Which files a simple command may change although no table says so: for the floor under protected files."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.candidates import composed
from caliban_permissions.commands.files import option_values, write_targets
from caliban_permissions.commands.wrappers import GRAMMARS, WRAPPERS, inner_commands, inner_start, program
from caliban_permissions.side_effects import Evidence, side_effects
from caliban_permissions.side_effects.row import WRITES

_ONLY_READ = frozenset(
    "cat head tail less more grep egrep fgrep zgrep rg ag ack ls dir stat file wc sort uniq cut tr "
    "diff cmp comm nl od "
    "xxd hexdump strings md5sum sha1sum sha256sum sha512sum cksum base64 jq yq tree find fd fdfind "
    "du df test [ echo "
    "printf true false : cd pwd basename dirname realpath readlink which type column fold fmt paste "
    "join tac rev sed gsed "
    "awk gawk mawk nawk date id whoami uname env printenv ps seq sleep expr kill exit return break "
    "continue command "
    "pytest ruff mypy make npm pnpm yarn cargo go tsc eslint prettier black isort flake8 pylint "
    "docker kubectl".split()
)
_GIT_ONLY_READS = frozenset(
    "add commit diff log show status blame ls-files ls-tree push pull fetch grep branch tag stash "
    "rev-parse rev-list "
    "cat-file check-ignore check-attr reset describe shortlog merge-base reflog remote hash-object "
    "for-each-ref".split()
)
_RECORDS = frozenset("time gtime strace ltrace truss perf valgrind".split())
"""Wrappers that write down how the inner program ran."""
_FORMATTERS: Mapping[str, tuple[str, str, str]] = {
    "prettier": ("--write -w", "", ""),
    "eslint": ("--fix --fix-type", "", ""),
    "ruff": ("--fix --fix-only --unsafe-fixes", "format", "--check --diff"),
    "black": ("", "", "--check --diff --version -h --help"),
    "isort": ("", "", "--check --check-only -c --diff --df --version --show-settings"),
}
"""Options that make a formatter write, the sub-command that always does, options that keep it from that."""

_CONFIGURES = "changes the configuration"
_TOKEN = lazy_pattern(r"[^\s'\"`=,;|&<>(){}\[\]]+")
_PATCHED = lazy_pattern(r"(?m)^(?:---|\+\+\+|\*\*\*|Index:|rename to|copy to) *([^\t\n]+)")
_SED_WRITES = lazy_pattern(r"[wW]")
_CRONTABS = "/etc/crontab"
_MAX_TOKENS = 32
_MAX_NESTING = 8


def possible_targets(argv: tuple[str, ...]) -> Iterator[str]:
    """Every text in the arguments that may name a file which the command changes."""
    for _ in range(_MAX_NESTING):
        start = inner_start(argv) if program(argv[0]) in GRAMMARS else None
        if start is None:
            break
        argv = argv[start:]
    name = program(argv[0])
    effects = [item.why for item in side_effects(argv)]
    if _CONFIGURES in effects:
        yield "~/.gitconfig" if "--global" in argv else ".git/config"
        return
    if name == "git" and any(map(_is_template, argv[1:])):
        yield ".git/hooks"
    if name == "crontab" and "-l" not in argv:
        yield _CRONTABS
    if _formats(name, argv):
        yield from (word for word in argv[1:] if not word.startswith("-"))
        return
    harmless = name in _ONLY_READ or (name == "git" and bool(_GIT_ONLY_READS.intersection(argv[1:2])))
    if (harmless and not effects) or any(True for _ in write_targets(argv)):
        return
    words = (word for word in argv[1:] if not (name in _ONLY_READ and word.startswith("--exclude")))
    tokens = (token for word in words for token in _tokens(word, in_sed=name in ("sed", "gsed")))
    for number, token in enumerate(
        token for token in tokens if "/" in token or "." in token[:1] or "." in token[-9:]
    ):
        if number == _MAX_TOKENS:
            return
        yield token


def formatted(argv: tuple[str, ...]) -> Iterator[str]:
    """The operands of a formatter that changes the sources that it is given, or those below a directory."""
    if argv and _formats(program(argv[0]), argv):
        yield from (word for word in argv[1:] if not word.startswith("-"))


def _formats(name: str, argv: tuple[str, ...]) -> bool:
    """Whether a program that reads sources is told to change them, or is not told to leave them."""
    flags, subs, leaves = _FORMATTERS.get(name, ("", "", ""))
    if leaves and not any(word.partition("=")[0] in leaves.split() for word in argv[1:]):
        return not subs or argv[1:2] == (subs,) or any(word in flags.split() for word in argv[1:])
    return bool(not leaves and any(word.partition("=")[0] in flags.split() for word in argv[1:]))


def all_write_targets(argv: tuple[str, ...]) -> Iterator[str]:
    """The files that a command, or another in its arguments, writes: by operands, and by options."""
    yield from (target for _, target in write_targets(argv))
    for item in side_effects(argv):
        if item.why == WRITES and item.word:
            yield from _values(argv, item)
    name = program(argv[0])
    if name == "parallel":
        yield from (target for made in composed(argv) for _, target in write_targets(made))
    if name in _RECORDS:
        yield from (target for _, target in option_values(argv, "-o", ("--output", "--log-file")))
    if name in WRAPPERS:
        places = [value for _, value in option_values(argv, "-C", ("--chdir",))]
        for inner in inner_commands(argv, _MAX_TOKENS):
            for _, target in write_targets(inner):
                yield target
                yield from (posixpath.join(place, target) for place in places)


def _values(argv: tuple[str, ...], item: Evidence) -> Iterator[str]:
    """What an option that writes is given: glued to it, behind a `=`, or in the next word."""
    word = argv[item.word]
    if not word.startswith("-"):
        yield word
    elif "=" in word:
        yield word.partition("=")[2]
    elif len(word) > item.size:
        yield word[item.size :]
    else:
        yield from argv[item.word + 1 : item.word + 2]


def patched(text: str) -> Iterator[str]:
    """The files that a patch names in its own text."""
    for number, name in enumerate(_PATCHED.findall(text)):
        if number == _MAX_TOKENS:
            return
        yield name


def _tokens(word: str, *, in_sed: bool) -> Iterator[str]:
    """What may be a path in an argument, also right behind the letter of an option or of a command of sed."""
    for token in _TOKEN.findall(word):
        yield token
        if token.startswith("-") and not token.startswith("--"):
            yield token[2:]
        if in_sed:
            yield from (token[letter.end() :] for letter in _SED_WRITES.finditer(token))


def _is_template(word: str) -> bool:
    name = word.partition("=")[0]
    return len(name) > 3 and "--template".startswith(name)
