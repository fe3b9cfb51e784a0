"""Rewinds of what is another kind of thing afterwards: files, directories, links, repositories inside."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from test_checkpoints import bash, prompt, tree, write

SHAPES = (
    pytest.param("mkdir d; echo a >d/a; echo b >d/b", "rm -rf d; echo x >d", id="directory-file"),
    pytest.param("echo f >f", "rm f; mkdir -p f/e; echo b >f/b; echo c >f/e/c", id="file-directory"),
    pytest.param("mkdir d e; echo a >d/a; echo e >e/e", "rm -rf d; ln -s e d", id="directory-link"),
    pytest.param("echo f >f; mkdir e", "rm f; mkdir f; ln -s ../e f/l; echo k >f/k", id="file-links"),
    pytest.param("mkdir -p a/b/c; echo 1 >a/b/c/f; echo 2 >a/g", "rm -rf a; echo x >a", id="tree-file"),
    pytest.param(
        "mkdir -p sub/in; git init -q sub; rm -rf sub/.git/hooks; echo a >sub/in/a; echo z >z",
        "echo b >sub/in/a; rm z; echo n >sub/n",
        id="repository",
    ),
    pytest.param("mkdir sub; echo 'gitdir: ../x' >sub/.git; echo a >sub/a", "echo b >sub/a", id="submodule"),
)


def in_shell(folder: Path, command: str) -> None:
    subprocess.run(["bash", "-c", command], cwd=folder, check=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_what_became_another_kind_of_thing_comes_back_and_goes_again(cli, first, second):
    in_shell(cli.work, first)
    before = tree(cli.work)
    prompt(cli, "go", bash(second))
    after = tree(cli.work)
    assert after != before
    done = cli.run("rewind", "s", "--to", "1", "--code")
    assert (done.code, tree(cli.work)) == (0, before), done.out
    again = cli.run("rewind", "s", "--to", "2", "--code")
    assert (again.code, tree(cli.work)) == (0, after), again.out


def test_what_a_person_did_where_a_file_or_a_directory_was_is_not_lost(cli):
    in_shell(cli.work, "echo f >f; mkdir d; echo a >d/a")
    prompt(cli, "go", bash("rm f; mkdir f; echo b >f/b; rm -rf d; echo x >d"))
    (cli.work / "f" / "mine").write_text("mine")
    (cli.work / "d").write_text("mine too")
    now = tree(cli.work)
    done = cli.run("rewind", "s", "--to", "1", "--code")
    assert (done.code, tree(cli.work)) == (1, now)
    assert "NOT KEPT  f: it is a directory now, with other files in it" in done.out
    assert "CHANGED   d: somebody else changed it since" in done.out
    assert "CHANGED   d/a: a file of 8 bytes is where its directory was" in done.out
    forced = cli.run("rewind", "s", "--to", "1", "--code", "--force")
    assert forced.code == 1
    assert (cli.work / "d" / "a").read_text() == "a\n"
    assert (cli.work / "f" / "mine").read_text() == "mine"


def damaged(text: str) -> list[str]:
    """What may become of a manifest: cut off, and with values that no file has."""
    changes = ({"mode": -1}, {"mode": 10**18}, {"kind": "link", "target": "a\0b"})
    out = [text[: len(text) // 2]]
    for change in changes:
        manifest = json.loads(text)
        manifest["entries"][0]["before"] |= change
        out.append(json.dumps(manifest))
    return out


def test_a_checkpoint_that_cannot_be_read_keeps_files_as_they_are(cli):
    prompt(cli, "one", write("a.txt", "a\n"))
    now = tree(cli.work)
    (path,) = (cli.home / ".caliban").rglob("prompt-001/manifest.json")
    for content in damaged(path.read_text()):
        path.write_text(content)
        done = cli.run("rewind", "s", "--to", "1")
        assert (done.code, tree(cli.work)) == (1, now)
        assert "damaged, and passed over" in done.err and "nothing was changed" in done.err
        assert cli.run("rewind", "s", "--to", "1", "--dry-run").code == 1
    forced = cli.run("rewind", "s", "--to", "1", "--code", "--force")
    assert (forced.code, tree(cli.work)) == (1, now)
    assert cli.run("rewind", "s", "--to", "1", "--conversation").code == 0
