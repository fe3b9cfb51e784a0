"""Which variables may be set beside allowed commands, and which say what a program runs or loads."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_common.lazy import lazy_pattern

ASSIGNMENT = lazy_pattern(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=")

INTEGERS = frozenset(
    "RANDOM SRANDOM OPTIND HISTCMD SECONDS LINENO EPOCHSECONDS EPOCHREALTIME BASHPID".split()
)
"""Variables whose value bash computes when it is set: a command in an index of that text runs."""

_LOADERS = INTEGERS | frozenset(
    "IFS ENV SHELL HOME PWD OLDPWD GLOBIGNORE EXECIGNORE FIGNORE OPTIND OPTARG OPTERR REPLY UID EUID PPID "
    "EDITOR VISUAL PAGER BROWSER CC CXX CPP FC LD AR AS NM RM YACC LEX LINT GET CO INSTALL RANLIB STRIP "
    "MAKE TMPDIR TMP TEMP "
    "TERMINFO TERMCAP "
    "NLSPATH LOCPATH GCONV_PATH HISTFILE HISTCMD INPUTRC MAIL MAILCHECK TIMEFORMAT FUNCNEST LINENO RANDOM "
    "SECONDS POSIXLY_CORRECT PS0 PS1 PS2 PS3 PS4 DIRSTACK GROUPS HOSTFILE DISPLAY XAUTHORITY CHILD_MAX "
    "COMPREPLY COPROC MAPFILE AWKPATH M4PATH MANPATH PKGS WATCH".split()
)
_PREFIXES = lazy_pattern(
    r"LD_|DYLD_|BASH|GIT_|HG|SVN_|PYTHON|PY_|VIRTUAL_ENV|PERL|RUBY|GEM_|BUNDLE_|NODE|NPM_|YARN_|PNPM_|BUN_|DENO_|PIP_"
    r"|PIPX_|UV_|POETRY_|HATCH_|TOX_|CONDA_|KUBE|HELM|TF_|TERRAFORM|MAVEN_|MVN_|GRADLE_|JAVA|JDK_|_JAVA|CARGO|RUST"
    r"|GO[A-Z0-9]|CGO_|DOCKER_|BUILDKIT|COMPOSE_|PODMAN_|AWS_|GOOGLE_|AZURE_|CLOUDSDK|GH_|GITHUB_|LESS|MORE|MAN|SSH_|GPG"
    r"|SUDO_|XDG_|COMP_|MALLOC_|GLIBC_|LUA_|PHP|COMPOSER_|TCL|GUILE|ERL_|ELIXIR_|MIX_|VIM|EMACS|TMUX|SCREEN|FZF_|RIPGREP|GREP_|TAR_"
    r"|GZIP|XZ_|BZIP|ZIP|UNZIP|RSYNC_|CURL|WGET|MAKE|CMAKE|CTEST_|NINJA|MESON|CCACHE|DISTCC|ANSIBLE_|VAGRANT_|CALIBAN_"
    r"|OPENSSL|PG|MYSQL|SQLITE|REDIS|CLASS|LLVM|CLANG|GCC|COMPILER|PYTEST|JEST_|MOCHA_|NVM_|PYENV|RBENV|ASDF|MISE|DIRENV|NIX"
)
_PARTS = lazy_pattern(
    r"PATH|PRELOAD|COMMAND|CMD|OPTION|OPTS|FLAGS|ARGS|PAGER|EDITOR|SHELL|WRAPPER|LAUNCHER|RUNNER|EXEC|HOOK|PLUGIN|STARTUP"
    r"|INIT|CONF|RC$|HOME|ROOT|DIR|FILE|PROXY|REGISTRY|INDEX|PROGRAM|BIN|LIB|INCLUDE|COMPIL|LINKER|TOOL|ASKPASS|SOCK|CERT"
    r"|MODULE|IMPORT|LOAD|SCRIPT|DRIVER|ENGINE|FILTER|BROWSER|SETTINGS|RSH$|PROFILE$|HANDLER|HELPER|AGENT|TRACE|XTRACE|LOGGER"
)
_LOWER = lazy_pattern(r"_|(?:p?npm|yarn|bun|pip|uv|cargo|git|ld|dyld)_|path$|.*proxy")
"""Names in lower case are of the shell alone, but for these."""

_FREE = frozenset(
    "NODE_ENV NODE_NO_WARNINGS RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE "
    "PYTHONHASHSEED "
    "PYTHONIOENCODING PYTHONUTF8 GOOS GOARCH GOARM GOAMD64 GO111MODULE GOMAXPROCS CGO_ENABLED "
    "AWS_PROFILE AWS_REGION "
    "AWS_DEFAULT_REGION AWS_DEFAULT_OUTPUT AWS_PAGER= KUBE_EDITOR= TF_LOG TF_IN_AUTOMATION "
    "GIT_TERMINAL_PROMPT "
    "GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME "
    "GIT_COMMITTER_EMAIL "
    "GIT_COMMITTER_DATE GIT_PAGER= PAGER= DOCKER_BUILDKIT COMPOSE_PROJECT_NAME BUILDKIT_PROGRESS "
    "CARGO_TERM_COLOR "
    "CARGO_INCREMENTAL CARGO_NET_OFFLINE PIP_NO_INPUT PIP_DISABLE_PIP_VERSION_CHECK UV_OFFLINE "
    "UV_NO_PROGRESS "
    "RAILS_ENV RACK_ENV MIX_ENV PGHOST PGPORT PGUSER PGDATABASE PYTEST_ADDOPTS= GH_PAGER= NO_COLOR "
    "MALLOC_ARENA_MAX MAKELEVEL".split()
)
"""Variables of families above that load nothing; with `=` at the end only when they are set to nothing."""

INERT_VARIABLES = frozenset(
    "LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI "
    "RUST_BACKTRACE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED "
    "LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY "
    "LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME".split()
)
"""Variables that name files of the system unless their values are plain."""

_INERT_VALUE = lazy_pattern(r"[A-Za-z0-9_.,@+-]*")
_TIME_ZONE = lazy_pattern(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")


def harmless(name: str, value: str | None) -> bool:
    """Whether setting a variable changes no program that runs; `value` is `None` where it is not known."""
    if name in INERT_VARIABLES:
        allowed = _TIME_ZONE if name == "TZ" else _INERT_VALUE
        return value is not None and allowed.fullmatch(value) is not None
    if name.islower() and not _LOWER.match(name):
        return True
    upper = name.upper()
    if upper in _FREE or (value == "" and upper + "=" in _FREE):
        return True
    if value == "cat" and upper in ("PAGER", "GIT_PAGER", "GH_PAGER", "AWS_PAGER", "MANPAGER"):
        return True
    return not (upper in _LOADERS or _PREFIXES.match(upper) or _PARTS.search(upper))


def names_a_loader(assignment: str) -> bool:
    """Whether the variable decides which code a program loads, so that anything may run."""
    name, _, value = assignment.partition("=")
    name = name.rstrip("+")
    upper = name.upper()
    return (
        upper in ("PATH", "ENV", "BASH_ENV", "IFS", "PS4", "SHELL")
        or upper.startswith(("LD_", "DYLD_"))
        or (upper not in INERT_VARIABLES and not harmless(name, value))
    )
