"""Commands in the code that an interpreter is given: in an argument, on its input, in its environment.

No grammar of theirs is read. A command may begin at any word, and its words may stand in a list of literals:
`["git", "push"]` runs what `git push` does.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.wrappers import CODE_ARGUMENTS, INPUT_IS_CODE, program
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.pattern import Anywhere
from caliban_permissions.shell import HOLE

MAX_CODE = 16_000
"""How many characters of code are looked through; more may run anything."""

_JOINS = lazy_pattern(r"[A-Za-z0-9_.~-]")
_ENDS = lazy_pattern(r"[\"'`)\]};|&\n]")
_BLANKS = lazy_pattern(r"[ \t]+")
_LISTED = lazy_pattern(r"[\s\"',\[(]+")
_LIST_END = lazy_pattern(r" +(?=[)\]};])")
_ESCAPED = lazy_pattern(r"\\[nrt]|\\(?=[\"'`])")
_LITERAL = lazy_pattern(r"[\"'`]([^\"'`\n]{1,200})[\"'`]")
_TOKEN = lazy_pattern(r"[^\s\"'`()<>|;&,=\[\]{}]+")
_MAX_COMMAND = 160
_MAX_NAMES = 32
_MODULE = lazy_pattern(r"-[bBdEiIOPqsSuv]*m")

_CODE: Mapping[str, str] = {
    **dict.fromkeys(("python", "pypy", "guile"), "c"),
    **dict.fromkeys(("node", "nodejs"), "ep"),
    "perl": "eEMm",
    "ruby": "e",
    "php": "rBRE",
    **dict.fromkeys(("lua", "luajit"), "e"),
}
"""The short options of interpreters that carry code."""

_TAKES: Mapping[str, str] = {
    "python": "WX",
    "pypy": "WX",
    "node": "rC",
    "nodejs": "rC",
    "perl": "ICDFx",
    "ruby": "ICErFKTx",
}
_LONG = ("--eval", "--print", "--expression")
_NONE: frozenset[str] = frozenset()
_RUN_THE_REST: Mapping[str, frozenset[str]] = {
    name: frozenset(subs.split())
    for name, subs in {
        "npm": "exec x explore",
        "pnpm": "exec dlx",
        "yarn": "exec dlx",
        "bun": "x exec",
        "gh": "alias extension",
        "just": "--command -c",
        "git": "difftool mergetool filter-branch send-email instaweb daemon remote-ext web--browse "
        "for-each-repo maintenance hook interpret-trailers merge-index imap-send request-pull bisect",
    }.items()
}
"""Sub-commands of which every later word, or a part of it, may be a command."""

_EXECUTES = lazy_pattern(r"exec|system|spawn|popen|\brun\b|\bcall\b|qx|\beval\b|\bsh\b")
_EXECUTES_OPEN = lazy_pattern(r"(?:system|popen|exec[a-zA-Z]*|spawn[a-zA-Z]*|run|call|qx)\W{0,4}\x00")
_EXECUTES_INPUT = lazy_pattern(
    r"(?s)(?:system|popen|exec|spawn|subprocess|qx).*(?:stdin|STDIN|<>|\$_|readFileSync\(0)"
    r"|(?:stdin|STDIN|<>|readFileSync\(0).*(?:system|popen|exec|spawn|subprocess|qx)"
)
_AWK = frozenset("awk gawk mawk nawk original-awk".split())
_RUN_CODE = frozenset("timeit code pdb pty IPython asyncio".split())
"""Modules of Python whose arguments are code."""


def touched_in_code(rule: CompiledRule, code: Sequence[str]) -> bool:
    """Whether a deny or ask rule means a command that begins anywhere in code."""
    if not code or rule.pattern.problem is not None:
        return False
    if isinstance(rule.pattern.argument, Anywhere):
        texts = [variant + " " for text in code for variant in _variants(text)]
        return any(glob.occurs_in(text) for glob in rule.wide_globs for text in texts)
    return any(
        glob.matches(command)
        for glob in rule.wide_globs
        for command in commands_at(code, glob.prefix.partition(" ")[0])
    )


def commands_at(code: Sequence[str], name: str) -> Iterator[str]:
    """Every text in code that may be a command whose program begins with `name`; not in too much code."""
    if sum(map(len, code)) > MAX_CODE:
        return
    for text in code:
        for variant in _variants(text):
            at = variant.find(name)
            while 0 <= at < len(variant):
                if _JOINS.match(variant, at - 1) is None or at == 0:
                    tail = variant[at : at + _MAX_COMMAND].rstrip(" ")
                    yield tail
                    yield _ENDS.split(tail, maxsplit=1)[0].rstrip(" ")
                at = variant.find(name, at + 1)


@lru_cache(maxsize=32)
def _variants(text: str) -> tuple[str, ...]:
    """Code with its blanks made equal, and with what stands between the words of a list left out."""
    plain = _BLANKS.sub(" ", _ESCAPED.sub(" ", text))
    return tuple(dict.fromkeys((plain, _LIST_END.sub("", _LISTED.sub(" ", plain)))))


def names_in(text: str) -> tuple[str, ...]:
    """What in code may name a file, as far as a bound; what stands in quotes first."""
    quoted = (token for literal in _LITERAL.findall(text) for token in _TOKEN.findall(literal))
    tokens = (*quoted, *_TOKEN.findall(text))
    names = dict.fromkeys(token for token in tokens if "/" in token or "." in token)
    return tuple(names)[:_MAX_NAMES]


def code_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of an interpreter that are code, with those that the code is given."""
    name = program(argv[0])
    if (
        name in INPUT_IS_CODE
        or name in CODE_ARGUMENTS
        or name in _AWK
        or not _RUN_THE_REST.get(name, _NONE).isdisjoint(argv[1:])
    ):
        return argv[1:]
    if name == "java":
        return tuple(word for word in argv[1:] if word.startswith("-XX:On"))
    if name not in _CODE:
        return ()
    module = module_of(argv)
    if module:
        return module[1:] if module[0] in _RUN_CODE else ()
    first = _first(argv, name)
    named = first < len(argv) and not argv[first].startswith("-")
    return () if named else argv[first:]


