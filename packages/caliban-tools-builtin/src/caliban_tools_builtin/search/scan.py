"""The search in Python, for machines without ripgrep: run as a program, it answers one `Query`.

It is a process of its own so that a hopeless regular expression can be ended at the deadline, and does not
hold up everything else meanwhile. Same output as ripgrep's; the expressions are Python's.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_FILE_BYTES = 100_000_000
"""A file that is larger is read line by line."""

MAX_LINE_BYTES = 1 << 20
"""So much of a line of such a file is looked at together."""

IGNORE_FILES = (".rgignore", ".ignore")
GIT_FILES = (".gitignore", ".git/info/exclude")
BOMS_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CUT = " [... omitted end of long line]"


class IgnoreRules(Struct, frozen=True, kw_only=True):
    """The ignore rules of one directory; `top` says that a git work tree begins here."""

    directory: str
    plain: tuple[GitIgnoreSpec, ...]
    git: tuple[GitIgnoreSpec, ...]
    top: bool


def main(arguments: dict[str, Any], write: Callable[[bytes], object]) -> int:
    """Answer the query in `arguments`, plain data of a `Query`; 0 found, 1 nothing, 2 wrong pattern."""
    fits = _name_filter(arguments["name"])
    files = (path for path in _targets(arguments) if fits(path.rpartition("/")[2]))
    if arguments["pattern"] is None:
        exit_code = 1
        for path in files:
            write(os.fsencode(path) + b"\0")
            exit_code = 0
            if arguments["probe"]:
                break
        return exit_code
    try:
        expression = re.compile(arguments["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    return _grep(files, expression, arguments, write)


def _grep(
    files: Iterator[str],
    expression: re.Pattern[str],
    arguments: dict[str, Any],
    write: Callable[[bytes], object],
) -> int:
    explicit = not arguments["target"].endswith("/")
    decode = _decoder(legacy=arguments["legacy"])
    exit_code = 1
    for path in files:
        data, is_whole = _data(path)
        if b"\0" in data:
            if explicit and expression.search(data.decode("utf-8", "replace")):
                write(os.fsencode(path) + b': binary file matches (found "\\0")\n')
                exit_code = 0
            continue
        count = 0
        for number, line in _lines_in(data) if is_whole else _lines_of(path):
            text = decode(line.removesuffix(b"\r"))
            if not expression.search(text):
                continue
            if len(text) > arguments["columns"]:
                text = text[: arguments["columns"]] + CUT
            write(os.fsencode(path) + b"\0%d:" % number + text.encode("utf-8", "surrogateescape") + b"\n")
            exit_code, count = 0, count + 1
            if count >= arguments["lines_per_file"]:
                break
    return exit_code


def _lines_in(data: bytes) -> Iterator[tuple[int, bytes]]:
    return enumerate(data.removesuffix(b"\n").split(b"\n"), 1)


def _lines_of(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a large file by their numbers, up to one with a NUL."""
    number = 1
    with _opened(path) as stream:
        begin = stream.read(len(codecs.BOM_UTF8))
        stream.seek(len(begin) if begin == codecs.BOM_UTF8 else 0)
        pieces = iter(lambda: stream.readline(MAX_LINE_BYTES), b"")
        if begin.startswith(BOMS_UTF16):
            text = io.TextIOWrapper(stream, encoding="utf-16", errors="replace", newline="\n")
            pieces = iter(lambda: text.readline(MAX_LINE_BYTES).encode("utf-8", "replace"), b"")
        for line in pieces:
            if b"\0" in line:
                return
            yield number, line.removesuffix(b"\n")
            number += line.endswith(b"\n")


def _decoder(*, legacy: bool) -> Callable[[bytes], str]:
    if legacy:
        from caliban_common.decoding import windows_1252

        return windows_1252
    return lambda line: line.decode("utf-8", "surrogateescape")


def _targets(arguments: dict[str, Any]) -> Iterator[str]:
    target = arguments["target"]
    if not target.endswith("/"):
        return iter((target,))
    arguments = {**arguments, "here": str(Path.cwd())}
    rules = tuple(_parent_rules()) if arguments["parents"] and not arguments["ignored"] else ()
    return _walk(rules, arguments)


