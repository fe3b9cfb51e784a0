"""Programs that run whatever code they are given, and where in their arguments that code is named."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from caliban_permissions.commands.wrappers import SHELLS, WRAPPERS, inner_start, program
from caliban_permissions.side_effects.row import RUNS, Evidence, everything, whole


class Grammar(Struct, frozen=True):
    """Where the code is: `code` options carry it, `module` options name it, `takes` have some other value."""

    takes: str = ""
    code: str = ""
    module: str = ""
    long: str = ""


_INTERPRETERS: Mapping[str, Grammar] = {
    "python": Grammar("WX", "c", "m"),
    "pypy": Grammar("WX", "c", "m"),
    "node": Grammar("rC", "ep", "", "eval print"),
    "nodejs": Grammar("rC", "ep", "", "eval print"),
    "perl": Grammar("ICDMm", "eE"),
    "ruby": Grammar("ICErFKTx", "e"),
    "php": Grammar("dcz", "rBRE", "f"),
    "lua": Grammar("l", "e"),
    "luajit": Grammar("lj", "e"),
}
_WHOLE = frozenset(
    "tclsh wish expect rscript r julia ghci runghc runhaskell erl escript elixir iex scala groovy "
    "jshell java "
    "javaw dotnet mono osascript cscript wscript mshta rundll32 regsvr32 ed ex vi vim nvim vimdiff view rvim "
    "rview gvim evim emacs emacsclient nano pico joe jed micro helix hx kak ne m4 dc bc gnuplot octave "
    "matlab "
    "ocaml guile racket sbcl clisp clojure clj swift kotlin kotlinc crystal nim dart irb pry erb ipython "
    "bpython ptpython jrunscript jjs coffee ts-node jupyter sage maxima gap gforth forth pike rebol red "
    "ftp lftp sftp debconf psql mysql mariadb sqlite3 duckdb mongo mongosh redis-cli cqlsh clickhouse-client "
    "logtail script gdb lldb ltrace strace rr perf dtrace bpftrace stap valgrind systemd-run tmux screen "
    "jshell pwsh powershell cmd awk.exe xonsh nu".split()
)
"""Interpreters, editors and debuggers whose every argument counts as code."""


def interpreter_evidence(argv: tuple[str, ...]) -> list[Evidence]:
    """Evidence for a program whose purpose is to run code; empty for every other."""
    name = program(argv[0])
    if argv[1:] in (("--version",), ("--help",), ("-V",)):
        return []
    grammar = _INTERPRETERS.get(name)
    if grammar is not None:
        return [_code(argv, grammar)]
    if name in SHELLS:
        return [_shell(argv)]
    if name == "deno" and all(word.startswith("-") for word in argv[1:]):
        return [everything(argv, RUNS)]  # it reads what to run
    if name in _WHOLE:
        return [everything(argv, RUNS)]
    return []


def wrapper_start(argv: tuple[str, ...]) -> tuple[list[Evidence], int | None]:
    """Evidence for a wrapper, and where its inner command begins when that can be told."""
    name = program(argv[0])
    if name not in WRAPPERS or name in _TABLED:
        return [], None
    if argv[1:] in (("--version",), ("--help",), ("-V",)) or (
        name == "command" and argv[1:2] in (("-v",), ("-V",))
    ):
        return [], None
    if name in ("env", "genv") and len(argv) == 1:
        return [], None
    start = inner_start(argv)
    return [everything(argv, RUNS) if start is None else whole(argv, start, RUNS)], start


_TABLED = frozenset(
    "find fd fdfind ssh mosh npx bunx pnpx uvx pipx poetry pipenv pdm hatch rye uv bundle docker podman "
    "nerdctl kubectl oc ncat socat nix nix-shell guix direnv dotenv mise asdf at batch "
    "nc netcat ip pixi".split()
)
"""Programs that wrap only in some of their arguments: the table says in which."""


def _code(argv: tuple[str, ...], grammar: Grammar) -> Evidence:
    index = 1
    while index < len(argv):
        word = argv[index]
        if word.startswith("--"):
            if word[2:].partition("=")[0] in grammar.long.split():
                return whole(argv, index, RUNS)
        elif not word.startswith("-") or word == "-":
            return whole(argv, index, RUNS)
        else:
            code = _cluster(argv, index, grammar)
            if isinstance(code, Evidence):
                return code
            index += code
        index += 1
    return everything(argv, RUNS)


def _cluster(argv: tuple[str, ...], index: int, grammar: Grammar) -> Evidence | int:
    """What a word of short options holds: the code, or how many words its value takes."""
    word = argv[index]
    for place, letter in enumerate(word[1:], start=2):
        last = place == len(word)
        if letter in grammar.code:
            return whole(argv, index, RUNS)
        if letter in grammar.module:
            return whole(argv, index + 1 if last and index + 1 < len(argv) else index, RUNS)
        if letter in grammar.takes:
            return int(last)
    return 0


def _shell(argv: tuple[str, ...]) -> Evidence:
    """A shell script may be named; a script in the arguments must be named whole."""
    for index in range(1, len(argv)):
        word = argv[index]
        if word.startswith(("-", "+")):
            if "c" in word or "s" in word or word in ("-o", "-O", "+O", "--rcfile", "--init-file"):
                return everything(argv, RUNS)
            continue
        return whole(argv, index, RUNS)
    return everything(argv, RUNS)
