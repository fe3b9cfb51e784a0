"""Commands that only read: which of them need no rule, and every way in which one of them does more."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

FILES = "src/app.py src/b.py README.md package.json log.txt sub/x.py .env .config/server.key notes.md".split()  # noqa: SIM905

FREE = [
    "ls -la src",
    "cat README.md",
    "cat src/*.py | head -3",
    "head -20 README.md",
    "tail -n 5 log.txt",
    "wc -l src/*.py",
    "sort -rnk2 log.txt | uniq -c",
    "grep -rn TODO src",
    "grep -n 'a b' README.md",
    "rg -n needle src",
    "rg needle",
    "rg --files | head",
    "find . -name '*.py'",
    "find src -type f -print0 | xargs -0 grep -l x",
    "find . -name '*.py' | xargs wc -l",
    "sed -n '1,9p' README.md",
    "awk 'NR>=2 {print $1}' log.txt",
    "awk -F: '{print $1}' log.txt",
    "jq '.a | keys[]' package.json",
    "jq .env package.json",
    "tree -L 2 src",
    "du -sh *",
    "stat README.md",
    "diff -u README.md notes.md",
    "git status",
    "git log --oneline -5",
    "git diff HEAD~1 -- src",
    "git show HEAD:README.md",
    "git branch -a",
    "git -C sub log -1",
    "git stash list",
    "git config --get user.name",
    "cd src && cat app.py",
    "echo $HOME $?",
    "[ -f README.md ] && echo yes",
    "test -d src || echo none",
    'for f in src/*.py; do wc -l "$f"; done',
    'while read -r line; do echo "$line"; done < log.txt',
    "timeout 5 cat README.md",
    "/bin/cat README.md",
    "cat < README.md",
    "cat README.md > /dev/null 2>&1",
    "cat <<'E'\nx\nE",
    "python3 --version",
    "node -v",
    "find . -name '*.py' -exec wc -l {} +",
    "find src -name '*.py' -exec grep -l x {} ';'",
    'while IFS= read -r line; do echo "$line"; done < log.txt',
    "files=$(find src -name '*.py'); echo \"$files\"",
    "shuf -n 3 log.txt",
    "command -v git",
    "echo a | tee /dev/null",
    'grep -rn "def " src --include=*.py',
    "ps aux | head",
    "ps -ef | grep node",
    "ps -eo pid,ppid,cmd --sort=-%mem | head",
    "ps -p 123 -o pid=,cmd=",
    "ss -tlnp",
    "expr 1 + 2",
    'while IFS=, read -r a; do echo "$a"; done < log.txt',
    "echo 1+2 | bc -l",
    "iconv -f latin1 -t utf8 log.txt",
    "pgrep -f node",
    "uv --version",
    "[[ -f README.md ]] && cat README.md",
    '[[ -n "$(git status --porcelain)" ]] && echo dirty',
    "numfmt --to=iec 1000",
    "getconf PAGE_SIZE",
    "tput cols",
    "lsblk -f",
    "arch",
    "vmstat 1 3",
    "who",
    "pstree -p",
    "locale -a",
    "ls | xargs -n1 echo",
]
"""Everyday lines in a workspace with these files."""

ASKED = [
    # an option that writes
    "sort -o README.md log.txt",
    "sort --output=x log.txt",
    "sort --outp=x log.txt",
    "sort -uox log.txt",
    "uniq log.txt README.md",
    "tree -o x",
    "tree -R -o x",
    "sed -i s/a/b/ README.md",
    "sed -n 'w out' README.md",
    "sed -n '/x/w out' README.md",
    "sed 's/a/b/w out' README.md",
    "sed --in-place=.bak s/a/b/ README.md",
    "sed -ni p README.md",
    "xxd README.md out",
    "xxd -r log.txt",
    "base64 README.md -o out",
    "file -C -m x",
    "find . -fprint out",
    "find . -fprintf out x",
    "find . -fls out",
    "git log --output=x",
    "git diff --output x",
    "git diff --outpu=x",
    "git branch new",
    "git branch -D main",
    "git branch -m a b",
    "git tag v1",
    "git remote add x y",
    "git remote set-url origin x",
    "git stash",
    "git stash drop",
    "git worktree add x",
    "git config user.name x",
    "git config --get-all http.extraheader",
    "git config --unset user.name",
    "git reflog expire --all",
    "git checkout .",
    "git symbolic-ref HEAD refs/heads/x",
    "git update-ref -d HEAD",
    "git notes add -m x",
    "echo x > README.md",
    "cat README.md | tee copy",
    "cat README.md >> src/app.py",
    "date -s 2020-01-01",
    "date 010100002020",
    "hostname evil",
    # an environment, in which keys may stand
    "ps e",
    "ps auxe",
    "ps -E",
    "ps -o pid,environ",
    "ps axeo cmd",
    "ps -axeo cmd",
    "ps -axefo cmd",
    "ps -uxeo cmd",
    "ps -o environ=",
    # what else lists processes
    "ss -K dst 10.0.0.1",
    "ss -D out",
    "ss -F names",
    "lsof +D /",
    "lsof README.md",
    "lsof -Dw",
    # a builtin that runs its arguments
    "jobs -x touch x",
    "arch -x86_64 touch x",
    # options that are not known: of getconf this one runs a program below a folder of its own
    "getconf -v ../../../../bin/touch x",
    "tput -S",
    "pgrep -F README.md",
    "lsblk --sysroot .",
    # what runs where a test says so
    "[[ -f README.md ]] && touch x",
    '[[ -n "$(touch x)" ]]',
    "[[ -v 'a[$(touch x)]' ]]",
    "[[ 'a[$(touch x)]' -eq 1 ]]",
    "iconv -o x log.txt",
    "IFS=/ read -r a < log.txt",
    "IFS=, ls",
    # a name that becomes an option of its own
    "grep -rn x src -*=y",
    "grep -rn x src --*=y",
    # an option that runs a program
    "sort --compress-program=./p log.txt",
    "sort --compress-program=* log.txt",
    "sort --output=* log.txt",
    "ls | xargs -n1 echo x && ls | xargs touch",
    "sort -S 1 --compress-prog ./p log.txt",
    "find . -exec touch x ;",
    "find . -execdir touch x +",
    "find . -ok touch x ;",
    "find . -delete",
    "rg --pre ./p x",
    "rg --pre=./p x",
    "rg --hostname-bin ./p x",
    "rg -z x",
    "fd -x touch x",
    "fd -X touch",
    "fd --exec touch",
    "git diff --ext-diff",
    "git log -p --ext-diff",
    "git show --textconv HEAD",
    "git log --show-signature",
    "git grep -O x",
    "git grep --open-files-in-pager=./p x",
    "git -c core.pager=./p log",
    "git -p log",
    "git --exec-path=. status",
    "git --git-dir=sub status",
    "git --config-env=core.pager=X log",
    "git difftool",
    "git bisect run ./p",
    "git archive --exec=./p HEAD",
    "git ls-remote ext::./p",
    "git fetch",
    "git lg",
    "awk 'BEGIN{system(\"id\")}'",
    "awk 'BEGIN{\"id\"|getline x}'",
    "awk '{print > \"out\"}' log.txt",
    "awk '{print | \"sh\"}' log.txt",
    "awk -f p.awk log.txt",
    "awk 'BEGIN{ARGV[1]=\"/etc/passwd\";ARGC=2}{print}'",
    "awk 'BEGIN{while((getline l < \"/etc/passwd\")>0)print l}'",
    "awk 'BEGIN{print ENVIRON[\"X\"]}'",
    "awk '{print}' FS=/etc/passwd",
    "awk '@include \"x\"' log.txt",
    "sed '1e id' README.md",
    "sed 's/a/id/e' README.md",
    "sed -f x README.md",
    "find . -exec uniq {} +",
    "find . -exec sort -o {} +",
    "find . -exec wc {} + -delete",
    "find . -exec wc {} ';' -exec rm {} ';'",
    "find . -exec sh -c id {} +",
    "find . -exec xxd {} +",
    "find . -execdir wc {} +",
    "find . -ok wc {} ';'",
    "find / -exec cat {} +",
    "find . -exec cat {} +",
    "find src | xargs uniq",
    "find src | xargs xxd",
    "tar xf archive.tar",
    "tar tf host:archive.tar",
    "tar tf archive.tar --to-command=./p",
    "tar tf archive.tar -I ./p",
    "tar -tcf archive.tar",
    "unzip archive.zip",
    "unzip -l archive.zip -d x",
    "shuf -o README.md log.txt",
    "shuf --random-source=/etc/passwd log.txt",
    "echo x | tee README.md",
    "npm --version",
    "cargo --version",
    "python -v",
    "while IFS=x read -r line; do ls; done < log.txt",
    "IFS= ls",
    "read PATH < log.txt; ls",
    "npm_config_script_shell=./p cat README.md",
    "http_proxy=x cat README.md",
    "xargs rm < log.txt",
    "find . | xargs rm",
    "find . | xargs sh -c id",
    "find . | xargs -I{} touch {}",
    "cat log.txt | xargs cat",
    "find . -printf '/etc/passwd\\n' | xargs cat",
    "find . -name x | grep -o '/etc/passwd' | xargs cat",
    "find . | sed s,^.,/etc, | xargs cat",
    "find . -print0 | xargs cat",
    "find src | xargs sort -o",
    "timeout 5 make",
    "nice ./x",
    "command rm x",
    "env ls",
    "env LD_PRELOAD=./x.so ls",
    "LD_PRELOAD=./x.so ls",
    "PAGER=./p git log",
    "GIT_EXTERNAL_DIFF=./p git diff",
    "GIT_PAGER=./p git log",
    "GIT_SSH_COMMAND=./p git status",
    "RIPGREP_CONFIG_PATH=x rg y",
    "PATH=. ls",
    "export GIT_EXTERNAL_DIFF=./p; git diff",
    "alias ls=rm; ls README.md",
    "hash -p ./p ls; ls",
    "enable -f ./x.so ls; ls",
    "ls() { rm x; }; ls",
    "eval ls",
    "source x; ls",
    "exec ls",
    "trap 'rm x' EXIT; ls",
    "./ls",
    "src/cat README.md",
    "less README.md",
    "man ls",
    "ls $(touch x)",
    "echo `touch x`",
    "cat <(touch x)",
    "printf -v x y",
    'printf "$X"',
    "test -v 'a[$(id)]'",
    "[ -v 'a[$(id)]' ]",
    "read -p x PATH",
    "read PATH",
    # what is not in the workspace
    "cat /etc/passwd",
    "cat ../x",
    "cat ~/.ssh/id_rsa",
    "ls /",
    "cd / && ls",
    "cd .. && cat x",
    "cd && ls",
    "cd - && ls",
    "find / -name x",
    "find .. -name x",
    "find -L . -name x",
    "find . -newer /etc/passwd",
    "find . -files0-from x",
    "grep -f /etc/passwd README.md",
    "grep -rn x /etc",
    "grep -r x ..",
    "rg x /etc",
    "rg -f /etc/passwd x",
    "rg -L x",
    "wc --files0-from=log.txt",
    "wc --files0-from log.txt",
    "sort --files0-from=log.txt",
    "sort -T /etc log.txt",
    "git diff --no-index README.md /etc/passwd",
    "git diff /etc/passwd /etc/hosts",
    "git -C / status",
    "git -C .. log",
    "git blame --contents /etc/passwd README.md",
    "git grep --no-index x",
    "git diff -O/etc/passwd",
    "git rev-parse --parseopt",
    "jq . /etc/passwd",
    "jq -f x package.json",
    "jq --slurpfile a /etc/passwd . package.json",
    "jq --rawfile a /etc/passwd . package.json",
    "jq -L . 'import \"x\" as x; .' package.json",
    "jq -n env",
    "jq -n '$ENV.X'",
    "diff README.md /etc/passwd",
    "diff -l README.md log.txt",
    "cat < /etc/passwd",
    "while read -r line; do echo $line; done < /etc/passwd",
    "md5sum -c log.txt",
    "sha256sum --check log.txt",
    "date -f /etc/passwd",
    "date -r /etc/passwd",
    "stat /etc/passwd",
    "cat $X",
    'cat "$X"',
    "ls $X",
    'for f in $(cat log.txt); do cat "$f"; done',
    'head -n 5 "$X"',
    "env",
    "printenv",
    # what holds credentials
    "cat .env",
    "cat ./sub/../.env",
    "cat .e*",
    "head .env README.md",
    "grep -rn x .",
    "grep -R x .",
    "rg -u x",
    "rg --hidden x",
    "rg x .config",
    "cat .config/server.key",
    "git show HEAD:.env",
    "git diff -- .env",
    "find . -type f | xargs cat",
    "find . -name '*.key' | xargs cat",
    "find . -name '.env' -o -name '*.py' | xargs cat",
    "diff -r . src",
    "git grep -n x",
    "sort .env",
    "sed -n 1p .env",
    "awk 1 .env",
    "jq -R . .env",
    "cat < .env",
    "xxd .env",
    "cd .config && cat server.key",
]
"""Each differs from an everyday line by one hostile detail."""


@pytest.fixture
def place(scene: Any) -> Any:
    """A repository with the files, one of them with credentials."""
    scene.add(*FILES)
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    return scene


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("line", FREE)
def test_it_only_reads_and_needs_no_rule(line: str, place: Any) -> None:
    explained = place.explain("Bash", {"command": line})
    assert explained.verdict == "allow", explained.reason


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("line", ASKED)
def test_it_does_more_and_asks(line: str, place: Any) -> None:
    assert place.verdict(line) == "ask"


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("line", FREE)
def test_without_the_setting_it_asks(line: str, place: Any) -> None:
    assert place.verdict(line, auto_allow_read_only=False) == "ask"


def verdict(place: Any, line: str, *rules: tuple[str, str], **more: Any) -> str:
    return str(place.verdict(line, *rules, **more))


class TestRules:
    """What people wrote counts before it."""

    def test_asks_and_denies_for_commands_hold(self, place: Any) -> None:
        assert verdict(place, "cat README.md", ("deny", "Bash:cat *")) == "deny"
        assert verdict(place, "cat README.md", ("ask", "Bash:cat *")) == "ask"
        assert verdict(place, "cat README.md", ("ask", "Bash")) == "ask"
        assert verdict(place, "cat README.md", ("deny", "Bash")) == "deny"
        assert verdict(place, "ls | cat", ("deny", "Bash:~cat *")) == "deny"
        assert verdict(place, "cat README.md", managed=[("ask", "Bash:cat *")]) == "ask"
        assert verdict(place, "cat README.md", project=[("deny", "Bash:cat *")]) == "deny"

    def test_rules_for_reading_hold(self, place: Any) -> None:
        assert verdict(place, "cat notes.md", ("deny", "Read:notes.md")) == "deny"
        assert verdict(place, "cat notes.md", ("ask", "Read:notes.md")) == "ask"
        assert verdict(place, "grep -r x src", ("deny", "Read:src/app.py")) != "allow"
        assert verdict(place, "rg x", ("deny", "Read:src/**")) != "allow"
        assert verdict(place, "find . -name '*.py' | xargs cat", ("deny", "Read:src/app.py")) != "allow"
        assert verdict(place, "cat README.md", ("deny", "Read")) == "ask"
        assert verdict(place, "echo x", ("deny", "Read:notes.md")) == "allow"

    def test_a_rule_that_allows_reading_lifts_the_guard_of_credentials(self, place: Any) -> None:
        assert verdict(place, "cat .env", ("allow", "Read:.env")) == "allow"

    def test_what_only_reads_may_stand_beside_what_a_rule_allows(self, place: Any) -> None:
        assert verdict(place, "make test 2>&1 | tail -3", ("allow", "Bash:make *")) == "allow"
        assert verdict(place, "make test | tee log", ("allow", "Bash:make *")) == "ask"

    def test_directories_beside_the_workspace_count_as_inside(self, place: Any) -> None:
        other = place.root / "other"
        other.mkdir()
        (other / "a").write_text("x")
        assert verdict(place, f"cat {other}/a") == "ask"
        assert verdict(place, f"cat {other}/a", roots=(other,)) == "allow"


class TestLinks:
    """A name inside the workspace may be a file outside."""

    def test_a_link_out_of_the_workspace_asks(self, place: Any) -> None:
        outside = place.root / "outside"
        outside.write_text("x")
        place.link("{ws}/src/leak.py", "{tmp}/outside")
        for line in ("cat src/leak.py", "cat src/*.py", "grep -R x src", "find src | xargs cat", "wc src/*"):
            assert verdict(place, line) == "ask", line
        assert verdict(place, "grep -r x src") == "allow"

    def test_names_that_become_several_words_ask(self, place: Any) -> None:
        place.add("src/a b.py")
        assert verdict(place, "find src -name '*.py' | xargs wc -l") == "ask"
        assert verdict(place, "find src -name '*.py' -print0 | xargs -0 wc -l") == "allow"

    def test_a_wildcard_that_becomes_an_option_asks(self, place: Any) -> None:
        place.add("src/-o")
        assert verdict(place, "cd src && sort *") == "ask"

    def test_a_hidden_file_that_is_not_ignored_again_counts(self, place: Any) -> None:
        assert verdict(place, "rg x") == "allow"
        (place.workspace / ".ignore").write_text("!.env\n")
        assert verdict(place, "rg x") == "ask"


class TestRepositories:
    """Git runs what the configuration of a repository names."""

    @pytest.mark.parametrize(
        "text",
        [
            "[core]\n\tfsmonitor = ./p\n",
            "[core]\n\tpager = ./p\n",
            "[core] fsmonitor = ./p\n",
            '[diff "x"]\n\ttextconv = ./p\n',
            "[diff]\n\texternal = ./p\n",
            '[filter "x"]\n\tclean = ./p\n',
            "[include]\n\tpath = x\n",
            '[includeIf "gitdir:."]\n\tpath = x\n',
            "[alias]\n\tlog = !./p\n",
            "[gpg]\n\tprogram = ./p\n",
            "[core]\n\tsshCommand = ./p\n",
            "[core]\n\tworktree = /\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[CORE]\n\tFSMonitor = ./p\n",
        ],
    )
    def test_a_configuration_that_names_a_program_asks(self, text: str, place: Any) -> None:
        config = Path(place.workspace, ".git", "config")
        config.write_text(config.read_text() + text)
        for line in ("git status", "git diff", "git log -1", "cd src && git status", "git -C src status"):
            assert verdict(place, line) == "ask"

    def test_a_repository_inside_counts_where_git_would_find_it(self, place: Any) -> None:
        inner = Path(place.workspace, "sub")
        subprocess.run(["git", "init", "-q", "--bare", str(inner / "bare")], check=True)
        config = inner / "bare" / "config"
        config.write_text(config.read_text() + "[core]\n\tfsmonitor = ./p\n")
        assert verdict(place, "git status") == "allow"
        assert verdict(place, "cd sub/bare && git status") == "ask"
        assert verdict(place, "git -C sub/bare status") == "ask"

    def test_a_hook_on_the_index_asks(self, place: Any) -> None:
        hook = Path(place.workspace, ".git", "hooks", "post-index-change")
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n")
        assert verdict(place, "git status") == "ask"

    def test_repositories_within_a_repository_ask(self, place: Any) -> None:
        inner = Path(place.workspace, "inner")
        subprocess.run(["git", "init", "-q", str(inner)], check=True)
        author = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        commit = ["git", "-C", str(inner), *author, "commit", "-q", "--allow-empty", "-m", "x"]
        subprocess.run(commit, check=True)
        subprocess.run(["git", "-C", str(place.workspace), "add", "inner"], check=True, capture_output=True)
        assert verdict(place, "git status") == "ask"

    @pytest.mark.parametrize(
        "text",
        [
            '[remote "origin"]\n\turl = https://me:abcdef123456@h.example/x\n',
            '[remote "origin"]\n\turl = https://ghp_0123456789abcdefghij@h.example/x\n',
            '[remote "origin"]\n\tpushurl = "https://:abcdef123456@h.example/x"\n',
        ],
    )
    def test_an_address_with_a_password_is_shown_to_nobody_unasked(self, text: str, place: Any) -> None:
        config = Path(place.workspace, ".git", "config")
        shown = ("git remote -v", "git remote get-url origin", "cat .git/config", "grep -rn url .git")
        assert [verdict(place, line) for line in shown] == ["allow"] * 4
        plain = config.read_text()
        config.write_text(plain + text)
        assert [verdict(place, line) for line in shown] == ["ask"] * 4
        assert [verdict(place, line) for line in ("git remote", "git status", "rg x src")] == ["allow"] * 3
        config.write_text(plain + '[remote "origin"]\n\turl = https://me@dev.example/x\n')
        assert [verdict(place, line) for line in shown] == ["allow"] * 4
        own = Path(place.home, ".gitconfig")
        own.write_text('[url "https://me:abcdef123456@h.example/"]\n\tinsteadOf = https://h.example/\n')
        assert [verdict(place, line) for line in shown] == ["ask", "ask", "allow", "allow"]

    def test_the_configuration_of_a_clone_is_harmless(self, place: Any) -> None:
        config = Path(place.workspace, ".git", "config")
        more = (
            '[remote "origin"]\n\turl = https://h.example/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        )
        config.write_text(config.read_text() + more + '[branch "main"]\n\tremote = origin\n')
        assert verdict(place, "git status") == "allow"


def test_nothing_that_runs_its_arguments_is_free_whatever_they_are() -> None:
    """What is known to run others, anywhere in this package, is in no table of what only prints."""
    from caliban_permissions.commands.wrappers import SHELLS, WRAPPERS
    from caliban_permissions.readonly import table

    assert table.FREE.isdisjoint(WRAPPERS | SHELLS)
