"""What lets a program that reads do more, by kind, each with everyday lines beside it that need no rule."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from caliban_permissions.readonly import reads_of
from caliban_permissions.readonly.index import index_names

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")

FILES = "src/app.py src/b.py README.md log.txt list sub/x.py sub/README.md 5/ls a.zip package.json".split()  # noqa: SIM905

ASKED = {
    "a conversion that sets a variable": [
        "printf '%5s%n' '' PATH; ls",
        "printf '%n' IFS",
        "printf -- '%5.3ln' PATH",
        'printf "a$X" PATH',
        "printf a$X",
    ],
    "an option of what runs another program": [
        "/usr/bin/time -o out ls",
        "\\time -ao out ls",
        "command time --output=out ls",
        "nice time -oout ls",
        "/usr/bin/time --outp out ls",
        "timeout --sig KILL 5 ls",
        "command -px ls",
    ],
    "a directory that is changed through another word": [
        "command cd sub; cat leak",
        "command -p cd sub && cat leak",
        "command command cd sub; cat leak",
        "cd sub/link/.. && cat leak",
        "cd sub/link; cd ..; cat leak",
    ],
    "letters that are read otherwise": [
        *(f"xxd -{letters} README.md out" for letters in "as bs ic pl eg il ug Es pc ps acs".split()),  # noqa: SIM905
        "xxd -ps .env",
        "xxd -cols 5 README.md out",
        "tree -Lo 2 README.md",
        "tree -Po x README.md",
        "tree -aIo x README.md",
        "find src -exec tree -Lo 2 {} ';'",
    ],
    "an option behind an operand": [
        "xxd README.md -p",
        "xxd -p README.md -ps",
        "uniq log.txt -c",
        "uniq log.txt -- -d",
    ],
    "a file of further arguments": ["strings @list", "strings -a -- @list", "git ls-files | xargs strings"],
    "a directory for a file": [
        "diff . sub",
        "diff -N . sub",
        "diff -rq . src",
        "diff sub src",
        "diff list sub",
    ],
    "links that are followed": ["diff -r sub src", "grep -R x up", "ls -LR", "ls --dereference -R src"],
    "a name that is made longer": ["zcat x", "unzip -l '*'", "zipinfo '*'", "unzip -l y"],
    "a name for a file of settings": [
        "iconv -f ./list -t utf8 log.txt",
        "iconv --to-code=../list log.txt",
        "tput init",
        "tput -T xterm reset",
        "whereis -b -B /root -f x",
        "lscpu -s /etc",
    ],
    "a variable that names a file or a column": [
        "MAGIC=list file log.txt",
        "PS_FORMAT=pid,environ ps",
        "PS_PERSONALITY=bsd ps -e",
        "DATEMSK=list date",
        "HOSTALIASES=list hostname -f",
        "ANYTHING=x ls",
    ],
    "a variable that programs look at": [
        "read -r http_proxy < log.txt",
        "read -r npm_config_script_shell < log.txt",
        "read path < log.txt",
    ],
    "words of ps that do not go together": [
        "ps -e -aux",
        "ps -aux -ef",
        "ps -ef -u x -T",
        "ps -eo cmd,nosuch",
        "ps -e --sort=nosuch",
        "ps -ef u",
    ],
    "hidden files that are let in again": [
        "rg -g .env x",
        "rg --glob='*' x",
        "rg -g '{.env,x}' x",
        "rg -g 'a/.e*' x",
        "rg --iglob .ENV x",
        "rg -t sh x",
        "rg -tall x",
        "rg --files -g '.e*' | xargs cat",
    ],
    "a directory of credentials by the names in it": [
        "grep -rn x --include=config .",
        "find . -name config | xargs cat",
        "find . -name 'c*' -exec cat {} +",
    ],
    "a test behind what is printed": [
        "find . -print -name '*.py' | xargs cat",
        "find . -print0 -type f -name '*.py' | xargs -0 cat",
    ],
    "what is no list of names": [
        "find src -name '*.py' | xargs cat | xargs cat",
        "find src -exec cat {} + | xargs cat",
        "find src | xargs ls | xargs cat",
        "find src | xargs cat < list",
        "find src | xargs cat <<< /etc/passwd",
        "find src | xargs cat <<E\n/etc/passwd\nE",
        "find src | sort < list | xargs cat",
        "find src 2>&1 | xargs cat",
        "rg -l --json x src | xargs cat",
        "rg -lc x src | xargs cat",
    ],
    "a format that has signatures checked": [
        "git log --format=%G?",
        "git log --pretty='format:%h %+GS'",
        "git show -s --format=%GT HEAD",
        "git for-each-ref --format='%(signature:grade)'",
        "git branch --sort=-signature",
        'git log --format="%h $X"',
    ],
    "programs of a repository within": ["git log -p --submodule=diff", "git diff --submodule"],
    "names of files outside": ["git ls-files /etc", "git check-ignore ../x", "cat $(git ls-files .env)"],
    "all of the configuration": ["git var -l"],
    "a verb behind an option": ["git stash -p list", "git stash -u show", "git reflog migrate"],
    "a name behind several colons": [
        "git show :0:.npmrc",
        "git show ':(top).npmrc'",
        "git show 'HEAD^{/a:b}:.npmrc'",
        "git cat-file -p :1:id_rsa",
    ],
    "a name of a language that is spelt otherwise": ["jq -n '$ ENV.HOME'", "jq -n '$#\nENV'"],
}
FREE = {
    "an option of what runs another program": [
        "time -p ls",
        "/usr/bin/time -f %e ls",
        "timeout -k 1 --signal=KILL 5 ls",
        "nice -n 5 ls",
        "command -p ls",
    ],
    "a conversion that sets a variable": [
        "printf '%s: %5d%%\\n' a 1",
        'printf "a: $X\\n"',
        "printf '%s\\n' $X",
        "printf '100%%\\n' x",
    ],
    "letters that are read otherwise": [
        "xxd -p -c 16 README.md",
        "xxd -ps README.md",
        "xxd -s -5 -l10 README.md",
        "tree -aL 2 src",
        "tree -L2",
        "tree -I 'a|b' -P '*.py'",
    ],
    "a directory for a file": [
        "diff -u README.md list",
        "diff README.md missing",
        "cat list | diff - README.md",
    ],
    "a name for a file of settings": [
        "iconv -f latin1 -t ASCII//TRANSLIT log.txt",
        "tput cols",
        "whereis -b ls",
    ],
    "a variable that names a file or a column": [
        "LC_ALL=C TZ=UTC date",
        "x=1 ls",
        "GIT_PAGER=cat git log -1",
    ],
    "words of ps that do not go together": [
        "ps -ef --forest",
        "ps -aef",
        "ps -eo pid,ppid,%cpu,cmd --sort=-%cpu",
        "ps aux -ww",
        "ps -C node -o pid",
    ],
    "hidden files that are let in again": [
        "rg -g '*.py' x",
        "rg -g '!*.md' x",
        "rg -t py -T js x",
        "rg -g 'src/*.{ts,js}' x",
    ],
    "a test behind what is printed": ["find . -name '*.py' -print | xargs cat"],
    "what is no list of names": [
        "find src 2>/dev/null | xargs cat",
        "find src -exec grep -l x {} + | xargs cat",
        "rg -li x src | xargs cat",
    ],
    "a format that has signatures checked": ["git log --format='%h %an %s' --grep=signature"],
    "a verb behind an option": ["git stash show -p", "git reflog -3", "git reflog HEAD@{1}"],
    "a file system": ["df -h /"],
    "names of files": ["git check-ignore -v .env", "git ls-files .env"],
}


@pytest.fixture
def place(scene: Any) -> Any:
    """A repository with links that lead out, and directories with credentials."""
    scene.add(*FILES, ".env", ".aws/config", "deep/a/x")
    for name, target in (("leak", "/etc/passwd"), ("link", "../deep/a")):
        os.symlink(target, scene.workspace / "sub" / name)
    os.symlink(scene.workspace, scene.workspace / "src" / "up")
    for name in ("x.gz", "y.zip"):
        os.symlink("/etc/passwd", scene.workspace / name)
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    return scene


@pytest.fixture
def quiet(scene: Any) -> Any:
    """A repository with nothing in it that has to be kept from anybody."""
    scene.add(*FILES)
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    return scene


@pytest.mark.parametrize("kind", ASKED)
def test_it_does_more_and_asks(kind: str, place: Any) -> None:
    for line in ASKED[kind]:
        assert place.verdict(line) == "ask", line


@pytest.mark.parametrize("kind", FREE)
def test_it_only_reads_and_needs_no_rule(kind: str, place: Any) -> None:
    for line in FREE[kind]:
        explained = place.explain("Bash", {"command": line})
        assert explained.verdict == "allow", (line, explained.reason)


@pytest.mark.skipif(shutil.which("xxd") is None, reason="needs xxd")
def test_no_letters_of_xxd_that_are_let_by_write(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x")
    for size, after in product((1, 2), (("in", "out"), ("5", "in", "out"))):
        for letters in product("abeEipucgls", repeat=size):
            words = (f"-{''.join(letters)}", *after)
            if reads_of(("xxd", *words)) is not None:
                subprocess.run(["xxd", *words], cwd=tmp_path, capture_output=True, check=False)
                assert not (tmp_path / "out").exists(), words


class TestIndex:
    """Names in the index need not be those of files, and they become arguments all the same."""

    def track(self, place: Any, name: str) -> None:
        path = place.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        git = ["git", "-C", str(place.workspace)]
        subprocess.run([*git, "add", "-f", "--", name], check=True, capture_output=True)
        path.unlink()
        if path.parent != place.workspace and not any(path.parent.iterdir()):
            shutil.rmtree(place.workspace / Path(name).parts[0])

    def test_plain_names_need_no_rule(self, quiet: Any) -> None:
        self.track(quiet, "src/gone.py")
        assert quiet.verdict("git ls-files | xargs wc -l") == "allow"
        assert quiet.verdict("git diff --name-only | xargs grep -n x") == "allow"

    @pytest.mark.parametrize("name", ["-oREADME.md", "x /etc/passwd", "a/-x"])
    def test_a_name_that_is_more_than_one_argument_asks(self, name: str, quiet: Any) -> None:
        self.track(quiet, name)
        assert quiet.verdict("git ls-files | xargs sort") == "ask"
        assert quiet.verdict("git diff --name-only | xargs sort") == "ask"

    @pytest.mark.parametrize(
        "line",
        [
            "git diff --name-only HEAD~1 | xargs cat",
            "git diff --name-only --cached | xargs cat",
            "cd sub && git ls-files .. | xargs cat",
            "cd sub && git ls-files :/ | xargs cat",
            "git ls-files -t | xargs cat",
        ],
    )
    def test_names_that_only_history_knows_ask(self, line: str, quiet: Any) -> None:
        assert quiet.verdict(line) == "ask"

    def test_a_name_on_disk_that_becomes_an_option_asks(self, quiet: Any) -> None:
        (quiet.workspace / "-oREADME.md").write_text("x")
        for lister in ("rg --files", "rg -l x", "grep -rl x", "fd x"):
            assert quiet.verdict(f"{lister} | xargs sort") == "ask"
        assert quiet.verdict("find . -type f | xargs sort") == "allow"

    def test_names_are_read_from_every_format_or_not_at_all(self, quiet: Any, tmp_path: Path) -> None:
        git = ["git", "-C", str(quiet.workspace)]
        subprocess.run([*git, "add", "src", "log.txt"], check=True)
        index = quiet.workspace / ".git" / "index"
        assert index_names(index) == ("log.txt", "src/app.py", "src/b.py")
        subprocess.run([*git, "update-index", "--index-version", "4"], check=True)
        assert index_names(index) is None
        for data in (b"", b"DIRC", struct.pack(">4sLL", b"DIRC", 2, 3), b"x" * 200):
            (tmp_path / "index").write_bytes(data)
            assert index_names(tmp_path / "index") is None
        assert index_names(tmp_path / "none") == ()


class TestRepositories:
    """Git takes for a repository what it finds, not what looks like one."""

    def planted(self, place: Any, name: str) -> Path:
        """A repository below the workspace whose configuration names a program."""
        inner = Path(place.workspace, name)
        subprocess.run(["git", "init", "-q", str(inner)], check=True)
        config = inner / ".git" / "config"
        config.write_text(config.read_text() + "[core]\n\tfsmonitor = ./p\n")
        return inner

    def test_what_only_looks_like_a_repository_is_passed_by(self, quiet: Any) -> None:
        inner = self.planted(quiet, "evil")
        (inner / "x" / ".git").mkdir(parents=True)
        assert quiet.verdict("cd evil/x && git status") == "ask"
        assert quiet.verdict("git -C evil/x status") == "ask"

    def test_a_bare_one_without_its_branch_or_with_its_objects_elsewhere_counts(self, quiet: Any) -> None:
        inner = self.planted(quiet, "evil")
        bare, shared = Path(quiet.workspace, "bare"), Path(quiet.workspace, "shared")
        (inner / ".git").rename(bare)
        (bare / "HEAD").unlink()
        (bare / "HEAD").symlink_to("refs/heads/none")
        shared.mkdir()
        (shared / "HEAD").write_text("ref: refs/heads/main\n")
        (shared / "commondir").write_text("../bare\n")
        assert quiet.verdict("git -C bare status") == "ask"
        assert quiet.verdict("git -C shared status") == "ask"

    @pytest.mark.parametrize("value", ["hk # c", '"hk" ; c', "h\\k", '"h"k', "hk"])
    def test_the_directory_of_hooks_is_what_git_reads_there(self, value: str, quiet: Any) -> None:
        hook = Path(quiet.workspace, "hk", "post-index-change")
        hook.parent.mkdir()
        hook.write_text("#!/bin/sh\n")
        config = Path(quiet.workspace, ".git", "config")
        before = config.read_text()
        config.write_text(before + f"[core]\n\thookspath = {value}\n")
        assert quiet.verdict("git status") == "ask"
        config.write_text(before + "[core]\n\thookspath = .other/_\n")
        assert quiet.verdict("git status") == "allow"

    def test_signatures_that_are_always_checked_ask(self, quiet: Any) -> None:
        config = Path(quiet.workspace, ".git", "config")
        config.write_text(config.read_text() + "[log]\n\tdate = iso\n")
        assert quiet.verdict("git log -1") == "allow"
        config.write_text(config.read_text() + "\tshowSignature\n")
        assert quiet.verdict("git log -1") == "ask"

    def test_without_a_repository_git_diff_asks(self, scene: Any) -> None:
        scene.add("src/a", "sub/a")
        assert scene.verdict("git diff src sub") == "ask"
        assert scene.verdict("git diff") == scene.verdict("git log -1") == "allow"


class TestMoves:
    """Rules see the directory that a command runs in, however the shell came there."""

    RULES = (("deny", "Read:/etc/passwd"), ("allow", "Bash:cat *"), ("allow", "Bash:command *"))

    def test_a_deny_for_reading_holds(self, place: Any) -> None:
        for move in ("cd", "command cd", "builtin cd", "command -p cd", "command builtin cd"):
            assert place.verdict(f"{move} sub; cat leak", *self.RULES) == "deny", move

    def test_what_is_set_for_all_that_follows_is_seen(self, place: Any) -> None:
        rules = (("allow", "Bash:command export PATH=5"),)
        assert place.verdict("command export PATH=5", *rules) == "allow"
        assert place.verdict("command export PATH=5; ls", *rules) == "ask"

    def test_what_is_deleted_is_not_in_the_workspace(self, place: Any) -> None:
        rules = (("allow", "Bash:rm *"), ("allow", "Bash:command cd *"))
        assert place.verdict("command cd /etc; rm x", *rules) == "ask"
