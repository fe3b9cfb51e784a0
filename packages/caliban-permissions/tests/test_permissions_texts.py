"""What is text and what is a file in the arguments of a command, beside what the programs really do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")

MARK = "mark-of-the-secret"
RULES = ("Read(./.env)", "Read(secrets/**)")

TEXTS = [
    "jq .env x.json",
    "jq -r .env x.json",
    "jq -c .env < x.json",
    "cat x.json | jq .env",
    "jq .env x.json | head -1",
    "jq -n --arg name .env '$name'",
    "jq --indent 2 .env x.json",
    "x=1; jq .env x.json",
    "jq .env x.json && jq .a x.json",
    "timeout 5 jq .env x.json",
    "nice -n 5 grep .env a.txt",
    "grep .env a.txt",
    "grep -n .env a.txt src/app.py",
    "grep -e .env a.txt",
    "grep -A 1 .env a.txt",
    "grep -rn .env src",
    "grep -- .env a.txt",
    "grep --color=never .env a.txt",
    "cat a.txt | grep -v .env",
    "rg -n .env src",
    "rg -e .env src",
    "rg --type py .env src",
    "git grep .env",
    "git grep -n -e .env -- src",
    "git log --oneline --grep .env",
    "git log --grep=.env -3",
    "git log -S .env",
    "git log -S.env --oneline",
    "git commit -q --allow-empty -m .env",
    "git commit -q --allow-empty --message=.env",
    "git tag -a v1 -m .env",
    "gh pr create --title .env --body .env",
    "gh api -q .env repos/a/b",
    "sed -n /secrets/p a.txt",
    "sed -e /secrets/d -e s/a/b/ a.txt",
    "awk '$1 == \".env\"' a.txt",
    "awk -v name=.env '$1 == name' a.txt",
    "awk -F .env '{print $1}' a.txt",
    "cut -d , -f1 a.txt",
    'x=$(jq -r .env x.json); echo "$x"',
    'echo "$(jq -r .env x.json)"',
    'while read -r l; do echo "$l" | grep .env; done < a.txt',
    'for f in *.json; do jq .env "$f"; done',
    "set -euo pipefail; jq .env x.json",
    "A=1 true; jq .env x.json",
    "tr .env x < a.txt",
    "expr .env : x",
]
"""Lines in which the name of a denied file is no file: a filter, a pattern, a message, what is looked for."""

READS = [
    "jq -R . .env",
    "jq . -R .env",
    "jq -Rf prog.jq .env",
    "jq -R -f prog.jq .env",
    "jq -R --arg a .env . .env",
    "jq -n --rawfile a .env '$a'",
    "jq -n --slurpfile a secrets/a.json '$a'",
    "jq -n -L secrets 'import \"a\" as $a; $a'",
    "jq -n -L. 'import \"secrets/a\" as $a; $a'",
    'jq -n \'import "a" as $a {search: "./secrets"}; $a\'',
    "jq -n 'import \"./secrets/a\" as $a; $a'",
    'jq() { cat "$1"; }; jq .env x.json',
    "env -Sgrep mark .env a.txt",
    "grep mark .env",
    "grep -e mark .env",
    "grep -- mark .env",
    "grep -A 1 mark .env",
    "grep --regexp=mark .env",
    "POSIXLY_CORRECT=1 grep mark -e .env",
    "rg -e mark .env",
    "rg --regexp mark .env",
    "git grep --no-index -e mark .env",
    "git grep --no-index mark -- .env",
    "sed -n p .env",
    "sed -n -e p .env",
    "sed 'r .env' a.txt",
    "sed '1e cat .env' a.txt",
    "sed '1ecat .env' a.txt",
    "sed 's/.*/cat .env/e' a.txt",
    "sed 's|.*|cat secrets/key|ge' a.txt",
    "sed 's/.*/cat secrets\\/key/e' a.txt",
    "awk '{print}' .env",
    "awk 'BEGIN{while((getline l < \".env\")>0) print l}'",
    "awk -v f=.env 'BEGIN{getline l < f; print l}'",
    "awk -v f=.env 'BEGIN{ARGV[1]=f; ARGC=2} {print}'",
    "cut -d = -f1 .env",
    "paste -d .env a.txt .env",
    "timeout 5 grep mark .env",
    "git add --pathspec-from-file=.env",
    "git add --pathspec-from-file .env",
    "git rm --pathspec-from-file=.env",
    "git merge-file -p .env a.txt b.txt",
    "git fmt-merge-msg -F .env",
    "git fmt-merge-msg --file=.env",
    "git interpret-trailers .env",
    "git add -f .env && git diff --cached",
    "git add -Af && git diff --cached",
    "git add --force . ; git diff --staged",
    "git -c user.name=x -c user.email=x@x stash -qa && git stash show -p --include-untracked",
    "rm .gitignore && git add -A && git diff --cached",
    "echo 'cat .env' | bash",
    "printf 'cat %s' .env | sh",
    "echo 'cat .env' | tee out | bash -s",
    "cat <<'E' | bash\ncat .env\nE",
    "echo .env | tar cf - -T -",
    "echo .env | tar c --files-from=-",
    "ln -s . up && cat up/.env",
    "ln -s .. src/up && cat src/up/.env",
    "ln -s $PWD up; cat up/secrets/key",
    "cd src && ln -s .. up && cat up/.env",
    "cat ~+/.env",
    "cat ~+/src/../.env",
    "pushd src; cat ../.env",
    "cd sec* && cat key",
    "cd s?crets; cat key",
    "bash -c 'while read q; do echo $q; done < .env'",
    "eval 'echo .env | xargs cat'",
    "echo ${x:-$(echo .env | xargs cat)}",
    "echo ${x:-$(f=.env; cat $f)}",
    "echo ${x:-$(git grep --no-index mark)}",
    "cat <<E\n$(ls -A | grep env | xargs cat)\nE",
    'y=`cat .e*`; echo "$y"',
    "printf '%s' \"$(while read q; do echo $q; done < .env)\"",
    "printf '%s' \"$(echo 'cat .env' | bash)\"",
    'cat <<< "$(case x in x) tac .en? | head -3;; esac)"',
    "timeout 5 xargs cat <<< .env",
    "parallel cat .{} ::: env",
    "parallel cat {1}{2} ::: .en ::: v",
]
"""Lines by which a denied file is read, and most of it shown."""

UNTOUCHED = [
    "du --exclude-from=.env .",
    "rsync -an --filter='merge .env' src out",
    "rsync -an -f '. .env' src out",
    "git merge -F .env main",
    "git ls-files -o -i --exclude-from=.env",
    "git ls-files -o -i -X .env",
    "git credential-store --file .env get",
    "openssl enc -a -pass file:.env -in a.txt",
    "curl -F 'x=@a.txt;headers=@.env' http://127.0.0.1:1",
    "curl -T '{a.txt,.env}' http://127.0.0.1:1",
    "wget -qi.env",
    "jq -f .env x.json",
    "jq -n -f .env",
    "grep -f .env a.txt",
    "grep x -f .env",
    "grep -rf .env src",
    "rg -f .env src",
    "sed -f .env a.txt",
    "git commit -F .env",
    "git commit -m x -t .env",
    "gh api x --input .env",
    "gh pr create -t x -F .env",
    "cat ~root/.ssh/id",
]
"""Lines by which one is read and not shown, or whose programs are not everywhere."""


@pytest.fixture
def place(scene: Any) -> Any:
    files = {
        "x.json": '{"env": 1, "a": 2}\n',
        "a.txt": ".env, secrets/key\n",
        "b.txt": "b\n",
        "src/app.py": "ENV = '.env'\n",
        "prog.jq": ".\n",
        ".gitignore": ".env\nsecrets/\n",
        ".env": f"{MARK}=1\n",
        "secrets/key": f"{MARK}\n",
        "secrets/a.json": f'"{MARK}"\n',
    }
    for name, text in files.items():
        path = scene.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(scene, "git init -q -b main && git add . && git commit -qm one")
    return scene


def run(scene: Any, line: str) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.environ["PATH"], "HOME": str(scene.home), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["bash", "--norc", "-c", line],
        cwd=scene.workspace,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def explained(scene: Any, line: str, *patterns: str) -> Any:
    rules = [*(("deny", pattern) for pattern in patterns or RULES), ("allow", "Bash")]
    return scene.explain("Bash", {"command": line}, *rules)


def has_programs(line: str) -> bool:
    """Whether what a line runs is installed: programs that are not everywhere stand in few places."""
    rare = ("jq", "rg", "gh", "parallel", "rsync", "openssl", "curl", "wget")
    return all(shutil.which(name) for name in rare if name in line.replace("|", " ").split())


@pytest.mark.parametrize("line", TEXTS)
def test_text_that_is_called_as_a_denied_file_is_no_file(line: str, place: Any) -> None:
    explanation = explained(place, line)
    assert explanation.verdict == "allow", explanation.reason
    if has_programs(line):
        done = run(place, explanation.updated_input["command"] if explanation.updated_input else line)
        assert MARK.encode() not in done.stdout + done.stderr


@pytest.mark.parametrize("line", READS)
def test_a_file_that_is_read_is_denied_or_asked_about(line: str, place: Any) -> None:
    assert explained(place, line).verdict != "allow"
    if has_programs(line):
        done = run(place, line)
        assert MARK.encode() in done.stdout + done.stderr, done


@pytest.mark.parametrize("line", UNTOUCHED)
def test_a_file_that_is_taken_in_is_denied_or_asked_about(line: str, place: Any) -> None:
    assert explained(place, line, *RULES, "Read(/root/.ssh/**)").verdict != "allow"


def test_the_home_of_somebody_may_be_that_of_this_person(place: Any) -> None:
    (place.home / ".ssh").mkdir()
    for line in ("cat ~me/.ssh/id", "head ~+/../home/.ssh/id"):
        assert explained(place, line, "Read(~/.ssh/**)").verdict == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "jq .env $FILE",
        "alias jq=cat; jq .env x.json",
        "source lib.sh; grep .env a.txt",
        "export GREP_OPTIONS='-e x'; grep .env a.txt",
        "GREP_OPTIONS='-e x' grep .env a.txt",
        "PATH=.:$PATH; jq .env x.json",
        "./jq .env x.json",
        "grep --unknown .env a.txt",
        "grep -C .env a.txt b.txt",
        "sudo -e jq .env x.json",
        "git log --pretty -- -S .env",
    ],
)
def test_where_an_argument_may_be_a_file_after_all_it_is_one(line: str, place: Any) -> None:
    assert explained(place, line).verdict != "allow"


@pytest.mark.parametrize(
    "line",
    [
        "git add . && git diff --cached",
        "git stash -q && git stash show -p",
        "git checkout -q main && git merge -q --no-edit main",
        "echo 'secrets are kept elsewhere' && tar cf - src",
        "pushd src; cat app.py",
        "ln -s src lib; cat lib/app.py",
        "echo ls | bash",
        "sed 's/a/b/w out' a.txt",
        "sed -n 's/^e/x/p' a.txt",
        "curl -d '{\"a\": [1, 2]}' http://127.0.0.1:1",
        "cat ~+/a.txt",
    ],
)
def test_what_reads_nothing_of_it_is_let_by(line: str, place: Any) -> None:
    explanation = explained(place, line)
    assert explanation.verdict == "allow", explanation.reason


CHOSEN = [
    "git diff -- *",
    "git diff *",
    "git diff -- s*",
    "git diff --stat -- ./*",
    "git log --oneline -- *",
    "cd . && git diff * | head",
]


@pytest.mark.parametrize("line", CHOSEN)
def test_a_wildcard_by_which_git_chooses_means_what_git_holds(line: str, place: Any) -> None:
    assert explained(place, line).verdict == "allow"
    assert MARK.encode() not in run(place, line).stdout
    run(place, "git add -f secrets/key && git commit -qm two && echo more >> secrets/key")
    shows = "log" not in line and "--stat" not in line
    assert explained(place, line).verdict == ("deny" if shows else "allow")
    assert (MARK.encode() in run(place, line).stdout) is shows


@pytest.mark.parametrize(
    "line",
    [
        "git diff --no-index a.txt secrets/*",
        "git diff -O s*/key",
        "git log -p -- *",
        "git diff HEAD -- *",
        "mv .git away; git diff secrets/* ",
        "git diff ../ws/*",
        "wc -l s*/*",
    ],
)
def test_a_wildcard_that_may_mean_more_is_taken_by_its_names(line: str, place: Any) -> None:
    explanation = explained(place, line)
    assert explanation.verdict == "deny"
    wildcard = next(word for word in line.split() if "*" in word)
    assert f"`{wildcard}` takes it in" in explanation.reason


def test_without_a_repository_a_diff_compares_the_files(scene: Any) -> None:
    scene.add("a.txt", "secrets/key")
    for line in ("git diff a.txt secrets/*", "git diff -- a.txt secrets/*"):
        assert explained(scene, line).verdict == "deny"


EDITED = ("Edit(./.env)", "Edit(migrations/**)")
CHANGES = [
    "echo 'rm .env' | bash",
    "echo 'rm -rf migrations' | sh",
    "printf 'rm -rf %s' migrations | sh",
    "cat <<'E' | sh -s\nrm -rf migrations\nE",
    "ln -s . up; rm up/.env",
    "ln -s $PWD up; echo x > up/.env",
    "ln -s migrations m && rm -rf m/*",
    "ln .env other; echo x >> other",
    "pushd src; rm ../.env",
    "cd mig* && rm 1.py",
    "echo x > ~+/.env",
    "echo .env | xargs rm",
    "printf '%s\\n' .env a.txt | xargs rm -f",
    "xargs rm <<< .env",
    "parallel rm .{} ::: env",
    "parallel rm {1}{2} ::: .en ::: v",
    "parallel rm ::: a.txt .env",
    "python3 -m zipfile -e m.zip .",
    "python3 -m tarfile -e m.tar .",
    "python3 -m tarfile --extract m.tar",
    "gunzip -f .env.gz",
    "gzip -df .env.gz",
    "git init -q migrations",
    "git bugreport -o migrations",
    "make -f - <<< 'x:; rm .env'",
    "sed 's/.*/rm .env/e' a.txt",
]
"""Lines by which a file is changed, made or taken away that a rule for edits means."""


def held(scene: Any) -> dict[str, bytes]:
    kept = (scene.workspace / ".env", *(scene.workspace / "migrations").rglob("*"))
    return {str(path): path.read_bytes() for path in kept if path.is_file()}


@pytest.mark.parametrize("line", CHANGES)
def test_a_file_that_is_changed_is_denied_or_asked_about(line: str, place: Any) -> None:
    place.add("migrations/1.py")
    run(place, "gzip -c a.txt > .env.gz")
    run(place, "mkdir -p t/migrations && echo y > t/migrations/1.py && tar cf m.tar -C t migrations")
    run(place, "cd t && python3 -m zipfile -c ../m.zip migrations/ && rm -r ../t")
    assert explained(place, line, *EDITED).verdict != "allow"
    if shutil.which(line.split(maxsplit=1)[0]) and has_programs(line):
        before = held(place)
        run(place, line)
        assert held(place) != before


@pytest.mark.parametrize(
    "line",
    [
        "echo 'rm a.txt' | bash",
        "echo a.txt | xargs rm",
        "parallel rm {} ::: a.txt b.txt",
        "gzip -k a.txt",
        "gunzip -c .env.gz",
        "gzip -l .env.gz",
        "python3 -m zipfile -l m.zip",
        "ln -s src lib; rm lib/app.py",
        "git init -q elsewhere",
    ],
)
def test_what_changes_nothing_of_it_is_let_by(line: str, place: Any) -> None:
    explanation = explained(place, line, *EDITED)
    assert explanation.verdict == "allow", explanation.reason


def test_a_filter_of_yq_is_a_file_where_one_is_there(place: Any) -> None:
    """Of the two programs by this name one takes its first operand for a file then."""
    assert explained(place, "yq .env x.json").verdict == "deny"
    (place.workspace / ".env").unlink()
    assert explained(place, "yq .env x.json").verdict == "allow"
