"""Revisions read from the objects of a repository, against git itself."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from caliban_permissions.reach.objects import ObjectStore, UnknownObjectError
from caliban_permissions.reach.revisions import Revisions

SETTINGS = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")


def git(repository: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *SETTINGS, *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A history of two lines that meet, with files that grow, move and go."""
    pick = random.Random(7)
    git(tmp_path, "init", "-q", "-b", "main")
    for number in range(24):
        if number in (8, 16):
            git(tmp_path, "checkout", "-qb", f"side{number}", "HEAD~3")
        for _ in range(3):
            path = tmp_path / pick.choice(("a", "b/c", "b/d/e", "f")) / f"{pick.randrange(5)}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text() if path.exists() else "".join(f"line {at}\n" for at in range(200))
            path.write_text(text + f"{number} {pick.random()}\n")
        if number % 6 == 5:
            next(iter(sorted(tmp_path.glob("*/*.txt")))).unlink()
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", str(number))
    git(tmp_path, "merge", "-q", "-X", "ours", "-m", "met", "main")
    git(tmp_path, "tag", "-a", "v1", "-m", "x", "HEAD~2")
    git(tmp_path, "tag", "light", "main")
    return tmp_path


def revisions(repository: Path) -> Revisions:
    return Revisions(str(repository / ".git"), str(repository / ".git"))


@pytest.mark.parametrize("packed", [False, True])
def test_names_and_differences_are_those_of_git(packed: bool, repository: Path) -> None:
    if packed:
        git(repository, "gc", "-q", "--aggressive")
        assert not list((repository / ".git/objects").glob("[0-9a-f][0-9a-f]/*"))
    commits = git(repository, "rev-list", "--all").split()
    names = [
        "HEAD",
        "@",
        "main",
        "side8",
        "v1",
        "light",
        "HEAD~3",
        "HEAD^2",
        "v1^^",
        "main~1^",
        "none",
        "HEAD~99",
    ]
    for name in (*names, "HEAD^3", "refs/tags/v1", *(commit[:8] for commit in commits[:5]), "beef1234"):
        ours = revisions(repository).commit(name)
        wanted = git(repository, "rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        assert (ours.hex() if ours is not None else "") == wanted, name
    pick = random.Random(3)
    for _ in range(12):
        one, other = pick.sample(commits, 2)
        wanted = git(repository, "diff", "--name-only", "--no-renames", one, other).split()
        ours = revisions(repository).differing(bytes.fromhex(one), bytes.fromhex(other))
        assert sorted(ours) == sorted(wanted)
    everything = sorted(revisions(repository).differing(None, bytes.fromhex(commits[0])))
    assert everything == git(repository, "ls-tree", "-r", "--name-only", commits[0]).split("\n")
    for path in everything[:3]:
        ours = revisions(repository).file(bytes.fromhex(commits[0]), path)
        assert ours is not None and ours.hex() == git(repository, "rev-parse", f"{commits[0]}:{path}")
    assert revisions(repository).file(bytes.fromhex(commits[0]), "none/x") is None


@pytest.mark.parametrize("name", ["-", "@{u}", "main@{1}", ":/met", "main..side8", "v1-3-gabcdef1", "a b"])
def test_a_name_that_is_not_plain_is_not_known(name: str, repository: Path) -> None:
    with pytest.raises(UnknownObjectError):
        revisions(repository).commit(name)


def test_what_is_damaged_or_too_much_is_not_known(repository: Path) -> None:
    head = bytes.fromhex(git(repository, "rev-parse", "HEAD"))
    path = repository / ".git/objects" / head.hex()[:2] / head.hex()[2:]
    path.chmod(0o644)
    path.write_bytes(b"none of it")
    with pytest.raises(UnknownObjectError):
        revisions(repository).commit("HEAD~1")
    store = ObjectStore(str(repository / ".git"))
    with pytest.raises(UnknownObjectError):
        store.read(bytes(20))
    store._left = 0
    with pytest.raises(UnknownObjectError, match="too many"):
        store.read(bytes.fromhex(git(repository, "rev-parse", "main")))


def test_damaged_packs_raise_nothing_else(repository: Path) -> None:
    git(repository, "gc", "-q", "--aggressive")
    head = git(repository, "rev-parse", "HEAD")
    pick = random.Random(5)
    files = [
        path for path in (repository / ".git/objects/pack").iterdir() if path.suffix in (".idx", ".pack")
    ]
    for path in files:
        path.chmod(0o644)
        whole = path.read_bytes()
        for _ in range(60):
            cut = bytearray(whole[: pick.choice((len(whole), pick.randrange(len(whole))))])
            for _ in range(min(8, len(cut))):
                cut[pick.randrange(len(cut))] = pick.randrange(256)
            path.write_bytes(cut)
            try:
                list(revisions(repository).differing(None, bytes.fromhex(head)))
            except UnknownObjectError:
                continue
        path.write_bytes(whole)