def _walk(rules: tuple[IgnoreRules, ...], arguments: dict[str, Any]) -> Iterator[str]:
    """The files below the working directory; links are not followed. `rules` are those above it."""
    open_ones = [(".", rules, 1)]
    while open_ones:  # no recursion: directories may lie in one another more deeply than calls may
        directory, rules, depth = open_ones.pop()
        if arguments["depth"] is None or depth <= arguments["depth"]:
            below: list[str] = []
            rules = yield from _files(directory, rules, arguments, below)
            open_ones += [(path, rules, depth + 1) for path in reversed(below)]


def _files(
    directory: str, rules: tuple[IgnoreRules, ...], arguments: dict[str, Any], below: list[str]
) -> Generator[str, None, tuple[IgnoreRules, ...]]:
    """The files in `directory`; the directories in it are added to `below`, and hold to the rules given."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return rules
    here = arguments["here"]
    if not arguments["ignored"]:
        own = ignore_rules(os.path.normpath(f"{here}/{directory}"))
        rules = (*rules, own) if own.plain or own.git or own.top else rules
    for entry in entries:
        if entry.name == ".git" or (entry.name.startswith(".") and not arguments["hidden"]):
            continue
        path = f"{directory}/{entry.name}"
        is_directory = entry.is_dir(follow_symlinks=False)
        if not is_directory and not entry.is_file(follow_symlinks=False):
            continue
        if is_ignored(os.path.normpath(f"{here}/{path}"), is_directory, rules):
            continue
        if is_directory:
            below.append(path)
        else:
            yield path
    return rules


def is_ignored(path: str, is_directory: bool, rules: tuple[IgnoreRules, ...]) -> bool:
    """Whether the nearest rule that speaks of `path` ignores it; plain ignore files beat git's."""
    verdict: bool | None = None
    for rule in reversed(rules):
        verdict = _verdict(rule.plain, rule.directory, path, is_directory) if verdict is None else verdict
    for rule in reversed(rules):
        if verdict is not None:
            break
        verdict = _verdict(rule.git, rule.directory, path, is_directory)
        if rule.top:
            break
    return bool(verdict)


def _verdict(specs: tuple[GitIgnoreSpec, ...], directory: str, path: str, is_directory: bool) -> bool | None:
    relative = path[len(directory.rstrip("/")) + 1 :] + ("/" if is_directory else "")
    for spec in specs:
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return None


def _parent_rules() -> Iterator[IgnoreRules]:
    """The rules of the directories above the working directory, the outermost first."""
    for directory in reversed(Path.cwd().parents):
        yield ignore_rules(str(directory))


def ignore_rules(directory: str) -> IgnoreRules:
    """What the ignore files of one directory say."""
    return IgnoreRules(
        directory=directory,
        plain=_specs(directory, IGNORE_FILES),
        git=_specs(directory, GIT_FILES),
        top=Path(directory, ".git").exists(),
    )


def _specs(directory: str, names: tuple[str, ...]) -> tuple[GitIgnoreSpec, ...]:
    specs = []
    for name in names:
        data, _ = _data(f"{directory}/{name}")
        if data:
            from pathspec import GitIgnoreSpec

            specs.append(GitIgnoreSpec.from_lines(data.decode("utf-8", "replace").splitlines()))
    return tuple(specs)


def _data(path: str) -> tuple[bytes, bool]:
    """The bytes of a regular file, UTF-16 turned into UTF-8, and whether they are all; else none."""
    try:
        with _opened(path) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return b"", True
            data = stream.read(MAX_FILE_BYTES)
            is_whole = not stream.read(1)
    except OSError:
        return b"", True
    if data.startswith(BOMS_UTF16):
        return data.decode("utf-16", "replace").encode("utf-8"), is_whole
    return data.removeprefix(codecs.BOM_UTF8), is_whole


def _opened(path: str) -> BinaryIO:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags), "rb")


def _name_filter(name: str | None) -> Callable[[str], object]:
    if name is None:
        return lambda _: True
    from caliban_tools_builtin.search.globs import compiled

    return compiled(name).fullmatch


def _fail(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """End with 2: Python itself would end with 1, which says that nothing was found."""
    sys.stdout.buffer.flush()
    sys.stderr.write(f"{error or kind.__name__}\n")
    sys.stderr.flush()
    os._exit(2)


if __name__ == "__main__":
    given: dict[str, Any] = json.loads(sys.argv[1])
    sys.path[:] = given["sys_path"]
    sys.excepthook = _fail
    code: int = main(given, sys.stdout.buffer.write)
    sys.stdout.buffer.flush()
    sys.exit(code)
