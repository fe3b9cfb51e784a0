"""Only variables that change nothing may stand before an allowed command."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *", "allow Bash:rg *", "allow Bash:npm test", "allow Bash:less *")
RULES_2 = ("allow Bash:git *",)
RULES_3 = (
    "allow Bash:git *",
    "allow Bash:rg *",
    "allow Bash:less *",
    "allow Bash:cat *",
    "allow Bash:make *",
    "allow Bash:cargo *",
    "allow Bash:python3 -m pytest *",
    "allow Bash:node a.js *",
    "allow Bash:ls *",
    "allow Bash:npm test",
)
ROWS = {
    "s128": Row(RULES_1, {"command": "GIT_EXTERNAL_DIFF=./p.sh git diff"}, "ask"),
    "s130": Row(RULES_1, {"command": "GIT_EDITOR=./p.sh git commit --amend"}, "ask"),
    "s133": Row(RULES_1, {"command": "PATH=.:$PATH git status"}, "ask"),
    "s134": Row(RULES_1, {"command": "LD_PRELOAD=./x.so git status"}, "ask"),
    "s135": Row(RULES_1, {"command": 'BASH_ENV=./e.sh bash -c "git status"'}, "ask"),
    "s137": Row(RULES_1, {"command": 'NODE_OPTIONS="-r ./m.js" npm test'}, "ask"),
    "s138": Row(RULES_1, {"command": "PYTHONPATH=sp python3 -c pass"}, "ask"),
    "s139": Row(RULES_1, {"command": 'LESSOPEN="|./p.sh %s" less a.txt'}, "ask"),
    "s140": Row(RULES_1, {"command": "ENV=x touch /tmp/PWNED"}, "ask"),
    "s141": Row(
        RULES_1, {"command": "env 'BASH_FUNC_git%%=() { touch /tmp/PWNED; }' bash -c 'git status'"}, "ask"
    ),
    "s142": Row(RULES_2, {"command": "LC_ALL=C git log -1"}, "allow"),
}
SIBLINGS = [
    *lines(
        RULES_3,
        "ask",
        (
            "GIT_SSH=./p.sh git fetch",
            "GIT_SSH_COMMAND=./p.sh git fetch",
            "GIT_PAGER=./p.sh git log",
            "PAGER=./p.sh git log",
            "GIT_PROXY_COMMAND=./p.sh git fetch",
            "GIT_ASKPASS=./p.sh git fetch",
            "SSH_ASKPASS=./p.sh git fetch",
            "GIT_SEQUENCE_EDITOR=./p.sh git rebase -i",
            "EDITOR=./p.sh git commit",
            "VISUAL=./p.sh git commit",
            "GIT_DIR=x git status",
            "GIT_WORK_TREE=/ git status",
            "GIT_CONFIG=x git status",
            "GIT_CONFIG_GLOBAL=x git status",
            "GIT_CONFIG_SYSTEM=x git status",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=x git log",
            "GIT_CONFIG_PARAMETERS=x git log",
            "GIT_EXEC_PATH=x git log",
            "GIT_TEMPLATE_DIR=x git init",
            "GIT_TRACE=/tmp/PWNED git log",
            "GIT_TRACE2=/tmp/x git log",
            "GIT_INDEX_FILE=/x git add a",
            "GIT_OBJECT_DIRECTORY=x git log",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES=x git log",
            "GIT_NAMESPACE=x git log",
            "GIT_CEILING_DIRECTORIES=x git log",
            "GIT_ATTR_SOURCE=x git log",
            "LD_LIBRARY_PATH=. git log",
            "LD_AUDIT=./x git log",
            "DYLD_INSERT_LIBRARIES=x git log",
            "PATH=. git log",
            "PATH+=:. git log",
            "IFS=x git log",
            "SHELL=./p.sh git log",
            "SHELLOPTS=xtrace git log",
            "BASHOPTS=x git log",
            "PS4=x git log",
            "ENV=x git log",
            "HOME=/tmp/evil git log",
            "XDG_CONFIG_HOME=x git log",
            "PYTHONSTARTUP=x python3 -m pytest",
            "PYTHONPATH=x python3 -m pytest",
            "PYTHONHOME=x python3 -m pytest",
            "PYTHONWARNINGS=x python3 -m pytest",
            "PYTEST_ADDOPTS=x python3 -m pytest",
            "PYTEST_PLUGINS=x python3 -m pytest",
            "NODE_PATH=x node a.js",
            "NODE_OPTIONS=x npm test",
            "npm_config_script_shell=x npm test",
            "NPM_CONFIG_SCRIPT_SHELL=x npm test",
            "MAKEFLAGS=x make",
            "MAKEFILES=x make",
            "SHELL=x make",
            "CC=./p.sh make",
            "CARGO_HOME=x cargo build",
            "RUSTC=./p.sh cargo build",
            "RUSTC_WRAPPER=./p.sh cargo build",
            "RUSTFLAGS=x cargo build",
            "CARGO_BUILD_RUSTC=x cargo build",
            "RUSTUP_TOOLCHAIN=x cargo build",
            "LESSOPEN='",
            "LESSCLOSE=x less a",
            "LESS=+!x less a",
            "LESSKEY=x less a",
            "RIPGREP_CONFIG_PATH=x rg a",
            "GLOBIGNORE=x ls *",
            "LC_ALL=C LD_PRELOAD=x git log",
            "A=1 GIT_PAGER=x git log",
            "GIT_PAGER= GIT_EXTERNAL_DIFF=./p.sh git log",
            "export PATH=.; git log",
            "export GIT_PAGER=x && git log",
            "declare -x GIT_PAGER=x; git log",
            "typeset -x PATH=.; git log",
            "readonly PATH=.; git log",
            "PATH=.; git log",
            "env PATH=. git log",
            "env GIT_PAGER=x git log",
            "env -i git log",
            "env -u PATH git log",
            "env -C /tmp git log",
            "GCONV_PATH=. git log",
            "LOCPATH=. git log",
            "TERMINFO=. less a",
            "TERMCAP=x less a",
            "OPENSSL_CONF=x git fetch",
            "CURL_HOME=x git fetch",
            "SSL_CERT_FILE=x git fetch",
            "http_proxy=x git fetch",
            "HTTPS_PROXY=x git fetch",
            "ALL_PROXY=x git fetch",
            "JAVA_TOOL_OPTIONS=x make",
            "PERL5OPT=x git log",
            "PERL5LIB=x git log",
            "RUBYOPT=x make",
            "RUBYLIB=x make",
            "BASH_ENV=x make",
            "GOFLAGS=x make",
            "CDPATH=/ git log",
            "TMPDIR=/x git log",
            "MALLOC_TRACE=x git log",
            "GIT_EXTERNAL_DIFF+=x git diff",
            "LD_PRELOAD[0]=x git log",
            " LD_PRELOAD=x cat",
        ),
    ),
    *lines(
        RULES_3,
        "allow",
        (
            "LC_ALL=C git log",
            "LANG=C git log",
            "TZ=UTC git log",
            "NO_COLOR=1 git log",
            "CI=1 npm test",
            "TERM=dumb git log",
            "LC_ALL=C TZ=UTC git log",
            "LC_CTYPE=C.UTF-8 git log",
            "LANGUAGE=en git log",
            "FORCE_COLOR=1 npm test",
            "CI=true npm test",
            "COLUMNS=80 git log",
        ),
    ),
]


@pytest.mark.parametrize("row", rows(ROWS))
def test_a_row(row: Row, place: Verdicts) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("row", SIBLINGS)
def test_a_sibling(row: Row, place: Verdicts) -> None:
    place.check(row)


@pytest.mark.parametrize("name", ["s128", "s134", "s138"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
