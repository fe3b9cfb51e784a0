"""Effects that were once reached by another spelling than the one looked for, by how they were hidden."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

BASH = [("allow", "Bash")]
NO_RM = [("deny", "Bash:rm *"), ("deny", "Bash:~rm *"), *BASH]
PATCH = "patch -p1 <<'E'\n--- a/.git/hooks/x\n+++ b/.git/hooks/x\n@@ -1 +1 @@\n-x\n+y\nE"


def allows(*programs: str) -> list[tuple[str, str]]:
    return [("allow", f"Bash:{program} *") for program in programs]


@pytest.fixture
def project(scene: Any) -> Any:
    scene.add("a.txt", "build/x", "p.sh", "docs/", "src/a.py", ".env", ".git/hooks/x")
    return scene


def asked(project: Any, rules: list[tuple[str, str]], lines: list[str], **more: Any) -> None:
    assert [line for line in lines if project.verdict(line, *rules, **more) == "allow"] == []


def free(project: Any, rules: list[tuple[str, str]], lines: list[str], **more: Any) -> None:
    assert [line for line in lines if project.verdict(line, *rules, **more) != "allow"] == []


@pytest.mark.parametrize(
    "line",
    [
        "echo x > .gi?/hooks/x",
        "echo x >> .gi[t]/hooks/*",
        "{ echo x; } > .gi?/hooks/x",
        "for i in 1; do echo x; done > .gi?/hook*/x",
        "sed -n 'w.git/hooks/y' a.txt",
        "sed 's/x/y/w.git/hooks/y' a.txt",
        "git init --template=docs",
        "git init --templ docs",
        "7z x -o.git/hooks a.7z",
        "npm pack --pack-destination .git/hooks",
        "crontab a.txt",
        "install -d .git/y",
        "cp --parents .git/hooks/x docs",
        PATCH,
    ],
)
@pytest.mark.parametrize(("rules", "more"), [(BASH, {}), ([], {"auto_allow": True})])
def test_a_protected_file_is_found_however_its_name_stands_in_the_line(
    line: str, rules: list[tuple[str, str]], more: dict[str, Any], project: Any
) -> None:
    asked(project, rules, [line], **more)


def test_bash_writes_where_a_wildcard_behind_a_redirect_leads(project: Any) -> None:
    for line in ("echo new > .gi?/hooks/x", "sed -n 'w.git/hooks/y' a.txt"):
        subprocess.run(["bash", "-c", line], cwd=project.workspace, check=True)
    hooks = project.workspace / ".git" / "hooks"
    assert ((hooks / "x").read_text(), (hooks / "y").exists()) == ("new\n", True)


def test_a_rule_for_edits_binds_a_wildcard_behind_a_redirect(project: Any) -> None:
    rules = [("deny", "Edit:docs/**"), ("allow", "Edit:{ws}/**"), *BASH]
    project.add("docs/a.md")
    assert project.verdict("echo x > doc?/a.md", *rules) == "deny"


class TestADeny:
    """What a program runs by an option, or reads as its program, may be what a rule denies."""

    def test_meets_a_program_glued_to_an_option(self, project: Any) -> None:
        asked(project, NO_RM, ["tar -Irm -xf x", "git grep -Orm x", "tar -Frm -cf x a.txt"])

    def test_may_meet_what_bash_finds_when_it_expands_a_target_again(self, project: Any) -> None:
        targets = (
            "'$(rm x)'",
            "\"'$(rm x)'\"",
            "'`rm x`'",
            "\\$\\(rm\\ x\\)",
            "$'$(rm x)'",
            '"$y"',
            "a'$(rm x)'",
            "'~/x'",
        )
        asked(project, NO_RM, [f"echo x >&{target}" for target in targets])
        asked(project, NO_RM, [f"{{ true; }} 1>&{target}" for target in targets])

    def test_may_meet_what_a_loop_goes_through(self, project: Any) -> None:
        words = ("<(rm x)", "a `rm x`", "${y:=`rm x`}", "a >(rm x) b", '"`rm x`"')
        asked(project, NO_RM, [f"for y in {word}; do \u00b2; done" for word in words])
        asked(project, NO_RM, [f"for y in {word}\ndo true\ndone | cat" for word in words])

    def test_may_meet_what_an_interpreter_is_fed(self, project: Any) -> None:
        interpreters = (
            "python3 | python3 - | python3 -u | perl | ruby | node | ed | psql | crontab - | make -f-"
        )
        lines = [f"printf x | {interpreter}" for interpreter in interpreters.split(" | ")]
        asked(project, NO_RM, lines)

    def test_does_not_meet_one_whose_program_is_named(self, project: Any) -> None:
        lines = [
            "python3 -m json.tool",
            "python3 -c 'print(1)'",
            "ruby -ne p",
            "node a.js",
            "psql -c 'select 1'",
        ]
        free(project, NO_RM, [f"cat a.txt | {line}" for line in lines])
        free(project, NO_RM, ["python3 - <<'E'\nprint(1)\nE"])


class TestTheLastQuestion:
    """It is asked about what is deleted, whatever names it and whatever deletes it."""

    LINES = (
        "rm -rf $(pwd)",
        "rm -rf `pwd`",
        "rm -rf ${HOME:?}",
        'rm -rf "${PWD%/}"',
        "rm -rf $OLDPWD",
        "rm -rf $(git rev-parse --show-toplevel)",
        "a=~; rm -rf $a",
        'd=$HOME; rm -rf "$d"',
        "a=$(pwd); b=$a; rm -rf ${b}",
        "export D=~; rm -rf $D",
        "ls -A | xargs rm -rf",
        "git ls-files | xargs rm",
        "echo ~ | xargs rm -rf",
        "xargs rm -rf <<< /",
        "rm -rf $(echo ~)",
        "rm -rf $(realpath .)",
        "rm -rf ${a:-$HOME}",
        'echo ~ | while read d; do rm -rf "$d"; done',
        'read d <<< ~; rm -rf "$d"',
        "for d in $HOME; do rm -rf $d; done",
        "set -- ~; rm -rf $1",
        "rm -rf ~+",
        "rm -rf ~root",
        "ls . | parallel rm -rf",
        "xargs rm -rf <<E\n/\nE",
        "rsync -a --delete build/ ~/",
        "rsync -a --delete build/ ./",
        "rsync -a --remove-source-files ./ /tmp/x",
        "tar --remove-files -cf /tmp/x.tar .",
        "zip -rm /tmp/x.zip ~",
        "trash ~",
        "gio trash .",
        "fd . ~ -x rm",
        "fd -X rm -rf",
    )

    @pytest.mark.parametrize("line", LINES)
    def test_is_asked(self, line: str, project: Any) -> None:
        asked(project, BASH, [line])
        asked(project, [], [line], mode="bypassPermissions")

    def test_is_not_asked_about_a_part(self, project: Any) -> None:
        lines = [
            'rm -rf "$PWD/build"',
            "rm -rf $(pwd)/build",
            "x=build; rm -rf $x",
            'for f in $(find . -name y); do rm -rf "$f"; done',
            'rm -rf "${OUT:-build}"',
            'echo build/x | while read d; do rm -rf "$d"; done',
            "rm -rf build~",
            "ls build | xargs rm",
            "echo build/x | xargs rm",
            "git ls-files | xargs wc -l",
            "rsync -a --delete src/ docs/",
            "rsync -a ./ docs/",
            "tar czf a.tgz .",
            "zip -r a.zip .",
            "fd -e pyc -x rm",
            "fd __pycache__ -X rm -rf",
        ]
        free(project, BASH, lines)


class TestAVariableBeforeMake:
    """Make takes the environment for variables of its own, and expands their values."""

    def test_with_a_text_that_runs_asks(self, project: Any) -> None:
        values = ["'$(shell touch RAN)'", "'`touch RAN`'", "'; touch RAN'", "$(cat a.txt)", "./p.sh"]
        asked(project, allows("make"), [f"X={value} make" for value in values])
        asked(project, allows("make"), ["RM=sh make", "x='$(y)' make -j4", "V=1 X='$(y)' time make"])

    def test_with_a_word_is_free(self, project: Any) -> None:
        free(project, allows("make"), ["DEBUG=1 make", "V=1 make -j4", "MODE=a,b make x", "LANG=C make"])

    def test_is_one_for_make_itself(self, project: Any) -> None:
        (project.workspace / "Makefile").write_text("X ?= 1\na:\n\t@echo $(X)\n")
        line = "X='$(shell touch RAN)' make a"
        subprocess.run(["sh", "-c", line], cwd=project.workspace, check=True, capture_output=True)
        assert (project.workspace / "RAN").exists()


class TestARepositoryWithoutAProtectedDirectory:
    """A directory that looks like a bare repository: git runs what its files name."""

    @pytest.fixture
    def planted(self, project: Any) -> Any:
        for name in ("objects", "refs"):
            (project.workspace / "evil" / name).mkdir(parents=True)
        (project.workspace / "evil" / "HEAD").write_text("ref: refs/heads/main\n")
        evil = project.workspace / "evil"
        settings = (
            "repositoryformatversion = 0",
            "bare = false",
            f"worktree = {evil}",
            f"fsmonitor = touch {project.workspace}/RAN #",
        )
        (evil / "config").write_text("\n\t".join(("[core]", *settings)) + "\n")
        subprocess.run(["git", "init", "-q", str(project.workspace)], check=True)
        return project

    def test_runs_a_program_of_its_configuration(self, planted: Any) -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(
            ["git", "-C", "evil", "status"], cwd=planted.workspace, env=environment, capture_output=True
        )
        assert (planted.workspace / "RAN").exists()

    def test_asks_under_a_rule_for_git(self, planted: Any) -> None:
        lines = [
            "git -C evil status",
            "git -C ./evil/refs log",
            "cd evil && git status",
            "git push ./evil HEAD",
            "git push evil HEAD",
            "git push file://{ws}/evil HEAD",
            "git push --repo=evil",
            "git fetch ./evil",
        ]
        asked(planted, allows("git", "cd"), [planted.fill(line) for line in lines])

    def test_leaves_other_directories_free(self, planted: Any) -> None:
        lines = [
            "git status",
            "git -C docs status",
            "cd docs && git log",
            "git push origin main",
            "git fetch",
        ]
        free(planted, allows("git", "cd"), lines)


class TestWritingElsewhere:
    """A rule with a wildcard does not reach beyond the workspace, however an option is spelled."""

    def test_asks(self, project: Any) -> None:
        lines = [
            "tar cgf ../y x a.txt",
            "tar -T a.txt -cf x",
            "tar cTf a.txt x",
            "tar -cf host:a b",
            "tar cfv host:a b",
            "tar --file host:a -c b",
            "npm run x --prefi ..",
            "npm test --pref=..",
            "gh run download -D ..",
            "gh release download --dir=..",
            "install -d ../x",
            "aws s3 cp s3://x ../y",
            "aws s3api get-object --bucket b --key k ../x",
            "git push ../x HEAD",
            "git push ~/x",
            "patch -p1 < a.txt",
            "patch < a.txt",
        ]
        asked(project, allows("tar", "npm", "gh", "install", "aws", "git", "patch"), lines)

    def test_leaves_the_workspace_free(self, project: Any) -> None:
        lines = [
            "tar -czf a.tgz docs",
            "tar xzf a.tgz -C docs",
            "npm run x --verbose",
            "gh run download -D docs",
            "install -d docs/x",
            "cp --parents src/a.py docs",
            "aws s3 cp s3://x docs/y",
            "aws s3 ls",
            "patch --dry-run -p1 < a.txt",
        ]
        free(project, allows("tar", "npm", "gh", "install", "aws", "cp", "patch"), lines)


def test_a_program_installed_as_a_link_into_the_workspace_is_not_its_name(project: Any) -> None:
    installed = project.root / "installed"
    installed.mkdir()
    for name, target in (("tool", "p.sh"), ("kept", ".venv/bin/kept")):
        project.add(target)
        (project.workspace / target).chmod(0o755)
        (installed / name).symlink_to(project.workspace / target)
    verdicts = [
        project.verdict(f"{name} x", *allows("tool", "kept"), search_path=(str(installed),))
        for name in ("tool", "kept")
    ]
    assert verdicts == ["ask", "allow"]


def test_the_configuration_of_cargo_is_a_file_of_the_build(project: Any) -> None:
    edit = {"path": ".cargo/config.toml", "content": "x"}
    assert project.explain("Write", edit, mode="acceptEdits").verdict == "ask"


class TestTheNumberOfACommit:
    """It is one word and no option, wherever it stands."""

    def test_is_an_argument_like_any_other(self, project: Any) -> None:
        lines = [
            "git show $(git rev-parse HEAD)",
            "git diff $(git merge-base main HEAD) HEAD",
            "git diff $(git merge-base HEAD main)..HEAD",
            'git show "$(git rev-parse --short HEAD~1)"',
        ]
        free(project, allows("git"), lines)

    def test_is_nothing_else_that_git_prints(self, project: Any) -> None:
        lines = [
            "git show $(git rev-parse --output=x)",
            "git show $(git rev-parse --abbrev-ref HEAD)",
            "git log $(git branch --show-current)",
            "git log $(git rev-parse $X)",
            "git log $(git rev-parse HEAD)$X",
            "git log $(git rev-parse HEAD; echo --output=x)",
            "git log $(GIT_DIR=x git rev-parse HEAD)",
            "git log $(git rev-parse HEAD < a.txt)",
            "git $(git rev-parse log)",
            "git log --output=$(git rev-parse HEAD)",
        ]
        asked(project, allows("git"), lines)


@pytest.mark.parametrize(
    "line",
    [
        "ls \"$(cat <<''\nc&${x-rm f} )\"",
        "ls \"$(cat <<'A' <<'B'\nx\nA\ny\nBecho &${x-rm f} a)\"",
        "ls \"$(cat <<''\nfoo\nrm f )\"",
        "ls $(cat <<'A'\nfoo\nArm f)",
        "ls <(cat <<''\nrm f )",
    ],
)
def test_a_deny_holds_behind_a_here_document_that_has_no_end(project: Any, line: str) -> None:
    """Bash prints a substitution and reads it again, and then runs what looked like the document."""
    asked(project, NO_RM[:1] + BASH, [line])


@pytest.mark.parametrize(
    "option", ["--smtp-server", "--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"]
)
def test_a_deny_holds_for_the_programs_that_send_mail(project: Any, option: str) -> None:
    rules = [("deny", "Bash:./p.sh*"), *BASH]
    asked(project, rules, [f"git send-email {option}=./p.sh x", f"git send-email {option} ./p.sh x"])
    free(project, BASH, ["git format-patch --to=a --cc=b -1 --stdout"])


@pytest.mark.parametrize(
    "line",
    [
        "git difftool -x./p.sh",
        "git difftool -x ./p.sh",
        "git filter-branch --tree-filter=./p.sh",
        "git mergetool --tool=./p.sh",
        "git web--browse --browser=./p.sh x",
        "git instaweb --httpd=./p.sh",
        "git daemon --access-hook=./p.sh",
        "git svn --authors-prog=./p.sh fetch",
        "gcc --wrapper=./p.sh -B. a.c",
        "gcc -B./p.sh a.c",
        "ncat --sh-exec=./p.sh h 1",
        "valgrind --db-command=./p.sh x",
        "ansible-playbook --vault-password-file=./p.sh x",
        "mosh --ssh=./p.sh h",
        "java -XX:OnError=./p.sh X",
        "java '-XX:OnOutOfMemoryError=./p.sh %p' X",
        "CVS_RSH=./p.sh cvs x",
        "split --filter=./p.sh a",
        "tar --rsh-command=./p.sh -cf a b",
        f"git filter-branch {'-f ' * 90}--tree-filter=./p.sh",
    ],
)
def test_a_deny_holds_for_what_stands_in_one_word_with_an_option(project: Any, line: str) -> None:
    asked(project, [("deny", "Bash:./p.sh*"), *BASH], [line])


def test_a_deny_is_not_seen_in_options_of_what_runs_nothing(project: Any) -> None:
    rules = [("deny", "Bash:rm *"), ("deny", "Bash:./p.sh*"), *BASH]
    free(project, rules, ["git log --grep=rm", "grep --file=./p.sh a.txt", "ls --color=auto", "git log -Srm"])