def has_scripts(argv: tuple[str, ...]) -> bool:
    """Whether a program is an interpreter whose script may be a file."""
    return program(argv[0]) in _CODE


def is_open(name: str, code: tuple[str, ...]) -> bool:
    """Whether code, or what code may run, is known only when it runs."""
    if name in _CODE and _EXECUTES_INPUT.search(" ".join(code)) is not None:
        return True
    unknown = [word for word in code if HOLE in word]
    if not unknown:
        return False
    if code[0].startswith(HOLE) and name not in INPUT_IS_CODE:
        return True
    if code[0].startswith("-") and code[1:2] and code[1].startswith(HOLE):
        return True
    operands = [word for word in code if not word.startswith("-")]
    if name in INPUT_IS_CODE and any(word.startswith(HOLE) for word in operands[1:]):
        return True
    text = " ".join(code)
    if _EXECUTES.search(text) is None:
        return False
    return any(word.startswith(HOLE) for word in unknown) or _EXECUTES_OPEN.search(text) is not None


def takes_code(argv: tuple[str, ...]) -> bool:
    """Whether what a program reads is code, or is what the code in its arguments reads."""
    name = program(argv[0])
    if name in INPUT_IS_CODE or name in CODE_ARGUMENTS:
        return True
    if name not in _CODE:
        return False
    if module_of(argv)[:1] and module_of(argv)[0] in _RUN_CODE:
        return True
    first = _first(argv, name)
    return first == len(argv) or argv[first].startswith(("-", "/dev/", "/proc/"))


def module_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The module that Python runs as a program, with its arguments; empty where it runs none."""
    if program(argv[0]) not in ("python", "pypy"):
        return ()
    for index in range(1, len(argv)):
        cluster = _MODULE.match(argv[index])
        if cluster is not None:
            glued = argv[index][cluster.end() :]
            return (glued, *argv[index + 1 :]) if glued else argv[index + 1 :]
        if not argv[index].startswith("-") or "c" in argv[index]:
            return ()
    return ()


def _first(argv: tuple[str, ...], name: str) -> int:
    """The index of the option with code, of the script, or the number of words where neither stands."""
    letters, takes = _CODE[name], _TAKES.get(name, "")
    index = 1
    while index < len(argv):
        word = argv[index]
        if not word.startswith("-") or word == "-" or word.partition("=")[0] in _LONG:
            return index
        for place, letter in enumerate("" if word.startswith("--") else word[1:], start=2):
            if letter in letters:
                return index
            if letter in takes:
                index += place == len(word)
                break
        index += 1
    return index
