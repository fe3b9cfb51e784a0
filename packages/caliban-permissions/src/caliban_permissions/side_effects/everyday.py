"""What the table of side effects finds in everyday commands although it is known in full spelling.

Two ways to be everyday: a whole command of which every word is in a row of `LINES`, or single words in a
row of `WORDS`. A row is data, with commands that it must and must not let pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.:@/-]*"
_PLACE = r"\.|(?:\./)?[A-Za-z0-9_][A-Za-z0-9_./-]*"
_NUMBER = r"[0-9]+"
PLAIN_WORD = r"[A-Za-z0-9_.,-]+"
"""A value that is neither a path nor code."""


class Line(Struct, frozen=True):
    """A command: `head`, then `flags`, options with their values, and operands, in any order.

    A value may stand in the next word or behind `=`. `operands` is what an operand may be.
    """

    head: str
    flags: str = ""
    values: Mapping[str, str] = {}
    operands: str = ""
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


class Words(Struct, frozen=True):
    """Single words of the programs `of` that do no more than they say; a value may stand in the next word."""

    of: str
    match: str
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


_COMPOSE = tuple(
    Line(
        f"{program} {sub}",
        flags,
        {"--tail": r"[0-9]+|all", "-n": _NUMBER, "--since": PLAIN_WORD, "-t": _NUMBER, "--timeout": _NUMBER},
        _NAME,
        hits=(f"{program} {sub}", f"{program} {sub} web"),
        misses=(f"{program} -f x {sub}", f"{program} --project-directory / {sub}"),
    )
    for program in ("docker compose", "docker-compose", "podman compose")
    for sub, flags in (
        (
            "up",
            "-d --detach --build --no-build --force-recreate --remove-orphans --wait --no-deps "
            "--quiet-pull -V",
        ),
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
_DOTNET: Mapping[str, str] = {
    "-c": "Debug|Release",
    "--configuration": "Debug|Release",
    "-v": PLAIN_WORD,
    "--verbosity": PLAIN_WORD,
    "-f": r"net[a-z0-9.]+",
    "--framework": r"net[a-z0-9.]+",
    "--filter": r"[^-].*",
}

LINES: tuple[Line, ...] = (
    *_COMPOSE,
    Line(
        "docker build",
        "--no-cache --pull -q --quiet",
        {
            "-t": _NAME,
            "--tag": _NAME,
            "--target": PLAIN_WORD,
            "--progress": PLAIN_WORD,
            "--platform": r"[a-z0-9/,]+",
        },
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
            "--target": PLAIN_WORD,
            "--config": PLAIN_WORD,
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
    Line(
        "go tool cover",
        "",
        {},
        r"-func=(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*",
        hits=("go tool cover -func=cover.out",),
        misses=("go tool cover -html=x -o /x", "go tool compile x", "go tool ./x"),
    ),
    Line(
        "go run",
        "-race -v",
        {},
        r"\.|\./[A-Za-z0-9_][A-Za-z0-9_./-]*",
        hits=("go run .", "go run ./cmd/app"),
        misses=("go run h.example/x@latest", "go run -exec ./p .", "go run -toolexec ./p .", "go run /x"),
    ),
    *(
        Line(
            f"docker {sub}",
            "-f --force -q --quiet",
            {},
            _NAME,
            hits=(f"docker {sub} app",),
            misses=(f"docker -H tcp://x {sub} app",),
        )
        for sub in ("pull", "rm", "rmi", "stop", "kill", "start", "restart")
    ),
    Line(
        "php -l", "", {}, _PLACE, hits=("php -l src/a.php",), misses=("php -l -r x", "php x.php", "php -l /x")
    ),
    Line(
        "gh auth status",
        "-a --active",
        {},
        "",
        hits=("gh auth status",),
        misses=("gh auth status -t", "gh auth token"),
    ),
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
    Line(
        "npm pkg get",
        "",
        {},
        r"[A-Za-z][A-Za-z0-9_.-]*",
        hits=("npm pkg get version",),
        misses=("npm pkg set a=b",),
    ),
    Line(
        "node --test",
        "--watch --experimental-test-coverage",
        {"--test-name-pattern": r"[^-].*"},
        "",
        hits=("node --test",),
        misses=(
            "node",
            "node --watch",
            "node --test x.js",
            "node --test --import ./x",
            "node x.js",
            "node --test -e x",
        ),
    ),
)
"""Whole commands."""

_REPORTERS = (
    "verbose|dot|default|basic|tap|tap-flat|json|spec|min|list|nyan|progress|github-actions|hanging-process"
)

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
    Words("pytest py.test", r"--co", hits=("pytest --co -q",), misses=("pytest --conf x",)),
    Words(
        "pytest py.test",
        r"--cov-report[= ](?:term(?:-missing)?(?::skip-covered)?|xml|html|json|lcov)",
        hits=(
            "pytest --cov-report=term-missing",
            "pytest --cov=a --cov-report term",
            "pytest --cov-report=xml",
        ),
        misses=(
            "pytest --cov-report=html:/x",
            "pytest --cov-report xml:../x",
            "pytest --cov-report=annotate:/x",
        ),
    ),
    Words(
        "vitest",
        r"--run",
        hits=("vitest --run",),
        misses=("vitest --runner ./x", "vitest --runner=./x"),
    ),
    Words(
        "pytest py.test",
        r"--pdb|--junit-?xml[= ](?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*\.xml",
        hits=("pytest --pdb", "pytest --junitxml=report.xml", "pytest --junit-xml out/report.xml"),
        misses=("pytest --pdbcls=x:y", "pytest --junitxml=/x.xml", "pytest --junitxml=.git/config"),
    ),
    Words(
        "go",
        r"-coverprofile=(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./-]*\.(?:out|cov|txt|profile)",
        hits=("go test ./... -coverprofile=cover.out",),
        misses=("go test -coverprofile=/x.out", "go test -coverprofile=main.go"),
    ),
    Words(
        "mvn mvnw",
        r"-pl [A-Za-z0-9_:./,-]+|-am|-amd",
        hits=("mvn -pl core -am test",),
        misses=("mvn -f /x test", "mvn -s x test"),
    ),
    Words(
        "make gmake",
        r"(?:ENV|MODE|CONFIG|BUILD|BUILD_TYPE|TYPE|PROFILE|TARGET|STAGE|VERSION|TAG|NAME|ARCH|OS|PLATFORM|PORT|HOST)"
        r"=[A-Za-z0-9_.-]+",
        hits=("make build ENV=dev", "make TAG=1.2.3 release"),
        misses=("make ENV=$(x)", "make ENV:=x", "make SHELL=dev", "make ENV=./p"),
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
        misses=(
            "unzip -d . a.zip",
            "unzip -d ./ a.zip",
            "unzip -d / a.zip",
            "unzip -d ../x a.zip",
            "unzip -d .git a",
        ),
    ),
    Words(
        "make gmake",
        r"(?!SHELL|MAKE|[A-Z]*FLAGS)[A-Za-z_][A-Za-z0-9_]*=(?:[0-9]+|true|false|yes|no|on|off|)",
        hits=("make test V=1", "make VERBOSE=yes all"),
        misses=(
            "make SHELL=1",
            "make CC=./p",
            "make MAKEFLAGS=1",
            "make V=$(x)",
            "make V:=1",
            "make CFLAGS=1",
        ),
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
