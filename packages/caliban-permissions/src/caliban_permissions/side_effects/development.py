"""Rows for build tools, compilers, test runners, linters and agents."""

from __future__ import annotations

from collections.abc import Mapping

from caliban_permissions.side_effects.row import FETCHES, LOADS, READS, RUNS, WRITES, ArgumentRule

TAKES: Mapping[str, str] = {
    "make": "CfIWo:jlO",
    "gmake": "CfIWo:jlO",
    "cargo": "CpjFZ",
    "go": "",
    "pytest": "kmncpor",
    "ruff": "",
    "mypy": "mpc",
    "tsc": "p",
    "eslint": "co",
    "gcc": "DIULloxBTXue",
    "ninja": "CfjklD",
    "cmake": "SBGDPCUT",
    "mvn": "fPDTplgst",
    "gradle": "bpIDPgx",
    "patch": "pdioBDFVYzr",
}

TAKES_LONG: Mapping[str, str] = {
    "cargo": "config manifest-path color",
}

_C_COMPILERS = "gcc g++ cc c++ clang clang++ cpp tcc icc nvcc gfortran"

ROWS: tuple[ArgumentRule, ...] = (
    ArgumentRule(
        "make gmake bmake remake",
        RUNS,
        short="E",
        long="eval",
        hits=("make -f /dev/null --eval=x x", "make -E x"),
        misses=("make test", "make -j4 build", "make -k all"),
    ),
    ArgumentRule(
        "make gmake bmake remake",
        LOADS,
        short="fI",
        long="file makefile include-dir",
        match=r"^[A-Za-z_.][A-Za-z0-9_.]*(?::|::|\?|\+|!)?=",
        hits=("make -f x", "make SHELL=./p.sh", "make --file=x", "make CC:=./p"),
        misses=("make test", "make -n", "make --always-make"),
    ),
    ArgumentRule(
        "make gmake bmake remake",
        RUNS,
        match=r"^[^-].*[=$:\s(){};#`|&<>\\]|^[=$:\s]",
        hits=("make a-b:=$(shell", "make a+b:=x", "make $(x)", "make a:b"),
        misses=("make test", "make build/x.o lib-1.2"),
    ),
    ArgumentRule(
        "just task rake invoke fab doit ninja scons waf mage",
        LOADS,
        short="fCdcm",
        long="justfile working-directory taskfile dir rakefile require execute command shell shell-arg "
        "dotenv-path set collection search-root file directory",
        hits=("just --justfile x", "ninja -C x", "rake -f x", "just --shell ./p x"),
        misses=("just test", "task build", "ninja"),
    ),
    ArgumentRule(
        "cargo",
        LOADS,
        short="ZC",
        long="config manifest-path lockfile-path target-dir artifact-dir out-dir",
        match=r"^\+",
        hits=(
            "cargo --config x build",
            "cargo +evil build",
            "cargo -C x build",
            "cargo build --target-dir /x",
        ),
        misses=("cargo build", "cargo test -p a", "cargo clippy --all-targets"),
    ),
    ArgumentRule(
        "cargo",
        RUNS,
        match=r"^(?:-C)?\s*linker=|^-Clink-arg|^link-arg",
        hits=("cargo rustc -- -Clinker=./p.sh", "cargo rustc -- -C linker=./p.sh"),
        misses=("cargo build", "cargo clippy -- -D warnings"),
    ),
    ArgumentRule(
        "rake",
        RUNS,
        short="rReEIp",
        long="execute-print execute-continue libdir system require",
        hits=("rake -r x", "rake -e x", "rake -rx", "rake -I /x", "rake --execute-continue x"),
        misses=("rake test", "rake -T"),
    ),
    ArgumentRule(
        "javac",
        LOADS,
        match=r"^(?:-J|-Xplugin|--?processor|@)",
        hits=("javac -processor X a", "javac -J-x a", "javac --processor-path x a", "javac @x"),
        misses=("javac a.java", "javac -Xlint:all a.java"),
    ),
    ArgumentRule(
        "nm ar gcc-nm gcc-ar ranlib objdump strings size strip ld ld.bfd ld.gold lld",
        LOADS,
        match=r"^--?plugin",
        hits=("nm --plugin ./x a", "ld -plugin x a.o", "objdump --plugin=x a"),
        misses=("nm a.o", "objdump -d a.o", "strings a"),
    ),
    ArgumentRule(
        "file",
        RUNS,
        short="zZ",
        long="uncompress uncompress-noreport",
        hits=("file -z a", "file --uncompress a"),
        misses=("file -b a",),
    ),
    ArgumentRule(
        "ldd",
        RUNS,
        operands=1,
        hits=("ldd ./x", "ldd -v ./x"),
        misses=("ldd --version",),
    ),
    ArgumentRule(
        "ctags uctags etags",
        LOADS,
        long="options options-maybe optlib-dir",
        match=r"^@",
        hits=("ctags --options=x a", "ctags --options-maybe x a"),
        misses=("ctags -R src",),
    ),
    ArgumentRule(
        "fzf sk peco",
        RUNS,
        long="preview bind with-shell listen listen-unsafe cmd exec",
        hits=("fzf --preview x", "fzf --bind enter:execute(x)", "sk --preview=x", "fzf --prev x"),
        misses=("fzf --filter x", "fzf -q a"),
    ),
    ArgumentRule(
        "cargo",
        FETCHES,
        subs="install publish login yank owner add new init vendor script",
        match=r"^(?:install|publish|login|yank|owner|vendor|script)$",
        hits=("cargo install x", "cargo publish", "cargo vendor"),
        misses=("cargo build", "cargo add serde", "cargo doc"),
    ),
    ArgumentRule(
        "go",
        RUNS,
        words="-exec -exec=* --exec* -toolexec* --toolexec* -vettool* --vettool* -o -o=* -overlay* -modfile* "
        "-C -C=* -ldflags* -gcflags* -asmflags* -pkgdir* -outputdir* -cpuprofile* -memprofile* -trace* "
        "-blockprofile* -mutexprofile* -coverprofile* -fuzzcachedir* -test.*",
        hits=("go test -exec ./p.sh", "go vet -vettool=./p", "go build -toolexec x", "go build -o /x"),
        misses=("go test ./...", "go build ./...", "go vet ./..."),
    ),
    ArgumentRule(
        "go",
        RUNS,
        subs="run generate tool install get env work telemetry",
        operands=2,
        hits=("go run x", "go generate ./...", "go install x@latest", "go env -w CC=x"),
        misses=("go test ./...", "go env", "go version"),
    ),
    ArgumentRule(
        _C_COMPILERS,
        RUNS,
        words="-wrapper -wrapper=* -fplugin* -B* -specs* --specs* -Xclang -load --config* "
        "-no-canonical-prefixes "
        "-fuse-ld* --ld-path* -ccc-gcc-name* -fpass-plugin* -Wl,* -Xlinker -dumpdir* @*",
        hits=("gcc -wrapper ./p a.c", "clang -fplugin=./x a.c", "gcc -B. a.c", "gcc @x"),
        misses=("gcc -Wall -c a.c", "gcc -O2 -g a.c"),
    ),
    ArgumentRule(
        _C_COMPILERS + " ld as ar rustc ocamlopt ghc",
        WRITES,
        words="-o* --output* -MF* --out-dir* -fprofile*",
        hits=("gcc -o /x a.c", "rustc -o x a.rs"),
        misses=("gcc -c a.c",),
    ),
    ArgumentRule(
        "ld gold lld ar rustc",
        LOADS,
        words="-plugin* --plugin* -C -C* --extern* -Z* -T* -dynamic-linker* -L*",
        hits=("ld -plugin x", "rustc -Clinker=x a.rs"),
        misses=("ar t a.a",),
    ),
    ArgumentRule(
        "cmake ctest cpack",
        RUNS,
        words="-P* -E -C* -S* --build --install --open --workflow --script* -D* --toolchain* --preset* "
        "--build-and-test --launch* -O*",
        operands=1,
        hits=("cmake -P x", "cmake -E touch x", "ctest -S x", "cmake --build /b"),
        misses=("cmake --version", "ctest"),
    ),
    ArgumentRule(
        "mvn mvnw gradle gradlew ant sbt lein mill buck bazel bazelisk pants meson",
        RUNS,
        short="fIbscplgDPj",
        words="--file* --init-script* --build-file* --settings* --project-dir* -buildfile* "
        "--include-build* run exec:* --run_under* --script_path* --override_repository* "
        "--workspace_status_command* --javaagent* shell",
        hits=("mvn -f x test", "gradle -I x build", "bazel run //x", "mvn exec:exec"),
        misses=("mvn test", "gradle build", "bazel build //x"),
    ),
    ArgumentRule(
        "patch",
        RUNS,
        operands=1,
        short="ioddBrz",
        long="input output directory reject-file get backup-if-mismatch",
        hits=("patch a x.diff", "patch -i x", "patch -o x a"),
        misses=("patch --version",),
    ),
    ArgumentRule(
        "pytest py.test nose2 nosetests",
        LOADS,
        short="co",
        long="rootdir confcutdir override-ini config-file import-mode basetemp pyargs plugins pdbcls "
        "doctest-glob cov-config! tx! rsyncdir!",
        match=r"^-p(?!no:).|^@",
        hits=(
            "pytest -c x",
            "pytest @x",
            "pytest -o addopts=x",
            "pytest -pevil",
            "pytest -p evil",
            "pytest --rootdir=/x",
        ),
        misses=("pytest -q", "pytest -k 'a and not b'", "pytest -pno:cacheprovider", "pytest -p no:x"),
    ),
    ArgumentRule(
        "pytest py.test",
        WRITES,
        long="junitxml junit-xml log-file result-log resultlog debug! pastebin html! cov-report! "
        "benchmark-json benchmark-save csv! md! json-report-file report-log",
        hits=("pytest --junitxml=/x",),
        misses=("pytest --tb=short", "pytest --cov"),
    ),
    ArgumentRule(
        "tox nox pre-commit lefthook husky lint-staged overcommit",
        RUNS,
        short="cfe",
        long="config conf noxfile override sessions workdir root working-dir installpkg",
        words="exec devenv run try-repo install install-hooks autoupdate uninstall init-templatedir",
        hits=("tox -c x", "nox -f x", "pre-commit run", "tox exec -- id"),
        misses=("tox", "nox --list"),
    ),
    ArgumentRule(
        "coverage trace cProfile memray scalene py-spy austin kernprof",
        RUNS,
        words="run record live top dump",
        hits=("coverage run x.py", "py-spy record -- x"),
        misses=("coverage report",),
    ),
    ArgumentRule(
        "coverage",
        LOADS,
        long="rcfile data-file",
        words="-o",
        hits=("coverage --rcfile=x report",),
        misses=("coverage report -m",),
    ),
    ArgumentRule(
        "mypy pylint flake8 ruff black isort pyright bandit pyflakes autopep8 yapf pydocstyle vulture",
        LOADS,
        long="config config-file rcfile load-plugins init-hook python-executable plugins append-config "
        "settings-path "
        "settings-file pythonpath venvpath custom-typeshed-dir custom-typing-module output output-file "
        "output-format=file install-types cache-dir venv-path project",
        hits=(
            "pylint --init-hook=x a",
            "mypy --config-file=x a",
            "pylint --load-plugins=x a",
            "ruff check --config x",
        ),
        misses=("mypy src", "ruff check src", "black --check src", "flake8 src", "isort --check src"),
    ),
    ArgumentRule("ruff", WRITES, short="o", hits=("ruff check -o x",), misses=("ruff check src",)),
    ArgumentRule(
        "mypy",
        WRITES,
        match=r"^--(?:[a-z-]+-report|junit-xml|junit-format|timing-stats|line-checking-stats)",
        hits=("mypy --html-report /x a", "mypy --junit-xml=x a"),
        misses=("mypy --strict a",),
    ),
    ArgumentRule(
        "tsc",
        WRITES,
        match=r"(?i)^@|^--?(?:declarationDir|tsBuildInfoFile|generateTrace|generateCpuProfile|out$|out=)",
        hits=("tsc --declarationDir /x", "tsc --tsBuildInfoFile=x", "tsc @x"),
        misses=("tsc --noEmit", "tsc -p tsconfig.json"),
    ),
    ArgumentRule(
        "eslint",
        LOADS,
        short="f",
        match=r"^--(?:cache-location|cache-file|ignore-path)",
        hits=("eslint -f ./x .", "eslint --cache-location /x ."),
        misses=("eslint --fix .",),
    ),
    ArgumentRule("pyright mypy pylint", READS, match=r"^@", hits=("pylint @x",), misses=("pylint a.py",)),
    ArgumentRule(
        "eslint prettier stylelint tsc jest vitest mocha ava tap karma cypress playwright webpack vite "
        "rollup "
        "esbuild parcel babel swc gulp grunt nyc c8 markdownlint biome turbo nx lerna",
        LOADS,
        short="cor",
        long="config plugin rulesdir resolve-plugins-relative-to require import loader parser parser-path "
        "config-path globalsetup globalteardown setupfiles setupfilesafterenv testrunner "
        "testenvironment runner "
        "transform output-file output outfile outdir outfile-path out-dir out-file coveragedirectory file "
        "gulpfile gruntfile base tasks cwd rootdir prefix project plugin-search-dir custom-syntax "
        "custom-formatter format-path preload node-option node-options reporter resolver reporters "
        "coveragereporters coverageprovider snapshotresolver testsequencer testresultsprocessor filter",
        hits=(
            "eslint -c x .",
            "eslint --rulesdir x .",
            "mocha -r ./x",
            "prettier --plugin=./x .",
            "jest --config x",
        ),
        misses=("eslint .", "eslint --fix src", "prettier --check .", "jest", "tsc --noEmit", "vitest run"),
    ),
    ArgumentRule(
        "sphinx-build mkdocs jekyll hugo pdflatex latex xelatex lualatex tex latexmk",
        RUNS,
        operands=1,
        short="cDdeE",
        long="shell-escape config-file output-directory usepackage",
        words="-shell-escape -output-directory* -e",
        hits=("pdflatex x", "latexmk -e x"),
        misses=("mkdocs --version",),
    ),
    ArgumentRule(
        "gunicorn uvicorn hypercorn flask django-admin celery streamlit jupyter ipython alembic locust "
        "scrapy airflow",
        RUNS,
        operands=1,
        hits=("flask run", "jupyter nbconvert --execute x"),
        misses=("flask --version",),
    ),
    ArgumentRule(
        "apt apt-get aptitude dpkg yum dnf rpm pacman apk brew port snap flatpak zypper emerge nix-env "
        "choco winget scoop",
        RUNS,
        unless="list show search info policy depends rdepends help madison outdated deps leaves",
        short="oc",
        long="option config-file root pre-invoke root-dir force",
        words="-i* -U* --install* -S*",
        hits=("apt-get install x", "apt-get -o APT::x=y update", "brew install x", "dpkg -i x.deb"),
        misses=("apt list", "brew list", "brew info x"),
    ),
    ArgumentRule(
        "node-gyp electron deno",
        RUNS,
        operands=1,
        hits=("deno run x.ts", "deno eval x", "electron ."),
        misses=("deno --version",),
    ),
    ArgumentRule(
        "code cursor subl idea atom zed codium",
        RUNS,
        operands=1,
        long="install-extension command user-data-dir extensions-dir",
        hits=("code --install-extension x", "code ."),
        misses=("code --version",),
    ),
    ArgumentRule(
        "claude codex gemini aider goose caliban copilot cursor-agent opencode llm",
        RUNS,
        operands=1,
        short="pc",
        long="print prompt",
        hits=("claude -p x", "caliban x"),
        misses=("claude --version",),
    ),
    ArgumentRule(
        "hg svn bzr fossil jj p4 cvs",
        RUNS,
        short="",
        long="config config-option editor-cmd diff-cmd diff3-cmd merge-cmd ssh remotecmd tool "
        "config-toml config-file repository cwd config-dir",
        words="bisect extdiff ext* --config* @*",
        hits=("hg --config alias.x=!id x", "svn diff --diff-cmd ./p", "hg extdiff -p x"),
        misses=("hg status", "svn diff", "jj log"),
    ),
)
