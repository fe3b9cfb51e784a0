"""What the table of side effects finds in everyday commands although it is known in full spelling.

Two ways to be everyday: a whole command of which every word is in a row of `LINES`, or single words in a row of
`WORDS`. A runner whose sub-command runs a program is everyday for whoever names that sub-command: `uv run *`
says what it allows, `uv *` does not.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from caliban_permissions.side_effects.known import UNKNOWN
from caliban_permissions.side_effects.row import Evidence, whole

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.:@/-]*"
_PLACE = r"\.|(?:\./)?[A-Za-z0-9_][A-Za-z0-9_./-]*"
_NUMBER = r"[0-9]+"
_WORD = r"[A-Za-z0-9_.,-]+"


class Line(NamedTuple):
    """A command that begins with `head` and goes on with `flags`, with options and their values, and operands.

    A value may stand in the next word or behind `=`. `operands` is what an operand may be.
    """

    head: str
    flags: str = ""
    values: Mapping[str, str] = {}
    operands: str = ""
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


class Words(NamedTuple):
    """Single words of the programs `of` that do no more than they say; a value may stand in the next word."""

    of: str
    match: str
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


_COMPOSE = tuple(
    Line(
        f"{program} {sub}",
        flags,
        {"--tail": r"[0-9]+|all", "-n": _NUMBER, "--since": _WORD, "-t": _NUMBER, "--timeout": _NUMBER},
        _NAME,
        hits=(f"{program} {sub}", f"{program} {sub} web"),
        misses=(f"{program} -f x {sub}", f"{program} --project-directory / {sub}"),
    )
    for program in ("docker compose", "docker-compose", "podman compose")
    for sub, flags in (
        ("up", "-d --detach --build --no-build --force-recreate --remove-orphans --wait --no-deps --quiet-pull -V"),
        ("down", "--remove-orphans"),
        ("logs", "-f --follow --no-color --timestamps --no-log-prefix"),
        ("build", "--no-cache --pull -q --quiet"),
        ("restart", ""),
        ("stop", ""),
        ("start", ""),
        ("pull", "-q --quiet"),
        ("config", "-q --quiet --services --volumes --images"),
        ("ps", "-a --all -q --quiet --services"),
        ("images", "-q --quiet"),
        ("top", ""),
        ("port", ""),
        ("ls", "-a --all -q --quiet"),
        ("version", "--short"),
    )
)
_DOTNET = {
    "-c": "Debug|Release",
    "--configuration": "Debug|Release",
    "-v": _WORD,
    "--verbosity": _WORD,
    "-f": r"net[a-z0-9.]+",
    "--framework": r"net[a-z0-9.]+",
    "--filter": r"[^-].*",
}

LINES: tuple[Line, ...] = (
    *_COMPOSE,
    Line(
        "docker build",
        "--no-cache --pull -q --quiet",
        {"-t": _NAME, "--tag": _NAME, "--target": _WORD, "--progress": _WORD, "--platform": r"[a-z0-9/,]+"},
        _PLACE,
        hits=("docker build .", "docker build -t app:dev .", "docker build --no-cache -t a/b ./web"),
        misses=(
            "docker build -f x .",
            "docker build -o out .",
            "docker build --output=/x .",
            "docker build ..",
            "docker build /",
            "docker build --secret id=x,src=/etc/shadow .",
            "docker build --ssh default .",
            "docker build --build-context a=/ .",
            "docker build https://h.example/x",
            "docker build -",
        ),
    ),
    Line(
        "cmake",
        "--fresh --verbose -v --clean-first -Wno-dev",
        {
            "-S": _PLACE,
            "-B": _PLACE,
            "--build": _PLACE,
            "--target": _WORD,
            "--config": _WORD,
            "-G": r"Ninja|Unix Makefiles",
            "-j": _NUMBER,
            "--parallel": _NUMBER,
        },
        r"-DCMAKE_BUILD_TYPE=(?:Debug|Release|RelWithDebInfo|MinSizeRel)|-DBUILD_TESTING=(?:ON|OFF)|-j[0-9]*"
        r"|-DBUILD_SHARED_LIBS=(?:ON|OFF)",
        hits=("cmake -S . -B build", "cmake --build build", "cmake -B build -DCMAKE_BUILD_TYPE=Release"),
        misses=(
            "cmake -P x",
            "cmake -E touch x",
            "cmake -S /x -B build",
            "cmake -S .. -B build",
            "cmake -S . -B ../x",
            "cmake --build build -- SHELL=./p",
            "cmake -S . -B build -DCMAKE_C_COMPILER=./p",
            "cmake -S . -B build --toolchain x",
            "cmake --install build",
        ),
    ),
    *(
        Line(
            f"dotnet {sub}",
            "--no-build --no-restore --nologo --no-incremental --no-dependencies",
            _DOTNET,
            _PLACE,
            hits=(f"dotnet {sub}", f"dotnet {sub} --no-restore src/App"),
            misses=(f"dotnet {sub} -p:X=y", f"dotnet {sub} /x", f"dotnet {sub} -o /x", f"dotnet {sub} @x"),
        )
        for sub in ("build", "test", "restore", "clean", "format")
    ),
    *(
        Line(
            f"swift {sub}",
            "-v --verbose --parallel --enable-code-coverage",
            {"-c": "debug|release", "--configuration": "debug|release", "--filter": r"[^-].*"},
            "",
            hits=(f"swift {sub}", f"swift {sub} -c release"),
            misses=(f"swift {sub} -Xcc -x", f"swift {sub} --package-path /x", f"swift {sub} x"),
        )
        for sub in ("build", "test")
    ),
    Line(
        "go env",
        "-json -changed",
        {},
        r"[A-Z][A-Z0-9_]*",
        hits=("go env GOPATH", "go env -json GOOS GOARCH"),
        misses=("go env -w CC=x", "go env -u CC"),
    ),
    Line("gh auth status", "-a --active", {}, "", hits=("gh auth status",), misses=("gh auth status -t", "gh auth token")),
    *(
        Line(
            f"terraform {sub}",
            "-no-color -input=false -refresh=false -detailed-exitcode -compact-warnings -json",
            {},
            "",
            hits=(f"terraform {sub}",),
            misses=(f"terraform -chdir=.. {sub}",),
        )
        for sub in ("plan", "validate")
    ),
    Line("npm pkg get", "", {}, r"[A-Za-z][A-Za-z0-9_.-]*", hits=("npm pkg get version",), misses=("npm pkg set a=b",)),
    Line(
        "node",
        "--test --watch --experimental-test-coverage",
        {"--test-name-pattern": r"[^-].*"},
        "",
        hits=("node --test",),
        misses=("node --test x.js", "node --test --import ./x", "node x.js", "node --test -e x"),
    ),
)
"""Whole commands."""

_REPORTERS = "verbose|dot|default|basic|tap|tap-flat|json|spec|min|list|nyan|progress|github-actions|hanging-process"

WORDS: tuple[Words, ...] = (
    Words(
        "jest vitest nyc c8 mocha ava tap",
        r"--(?:no-)?coverage(?:=true|=false)?",
        hits=("jest --coverage", "vitest run --coverage"),
        misses=("jest --coverageDirectory=/x", "jest --coverage --config x", "jest --coverageReporters=./x"),
    ),
    Words(
        "jest vitest mocha ava playwright cypress",
        rf"--reporters?[= ](?:{_REPORTERS})",
        hits=("vitest run --reporter=verbose", "mocha --reporter dot"),
        misses=("mocha --reporter ./x", "vitest --reporter=./x.js", "jest --reporters=x"),
    ),
    Words(
        "pytest py.test",
        r"--cov-report[= ](?:term(?:-missing)?(?::skip-covered)?|xml|html|json|lcov)",
        hits=("pytest --cov-report=term-missing", "pytest --cov=a --cov-report term", "pytest --cov-report=xml"),
        misses=("pytest --cov-report=html:/x", "pytest --cov-report xml:../x", "pytest --cov-report=annotate:/x"),
    ),
    Words(
        "go",
        rf"-o (?!.*\.\.)(?:{_PLACE})",
        hits=("go build -o bin/app ./cmd/app", "go test -c -o out/t ./x"),
        misses=("go build -o /x", "go build -o ../x", "go build -o=/x", "go build -o bin/x -toolexec ./p"),
    ),
    Words(
        "unzip",
        r"-d (?!.*\.\.)(?:\./)?[A-Za-z0-9_][A-Za-z0-9_./-]*",
        hits=("unzip -d out a.zip", "unzip a.zip -d out/b"),
        misses=("unzip -d . a.zip", "unzip -d ./ a.zip", "unzip -d / a.zip", "unzip -d ../x a.zip", "unzip -d .git a"),
    ),
    Words(
        "make gmake",
        r"(?!SHELL|MAKE|[A-Z]*FLAGS)[A-Za-z_][A-Za-z0-9_]*=(?:[0-9]+|true|false|yes|no|on|off|)",
        hits=("make test V=1", "make VERBOSE=yes all"),
        misses=("make SHELL=1", "make CC=./p", "make MAKEFLAGS=1", "make V=$(x)", "make V:=1", "make CFLAGS=1"),
    ),
    Words(
        "curl",
        r"(?:-[sSfLkIiv]*o|--output) ?/dev/null",
        hits=("curl -o /dev/null http://h.example", "curl -so /dev/null http://h.example"),
        misses=("curl -o x http://h.example", "curl -o /dev/null -o x http://h.example"),
    ),
    Words(
        "mvn mvnw",
        r"-D(?:skipTests|maven\.test\.skip|skipITs)(?:=true|=false)?|-D(?:test|it\.test)=[\w#.*,-]+|-DfailIfNoTests=false",
        hits=("mvn -q -DskipTests package", "mvn test -Dtest=AppTest#works"),
        misses=("mvn -Dexec.executable=x test", "mvn -DskipTests -f /x package"),
    ),
)
"""Single words."""

RUNNERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys("uv poetry pipenv pdm hatch rye pixi".split(), frozenset({"run"})),
    **dict.fromkeys(("bundle", "bundler"), frozenset({"exec"})),
}
"""Programs with the sub-commands by which they run a program of the project."""

_STRICT = (("docker", "compose"), ("docker-compose",), ("podman", "compose"))
"""Programs of which whatever is no row of `LINES` asks: their options stand on both sides of the sub-command."""


def unsurprising(name: str, argv: tuple[str, ...], items: list[Evidence]) -> list[Evidence]:
    """The evidence without what is everyday."""
    strict = next((head for head in _STRICT if (name, *argv[1 : len(head)]) == head and len(argv) > len(head)), ())
    if not items and not strict:
        return items
    if any(_is_line(line, (name, *argv[1:])) for line in _LINES.get(name, ())):
        return []
    if strict and not items:
        return [whole(argv, len(strict), UNKNOWN)]
    for row in _WORDS.get(name, ()):
        items = [item for item in items if not _is_word(row, argv, item.word)]
    if argv[1:2] and argv[1] in RUNNERS.get(name, ()) and len(argv) > 2 and not argv[2].startswith("-"):
        # Whoever spells out the sub-command has named what it runs.
        items = [whole(argv, 1, item.why) if item.word == 2 else item for item in items]
    return items


def _is_line(line: Line, argv: tuple[str, ...]) -> bool:
    head = tuple(line.head.split())
    if argv[: len(head)] != head:
        return False
    flags = line.flags.split()
    index = len(head)
    while index < len(argv):
        word = argv[index]
        name, equals, value = word.partition("=")
        if word in flags:
            pass
        elif word in line.values and index + 1 < len(argv):
            index += 1
            if not _fits(line.values[word], argv[index]):
                return False
        elif equals and name.startswith("--") and name in line.values:
            if not _fits(line.values[name], value):
                return False
        elif not line.operands or not _fits(line.operands, word):
            return False
        index += 1
    return True


def _fits(pattern: str, text: str) -> bool:
    return ".." not in text.split("/") and re.fullmatch(pattern, text) is not None


def _is_word(row: Words, argv: tuple[str, ...], index: int) -> bool:
    """Whether the word, alone or with the one beside it, is in the row."""
    texts = [argv[index]]
    if index + 1 < len(argv):
        texts.append(f"{argv[index]} {argv[index + 1]}")
    if index > 1:
        texts.append(f"{argv[index - 1]} {argv[index]}")
    return any(re.fullmatch(row.match, text) for text in texts)


def _by_program(rows: tuple[Words, ...]) -> dict[str, tuple[Words, ...]]:
    names = dict.fromkeys(name for row in rows for name in row.of.split())
    return {name: tuple(row for row in rows if name in row.of.split()) for name in names}


_WORDS = _by_program(WORDS)
_LINES: Mapping[str, tuple[Line, ...]] = {
    name: tuple(line for line in LINES if line.head.split()[0] == name)
    for name in dict.fromkeys(line.head.split()[0] for line in LINES)
}
