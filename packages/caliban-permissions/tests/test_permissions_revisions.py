"""Revisions read from the objects of a repository, against git itself."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import tracemalloc
import zlib
from pathlib import Path

import pytest

from caliban_permissions.reach.objects import ObjectStore, UnknownObjectError
from caliban_permissions.reach.revisions import Revisions

WHEN = "2026-01-02T03:04:05Z"
"""Of all commits, so that their ids are the same each time."""
SETTINGS = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")


def git(repository: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *SETTINGS, *words],
        env=os.environ | {"GIT_AUTHOR_DATE": WHEN, "GIT_COMMITTER_DATE": WHEN},
        capture_output=True,
        text=True,
        check=False,
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


def pack(folder: Path, id: bytes, kind: int, size: int, stored: bytes, *, count: int = 1) -> ObjectStore:
    """A repository with one pack of one object, whose index says that it has `count`."""
    place = folder / "objects" / "pack"
    place.mkdir(parents=True)
    head = bytearray([(kind << 4) | (size & 15)])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    (place / "one.pack").write_bytes(b"PACK\0\0\0\2\0\0\0\1" + head + stored)
    fanout = [0] * id[0] + [count] * (256 - id[0])
    index = b"\xfftOc\0\0\0\2" + struct.pack(">256L", *fanout) + id + bytes(4) + struct.pack(">L", 12)
    (place / "one.idx").write_bytes(index)
    return ObjectStore(str(folder))


ID = bytes(range(100, 120))


def test_an_object_of_a_pack_is_read(tmp_path: Path) -> None:
    assert pack(tmp_path, ID, 3, 5, zlib.compress(b"hello")).read(ID) == ("blob", b"hello")


def test_an_index_that_claims_more_than_it_holds_is_not_read_for_that(tmp_path: Path) -> None:
    store = pack(tmp_path, ID, 3, 5, zlib.compress(b"hello"), count=0xFFFFFFFF)
    with pytest.raises(UnknownObjectError, match="damaged"):
        store.read(ID)
    with pytest.raises(UnknownObjectError, match="damaged"):
        store.ids(ID.hex()[:4])


def test_an_object_that_differs_from_itself_has_an_end(tmp_path: Path) -> None:
    delta = b"\x05\x05\x90\x05"
    store = pack(tmp_path, ID, 7, len(delta), ID + zlib.compress(delta))
    with pytest.raises(UnknownObjectError, match="chain"):
        store.read(ID)


@pytest.mark.parametrize("kind", [3, 7])
def test_what_grows_beyond_what_it_says_is_left(tmp_path: Path, kind: int) -> None:
    """Ten thousand times its size, by the compression; or by a delta that copies its base again and again."""
    base, id = bytes(range(20)), ID
    copies = b"\xb0\xff\xff" * 1000  # 65,535 bytes from the beginning, each
    if kind == 3:
        store = pack(tmp_path, id, 3, 100, zlib.compress(bytes(200_000_000)))
    else:
        store = pack(
            tmp_path, id, 7, 6 + len(copies), base + zlib.compress(b"\xff\xff\x03\xff\xff\x03" + copies)
        )
        loose = tmp_path / "objects" / base.hex()[:2]
        loose.mkdir()
        (loose / base.hex()[2:]).write_bytes(zlib.compress(b"blob 65535\0" + bytes(65535)))
    tracemalloc.start()
    with pytest.raises(UnknownObjectError, match=r"size is another one|too large"):
        store.read(id)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
