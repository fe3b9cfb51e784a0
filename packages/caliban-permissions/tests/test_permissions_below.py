"""Rules for files hold for what a line reaches without naming it: below directories, and in repositories.

What is expected stands beside a line as what the programs really do; where they are installed, they are run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Rule, RuleSet
from caliban_permissions.commands.below import Below
from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.commands.files import STAYS
from caliban_permissions.paths import PathContext
from caliban_permissions.rules.chain import RuleChain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")

MARK = "7f3a-told-91bc"
READ_RULES = ("Read(./.env)", "Read(secrets/**)", "Read(**/*.pem)", "Read(~/.ssh/**)")
EDIT_RULES = ("Edit(migrations/**)", "Edit(./.env)")

READS: Mapping[str, tuple[str, ...]] = {
    "a search of a directory": (
        "grep -r x .",
        "grep -rn x",
        "grep -rne x",
        "grep --recursive x ./",
        "grep -d recurse x .",
        "grep -r x ..",
        "grep -r x ~",
        "grep -R x src",
        "rgrep x",
        "grep -rc x deploy",
        "grep -r x *",
        "grep -r --exclude-dir=secrets x .",
        "grep -r --exclude=.env x .",
    ),
    "a search that leaves out less": ("rg --hidden x", "rg -. x .", "rg -uuu x", "rg -L x src", "rg -u x"),
    "files that are found": (
        "find . -exec cat {} +",
        "find . -type f -exec head -1 {} \\;",
        "find -L src -type f -exec cat {} +",
        "find src -exec cat {} +",
        "find . -name '*.pem' -exec cat {} +",
        "find . -type f | xargs cat",
        "find . -type f -print0 | sort -z | xargs -0 cat",
        "find . -type f | xargs -I% head -1 %",
        "ls -A | xargs cat",
        "ls src | xargs -I% cat src/%",
        "git ls-files | xargs cat",
        "git ls-files -o | xargs cat",
        "xargs cat < list",
        "cat list | xargs cat",
        "find . -not -not -name .env -exec cat {} +",
        "find . ! \\( -name x \\) -type f -exec cat {} +",
        "find . -name '*.md' -exec cat {} + -o -name .env -exec cat {} +",
        "find . -type d -name secrets -exec grep -r x {} \\;",
        "find . -maxdepth 1 -type d | xargs grep -r x",
        "ls | xargs grep -r x",
        "xargs -a list cat",
        "find . -type f | tar cf ../x.tar -T -",
    ),
    "archives and copies": (
        "tar c .",
        "tar czf ../x.tgz .",
        "tar -C .. -cf ../x.tar ws",
        "zip -r ../x.zip .",
        "zip -r ../x.zip src",
        "cp -r . ../copy",
        "cp -a deploy ../copy",
        "cp -rL src ../copy",
        "cp -t .. -r deploy",
        "rsync -a . ../copy",
        "scp -r . host:x",
        "mv deploy ../gone",
        "7z a ../x.7z .",
        "aws s3 sync . s3://b",
    ),
    "two directories": ("diff -rN deploy empty", "diff -ruN . empty"),
    "what git holds": (
        "git grep x",
        "git grep x HEAD",
        "git grep --untracked x",
        "git grep --no-index x",
        "git -C deploy grep x",
        "git show HEAD:deploy/a.pem",
        "git show",
        "git log -p",
        "git log -1 --patch -- deploy",
        "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "git format-patch --root --stdout",
        "git archive HEAD",
        "git worktree add ../other",
    ),
    "many files by a wildcard": ("head -c 1 */*", "cat * */*", "bash -c 'cat */*'", "sh -c 'cat .e*'"),
    "a line within a line": (
        "bash -c 'grep -r x .'",
        "sh -c 'cd src; grep -r x ..'",
        "env -C .. grep -r x ws",
        "timeout 9 grep -r x .",
        'x=$(grep -r x .); echo "$x"',
        "sh -c 'find . -type f | xargs cat'",
        "cd src && grep -r x ..",
        "{ grep -r x .; }",
    ),
}
"""Lines that read something of what `READ_RULES` deny."""

LEAVES = (
    "grep -r x src docs",
    "grep -rn x lib",
    "grep -r --include='*.py' x .",
    "grep -r --exclude=.env --exclude-dir=secrets --exclude='*.pem' x .",
    "cat README.md | grep x",
    "rg x src",
    "rg -tpy x",
    "rg -g '*.py' x",
    "rg -g '!*.pem' x",
    "rg --files",
    "rg x docs | head",
    "find . -name '*.py' -exec cat {} +",
    "find src -type f | xargs cat",
    "find . -type f | xargs ls -l",
    "find . -name .env",
    "find . -maxdepth 1 -name '*.md' -exec cat {} +",
    "find . -not -path './secrets/*' -not -name .env -not -name '*.pem' -type f -exec cat {} +",
    "find . \\( -path ./secrets -o -name .env -o -name '*.pem' \\) -prune -o -type f -print | xargs cat",
    "git ls-files '*.py' | xargs wc -l",
    "git ls-files src | xargs cat",
    "rg -l x src | xargs cat",
    "tar cf ../x.tar src docs",
    "tar tf a.tar",
    "zip -r ../x.zip docs",
    "cp -r docs ../copy",
    "cp -R src ../copy",
    "mv docs docs2",
    "diff -r lib docs",
    "git grep x -- src",
    "git grep x HEAD -- src",
    "git diff",
    "git diff -- src",
    "git diff --stat HEAD",
    "git show --stat",
    "git show HEAD:README.md",
    "git log --oneline -5",
    "git log -p -- src",
    "cat src/*.py",
    "ls -R",
    "cd src && grep -rn x .",
    "sh -c 'cd docs && grep -r x guide.md'",
)
"""Lines that read nothing of it, though it lies below where they are or what they name."""

WRITES: Mapping[str, tuple[str, ...]] = {
    "what is deleted and moved": (
        "rm -rf ./migrations/../migrations",
        "rm -r ../ws/migrations",
        "rm -f */*.py",
        "rm -rf $(ls)",
        "mv migrations other",
        "mv -t .. migrations",
        "find . -type f -delete",
        "find . -name '*.py' -exec rm {} +",
        "find . -name '*.py' | xargs rm",
        "ls migrations/*.py | xargs rm",
        "ls | xargs rm -rf",
        "find . -name tree -exec rm -rf {} +",
        "xargs -a list rm",
        'for d in */; do rm -rf "$d"; done',
        "find . -path './migrations/*' -exec rm {} +",
        "tar cf ../x.tar --remove-files migrations",
        "zip -rm ../x.zip migrations",
        "trash migrations",
        "rsync -a --delete docs/ ./",
        "rsync -a --remove-source-files migrations ../x",
    ),
    "what is changed": (
        "chmod -R u+x .",
        "chown -R x .",
        "sed -i s/x/y/ */*.py",
        "find . -name '*.py' -exec sed -i s/x/y/ {} +",
        "git ls-files | xargs sed -i s/x/y/",
        "rg -l x | xargs sed -i s/x/y/",
        "gzip -r migrations",
        "black .",
        "ruff check --fix .",
    ),
    "what takes another's place": (
        "cp -r tree/. .",
        "cp -rT tree .",
        "rsync -a tree/ .",
        "tar xf a.tar",
        "unzip -o a.zip",
        "patch -p1 < bad.diff",
        "patch -p1 -i bad.diff",
        "cat bad.diff | patch -p1",
        "git apply bad.diff",
        "git apply < bad.diff",
    ),
    "the working tree of git": (
        "git checkout -- .",
        "git checkout .",
        "git checkout other",
        "git checkout other -- .",
        "git checkout -b new other",
        "git checkout -f",
        "git switch other",
        "git restore .",
        "git restore --source=other .",
        "git restore -W -S .",
        "git stash",
        "git stash -u",
        "git stash -- migrations",
        "git rebase other",
        "git cherry-pick other",
        "git revert other",
        "git reset --hard other~0",
        "git tag z other && git checkout z",
        "git fetch && git merge same",
        "sh -c 'git branch -f same other; git switch same'",
        "cd src && git stash",
        "GIT_DIR=../x git checkout same",
        "env GIT_WORK_TREE=. git switch same",
        "git --git-dir ../x checkout same",
        "git switch same | git branch -f same other",
        "git reset --hard",
        "git reset --hard other",
        "git clean -fdx",
        "git clean -fd migrations",
        "git merge other",
        "git pull",
        "git rm -r .",
        "git mv migrations other",
        "git read-tree -um other",
        "git -C src checkout -- ..",
    ),
    "a line within a line": (
        "bash -c 'rm */*.py'",
        "sh -c 'cd migrations; rm *.py'",
        "env -C .. rm -rf ws/migrations",
        "sudo git clean -fdx",
        "true && git stash",
    ),
}
"""Lines that change something of what `EDIT_RULES` deny."""

KEEPS = (
    "rm -rf docs build",
    "rm -f *.md",
    "mv src src2",
    "find . -name '*.md' -delete",
    "find src -type f -exec rm {} +",
    "find docs -type f | xargs rm",
    "git ls-files src | xargs sed -i s/x/y/",
    "chmod -R u+x src",
    "chmod +x README.md",
    "cp -r docs/. src",
    "cp -r lib/. .",
    "rsync -a --delete docs/ src/",
    "tar xf a.tar -C docs",
    "unzip -l a.zip",
    "patch -p1 -i good.diff",
    "git apply good.diff",
    "git apply --check bad.diff",
    "git checkout -- src",
    "git checkout src",
    "git checkout same",
    "git checkout -b new same",
    "git switch same",
    "git switch -c new main",
    "git merge same",
    "git rebase same",
    "git cherry-pick same",
    "git checkout none",
    "git stash pop",
    "git stash push -- src",
    "git status && git switch same",
    "git checkout -b new",
    "git switch -c new",
    "git restore src",
    "git restore --staged .",
    "git stash list",
    "git reset",
    "git reset --soft HEAD",
    "git clean -n",
    "git clean -fd docs",
    "git rm -r --cached src",
    "git add -A",
    "git commit -qam x",
    "git merge --abort",
    "git bisect start",
    "black src",
    "cd src && rm -f *.py",
)
"""Lines that change nothing of it."""


@pytest.fixture
def project(scene: Any) -> Any:
    """A repository with what the rules mean, some of it tracked, and links that lead to it."""
    for name in "README.md src/app.py src/util.py docs/guide.md lib/x.txt".split():  # noqa: SIM905
        write(scene, name, "x\n")
    write(scene, ".gitignore", ".env\nsecrets/\n")
    write(scene, "deploy/a.pem", f"x {MARK}\n")
    write(scene, "migrations/1.py", "x\n")
    scene.add("empty/sub/")
    git(scene, "init", "-q", "-b", "main")
    git(scene, "add", ".")
    git(scene, "commit", "-qm", "one")
    for branch, name in (("other", "migrations/1.py"), ("same", "src/util.py")):
        git(scene, "checkout", "-qb", branch, "main")
        write(scene, name, "y\n")
        git(scene, "commit", "-qam", branch)
    git(scene, "checkout", "-q", "main")
    write(scene, "migrations/1.py", "x, and more\n")
    write(scene, "migrations/new.py", "x\n")
    for name in (".env", "secrets/key"):
        write(scene, name, f"x {MARK}\n")
    write(scene, "tree/migrations/1.py", "y\n")
    write(scene, "list", ".env\n")
    for name, changed in (("bad.diff", "migrations/1.py"), ("good.diff", "src/app.py")):
        write(scene, name, f"--- a/{changed}\n+++ b/{changed}\n@@ -1 +1 @@\n-x\n+y\n")
    (scene.workspace / "pub").symlink_to("secrets")
    (scene.workspace / "src" / "leak").symlink_to("../.env")
    (scene.home / ".ssh").mkdir()
    (scene.home / ".ssh" / "id").write_text(f"x {MARK}\n")
    return scene


def write(scene: Any, name: str, text: str) -> None:
    path = scene.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(scene: Any, *words: str) -> None:
    settings = ("-c", "user.name=x", "-c", "user.email=x@x")
    subprocess.run(["git", "-C", str(scene.workspace), *settings, *words], check=True, capture_output=True)


def _lines(table: Mapping[str, tuple[str, ...]]) -> list[Any]:
    pairs = ((kind, line) for kind, lines in table.items() for line in lines)
    return [pytest.param(kind, line, id=ascii(line)[1:-1][:60]) for kind, line in pairs]


def rules(action: str, patterns: tuple[str, ...]) -> list[tuple[str, str]]:
    return [*((action, pattern) for pattern in patterns), ("allow", "Bash"), ("allow", "Write")]


@pytest.mark.parametrize(("kind", "line"), _lines(READS))
@pytest.mark.parametrize("action", ["deny", "ask"])
def test_a_rule_for_reading_means_what_a_line_reaches(
    kind: str, line: str, action: str, project: Any
) -> None:
    assert project.verdict(line, *rules(action, READ_RULES)) != "allow", kind


@pytest.mark.parametrize("line", LEAVES)
def test_a_line_that_leaves_out_what_a_rule_means_is_let_by(line: str, project: Any) -> None:
    explained = project.explain("Bash", {"command": line}, *rules("deny", READ_RULES))
    assert explained.verdict == "allow", explained.reason


@pytest.mark.parametrize(("kind", "line"), _lines(WRITES))
@pytest.mark.parametrize("action", ["deny", "ask"])
def test_a_rule_for_editing_means_what_a_line_changes(
    kind: str, line: str, action: str, project: Any
) -> None:
    assert project.verdict(line, *rules(action, EDIT_RULES)) != "allow", kind


@pytest.mark.parametrize("line", KEEPS)
def test_a_line_that_changes_nothing_of_it_is_let_by(line: str, project: Any) -> None:
    explained = project.explain("Bash", {"command": line}, *rules("deny", EDIT_RULES))
    assert explained.verdict == "allow", explained.reason


@pytest.mark.parametrize("line", ["grep -r x .", "rg --hidden x", "tar c .", "git grep x", "cp -r . ../copy"])
def test_what_is_surely_read_is_denied_and_the_reason_names_it(line: str, project: Any) -> None:
    decision = project.decide("Bash", {"command": line}, *rules("deny", READ_RULES))
    program = line.partition(" ")[0]
    assert decision.action == "deny"
    assert decision.match is not None and decision.match.pattern in READ_RULES
    assert f"`{program}` takes in what is below `.`" in decision.reason


@pytest.mark.parametrize("line", ["git log -p", "cat list | xargs cat", "git switch other", "rm -rf $(ls)"])
def test_what_may_be_reached_is_asked_about_and_by_no_mode_answered(line: str, project: Any) -> None:
    both = rules("deny", (*READ_RULES, *EDIT_RULES))
    assert project.verdict(line, *both) == "ask"
    assert project.decide("Bash", {"command": line}, *both, mode="dontAsk").action == "deny"
    assert project.decide("Bash", {"command": line}, *both, mode="bypassPermissions").action == "allow"


def test_a_rule_that_is_the_whole_command_answers_a_doubt_and_no_certainty(project: Any) -> None:
    denied = [("deny", pattern) for pattern in (*READ_RULES, *EDIT_RULES)]
    assert project.verdict("git switch other", *denied, ("allow", "Bash:git switch other")) == "allow"
    assert project.verdict("grep -r x .", *denied, ("allow", "Bash:grep -r x .")) == "deny"


def test_a_rule_that_allows_the_file_and_comes_first_counts(project: Any) -> None:
    denied = rules("deny", ("Read(./.env)",))
    assert project.verdict("grep -r x .", *denied) == "deny"
    assert project.verdict("grep -r x .", ("allow", "Read(./.env)"), *denied) == "allow"


@pytest.mark.parametrize("line", ["grep -r x .", "rm -rf docs", "git switch other", "tar c .", "git stash"])
def test_without_what_rules_mean_nothing_is_asked(line: str, scene: Any) -> None:
    scene.add("README.md", "docs/a.md")
    git(scene, "init", "-q")
    git(scene, "add", ".")
    assert scene.verdict(line, *rules("deny", (*READ_RULES, *EDIT_RULES))) == "allow"


def test_more_than_can_be_looked_at_is_asked_about(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from caliban_permissions.reach import survey

    monkeypatch.setattr(survey, "_MAX_ENTRIES", 3)
    explained = project.explain(
        "Bash", {"command": "grep -r x docs lib src"}, *rules("deny", ("Read(**/*.pem)",))
    )
    assert explained.verdict == "ask" and "too many files" in explained.reason


def test_what_git_has_packed_is_read_as_well(project: Any) -> None:
    git(project, "tag", "-a", "v1", "-m", "x", "other")
    git(project, "gc", "-q")
    git(project, "pack-refs", "--all")
    head = subprocess.run(
        ["git", "-C", str(project.workspace), "rev-parse", "other"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    denied = rules("deny", EDIT_RULES)
    for name in ("other", "v1", head, head[:9], "v1~0", "refs/heads/other"):
        assert project.verdict(f"git switch --detach {name}", *denied) == "ask", name
    for name in ("same", "other~1", "v1^", "HEAD", "main"):
        assert project.verdict(f"git switch --detach {name}", *denied) == "allow", name
    for name in ("-", "@{-1}", ":/two", "main@{1}"):  # names that are not looked up
        assert project.verdict(f"git switch --detach {name}", *denied) == "ask", name


def test_what_is_stashed_and_staged_is_compared_with_the_last_commit(project: Any) -> None:
    denied = rules("deny", EDIT_RULES)
    git(project, "add", "migrations")
    assert project.verdict("git reset --hard", *denied) == "deny"
    assert project.verdict("git checkout -- .", *denied) == "allow"
    git(project, "stash")
    assert project.verdict("git reset --hard", *denied) == "allow"
    assert project.verdict("git stash", *denied) == "allow"
    for line in ("git stash pop", "git stash apply", "git stash pop 0", "git stash pop stash@{0}"):
        assert project.verdict(line, *denied) == "ask", line
    assert project.verdict("git stash branch new", *denied) == "ask"
    assert project.verdict("git stash drop", *denied) == "allow"


def test_an_index_that_cannot_be_read_leaves_a_doubt(project: Any) -> None:
    (project.workspace / ".git" / "index").write_bytes(b"DIRC\0\0\0\4" + bytes(40))
    assert project.verdict("git grep x", *rules("deny", READ_RULES)) == "ask"
    assert project.verdict("git checkout -- .", *rules("deny", EDIT_RULES)) == "ask"
    assert project.verdict("git grep x -- docs", *rules("deny", READ_RULES)) == "allow"


def test_a_link_that_is_followed_leads_to_what_a_rule_means(project: Any) -> None:
    (project.workspace / "docs" / "away").symlink_to(project.home)
    assert project.verdict("grep -r x docs", *rules("deny", READ_RULES)) == "allow"
    for line in ("grep -R x docs", "rg -L -uu x docs", "cp -rL docs ../copy", "tar chf ../x.tar docs"):
        assert project.verdict(line, *rules("deny", READ_RULES)) == "deny", line


def test_ignore_files_say_what_a_search_leaves_out(project: Any) -> None:
    rule = rules("deny", ("Read(secrets/**)",))
    assert project.verdict("rg x", *rule) == "allow"
    write(project, ".gitignore", "secrets/*\n!secrets/key\n")
    assert project.verdict("rg x", *rule) == "deny"
    write(project, ".ignore", "/secrets\n")
    assert project.verdict("rg x", *rule) == "allow"
    assert project.verdict("rg -uu x", *rule) == "deny"


def test_nothing_more_is_loaded_where_no_rule_is_about_files(scene: Any) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from caliban_permissions import Engine, Rule, RuleSet\n"
        "from caliban_permissions.names import guide_spec\n"
        "bash = guide_spec('Bash')\n"
        "rules = (Rule(pattern='Bash:rm *', action='deny'), Rule(pattern='Bash', action='allow'))\n"
        "rules = RuleSet(user=rules)\n"
        "engine = Engine(rules, mode='default', workspace=Path.cwd(), interactive=True, vouched=[bash])\n"
        "engine.decide(bash, {'command': 'grep -r x . | xargs rm'})\n"
        "print([name for name in sys.modules if name.startswith('caliban_permissions.reach')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=scene.workspace,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def told(line: str, project: Any) -> bool:
    """Whether bash, running the line, shows the text of a file that may not be read."""
    env = {"PATH": os.defpath, "HOME": str(project.home), "LANG": "C.UTF-8", "GIT_PAGER": "cat"}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", line],
        cwd=project.workspace,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    return MARK.encode() in done.stdout


def runs_here(line: str) -> bool:
    return all(
        shutil.which(name, path=os.defpath) for name in ("bash", "rg") if name in line or name == "bash"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs GNU programs")
def test_the_programs_read_what_the_tables_say(project: Any) -> None:
    shown = [
        *READS["a search of a directory"],
        *READS["what git holds"][:2],
        *READS["files that are found"][:11],
    ]
    quiet = ("grep -rc x deploy", "grep -r --exclude-dir=secrets x .")
    for line in filter(runs_here, shown):
        assert told(line, project) or line in quiet, line
    for line in filter(runs_here, LEAVES):
        if not line.startswith(("tar c", "zip", "cp", "mv")):
            assert not told(line, project), line


@pytest.mark.skipif(sys.platform != "linux", reason="needs GNU programs")
@pytest.mark.parametrize("line", [line for line in KEEPS if not line.startswith(("rsync", "black"))])
def test_the_programs_leave_what_the_tables_say(line: str, project: Any) -> None:
    def state() -> list[tuple[str, int, bytes]]:
        files = sorted((project.workspace / "migrations").iterdir())
        return [(path.name, path.stat().st_mode, path.read_bytes()) for path in files]

    before = state()
    told(line, project)
    assert state() == before
    assert Path(project.workspace / ".env").exists()


@pytest.mark.parametrize("name", sorted(STAYS))
@pytest.mark.parametrize(
    "rest",
    [
        "",
        ".",
        "-r .",
        "-R secrets",
        "-a x src/*",
        "-exec cat {} +",
        "HEAD:.env",
        "--all -- ..",
        "-f -i x .env",
    ],
)
def test_what_is_said_to_stay_where_it_is_reaches_nothing(tmp_path: Path, name: str, rest: str) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key.pem").write_text("x", encoding="utf-8")
    rules = RuleSet(user=tuple(Rule(pattern=each, action="deny") for each in (*READ_RULES, *EDIT_RULES)))
    place = PathContext.of(tmp_path, None, tmp_path / "home")
    chain = RuleChain(rules, place)
    assert chain.guards_reads and chain.guards_edits
    command = ShellCommand(f"{name} {rest}", place, place.cwd, ("Bash",))
    parts = Below(command, chain, datetime.now(UTC)).parts(exact=False)
    assert list(parts) == []


LEFT_BY_NAME = (
    "cd sub/up; cd ..; cat leak",
    "cd sub/up/..; cat leak",
    "cd sub; cd up; cd ..; cat leak",
    "cd sub/up && cd .. && ls | xargs cat",
    "cd sub/up; cd ..; time ls | xargs cat",
    "cd -P sub/up; cd sub; cat leak",
    "cd sub && cd - && cat .env",
    'cd sub && cd "$OLDPWD" && cat .env',
    "cd sub && cd - >/dev/null && cd sub && cd .. && cat .env",
    "cd sub && cat ~-/.env",
    "cd sub; pushd deep >/dev/null; cat ~-/../.env",
    "cd sub/deep && cd ../.. && cat .env",
    "cd a; cd b; cd c; cd d; cd e; cat deep",
    "cd a && cd b && cd c && cd d && cd e && cat deep",
    "cd sub; cd ..; cd a; cd b/c; cd ..; cd c/d; cd e; cat deep",
    'cd sub && eval "cd .." && cat .env',
    "cd sub && command eval cd .. && cat .env",
    "cd sub && . ../out.sh && cat .env",
    'cd sub && bash -c "cd - >/dev/null && cat .env"',
    "cd sub && bash -c 'bash -c \"cd - >/dev/null; cat .env\"'",
)


@pytest.mark.parametrize("line", LEFT_BY_NAME)
def test_a_directory_is_left_by_the_name_it_was_entered_by(tmp_path: Path, line: str) -> None:
    """Wherever bash is in the end, a rule for the file holds there: what it prints is the proof."""
    place = tmp_path / "place"
    (place / "sub" / "deep").mkdir(parents=True)
    (place / ".env").write_text(MARK, encoding="utf-8")
    (tmp_path / "secret").write_text(MARK, encoding="utf-8")
    (place / "sub" / "leak").symlink_to(tmp_path / "secret")
    (place / "sub" / "up").symlink_to("..")
    (place / "a/b/c/d/e").mkdir(parents=True)
    (place / "a/b/c/d/e/deep").symlink_to(tmp_path / "secret")
    (place / "out.sh").write_text("cd ..", encoding="utf-8")
    done = subprocess.run(["bash", "-c", line], cwd=place, capture_output=True, text=True, check=False)
    assert MARK in done.stdout
    denied = (Rule(pattern=f"Read({each})", action="deny") for each in ("./.env", tmp_path / "secret"))
    roles: Any = {"command": "command"}
    spec = ToolSpec(name="Bash", description="", input_schema={}, kind="execute", roles=roles)
    engine = Engine(
        RuleSet(user=(*denied, Rule(pattern="Bash", action="allow"))),
        mode="default",
        workspace=place,
        home=tmp_path / "home",
        interactive=True,
        vouched=(spec,),
    )
    assert engine.decide(spec, {"command": line}).action == "deny"
    often = "cd sub; cd ..; " * 8
    assert engine.decide(spec, {"command": f"{often}cat .env"}).action == "ask"
    assert engine.decide(spec, {"command": "cd sub && cat other"}).action == "allow"
