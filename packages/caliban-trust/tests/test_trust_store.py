"""The file of consents: kept for its owner, lost by nobody, believed only where it is whole and ours."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from extent_kit import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caliban_trust import (
    Consent,
    ConsentNotKept,
    ConsentsUnusable,
    ProjectRoot,
    TrustStore,
    project_root,
    trust_item,
    trust_surface,
)

needs_posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are those of POSIX")


def consent(path: str, content: bytes = b"x", shown: str = "x") -> Consent:
    surface = trust_surface([trust_item("rules", "p", "n", content, shown=shown)])
    return Consent(
        root=ProjectRoot(path=path, device="1", inode=str(2**127)),
        digest=surface.digest,
        trusted_at="2026-11-28T12:00:00+00:00",
        items=surface.items,
    )


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "data" / "trust" / "projects.json")


def test_a_consent_is_kept_found_replaced_and_revoked(store):
    assert (store.consents(), store.find(consent("/a").root), store.revoke("/a")) == ((), None, None)
    store.keep(consent("/b"))
    store.keep(consent("/a"))
    store.keep(consent("/a", b"y"))
    assert store.consents() == (consent("/a", b"y"), consent("/b"))
    assert store.find(consent("/a").root) == consent("/a", b"y")
    assert store.revoke("/a") == consent("/a", b"y")
    assert store.consents() == (consent("/b"),)
    assert (store.revoke_all(), store.revoke_all(), store.consents()) == (1, 0, ())


@needs_posix
def test_the_file_and_its_folder_are_for_their_owner_only(store):
    previous = os.umask(0)
    try:
        store.keep(consent("/a"))
    finally:
        os.umask(previous)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (store.path, store.path.parent)]
    assert modes == [0o600, 0o700]


def test_long_words_are_not_kept_but_the_digest_of_them_is(store):
    long = consent("/a", shown="x" * 5000)
    store.keep(long)
    kept = store.consents()[0]
    assert (kept.items[0].shown, kept.items[0].digest, kept.digest) == (
        "",
        long.items[0].digest,
        long.digest,
    )


def test_a_path_that_is_no_text_is_refused_and_nothing_is_written(store):
    store.keep(consent("/a"))
    before = store.path.read_bytes()
    with pytest.raises(ConsentNotKept):
        store.keep(consent("/\udc80"))
    assert store.path.read_bytes() == before


def test_writers_at_once_lose_nothing(store):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.keep(consent(f"/{number:02}")), range(12)))
    assert [kept.root.path for kept in store.consents()] == [f"/{number:02}" for number in range(12)]


def test_a_reader_never_sees_half_a_file(store):
    store.keep(consent("/0"))
    with ThreadPoolExecutor(4) as pool:
        writes = [pool.submit(store.keep, consent(f"/{number}")) for number in range(20)]
        while not all(write.done() for write in writes):
            assert store.consents()
        for write in writes:
            write.result()


def link_file(store):
    real = store.path.rename(store.path.with_name("real.json"))
    store.path.symlink_to(real)


def link_folder(store):
    real = store.path.parent.rename(store.path.parent.with_name("real"))
    store.path.parent.symlink_to(real)


def link_above(store):
    above = store.path.parent.parent
    real = above.rename(above.with_name("real"))
    above.symlink_to(real)


def hard_link(store):
    os.link(store.path, store.path.with_name("other"))


def pipe(store):
    store.path.unlink()
    os.mkfifo(store.path)


def folder(store):
    store.path.unlink()
    store.path.mkdir(mode=0o700)


def group_may_write(store):
    store.path.chmod(0o620)


def all_may_write(store):
    store.path.chmod(0o602)


def group_may_write_the_folder(store):
    store.path.parent.chmod(0o770)


@needs_posix
@pytest.mark.parametrize(
    "plant",
    [
        link_file,
        link_folder,
        link_above,
        hard_link,
        pipe,
        folder,
        group_may_write,
        all_may_write,
        group_may_write_the_folder,
    ],
)
def test_a_file_that_others_could_have_put_there_is_not_believed_nor_written(store, plant):
    store.keep(consent("/a"))
    plant(store)
    for use in (
        store.consents,
        lambda: store.keep(consent("/b")),
        lambda: store.revoke("/a"),
        store.revoke_all,
    ):
        with pytest.raises(ConsentsUnusable):
            use()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_of_somebody_else_is_not_believed(store, what):
    store.keep(consent("/a"))
    os.chown(store.path if what == "file" else store.path.parent, 12345, 12345)
    with pytest.raises(ConsentsUnusable, match="belongs to another user"):
        store.consents()


WHOLE = json.dumps(
    {
        "version": 1,
        "projects": [
            {
                "root": {"path": "/a", "device": "1", "inode": "2"},
                "digest": "0" * 64,
                "trusted_at": "now",
                "items": [],
            }
        ],
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        WHOLE[:-1],
        WHOLE + "x",
        WHOLE.replace('"version": 1', '"version": 2'),
        WHOLE.replace('"version": 1', '"version": "1"'),
        WHOLE.replace('"version": 1', '"version": 1, "more": 1'),
        WHOLE.replace("0" * 64, "0" * 63),
        WHOLE.replace("0" * 64, "0" * 63 + "G"),
        WHOLE.replace("0" * 64, ""),
        WHOLE.replace('"inode": "2"', '"inode": 2'),
        WHOLE.replace('"items": []', '"items": [{}]'),
        json.dumps({"version": 1, "projects": json.loads(WHOLE)["projects"] * 2}),
        "[" * 100_000,
        "\xff\xfe",
    ],
)
def test_a_damaged_file_is_named_and_believed_in_no_part(store, text):
    store.keep(consent("/a"))
    store.path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConsentsUnusable, match="no project is trusted"):
        store.consents()
    with pytest.raises(ConsentsUnusable):
        store.keep(consent("/b"))
    assert store.path.read_bytes() == text.encode("latin-1")  # what is in it is for a person to look at
    assert (store.revoke_all(), store.consents()) == (0, ())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200))
@given(st.binary(max_size=200), st.integers(0, 400))
def test_garbage_in_the_file_is_damage_or_the_same_consents(store, garbage, at):
    store.keep(consent("/a"))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:at] + garbage + whole[at + len(garbage) :])
    try:
        consents = store.consents()
    except ConsentsUnusable:
        pass
    else:
        assert all(len(bytes.fromhex(kept.digest)) == 32 for kept in consents)
    finally:
        store.path.write_bytes(whole)


def test_a_huge_file_is_not_read(store):
    store.keep(consent("/a"))
    with store.path.open("r+b") as file:
        file.truncate(17 << 20)
    with pytest.raises(ConsentsUnusable, match="more than"):
        store.consents()


def test_a_lock_that_is_a_pipe_is_no_reason_to_wait(store):
    store.keep(consent("/a"))
    lock = store.path.with_suffix(".lock")
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(ConsentNotKept, match="no regular file"):
        store.keep(consent("/b"))


def test_the_root_of_a_real_folder_can_be_kept(store, tmp_path):
    surface = trust_surface([trust_item("rules", "p", "n", b"x", shown="")])
    root = project_root(tmp_path)
    store.keep(Consent(root=root, digest=surface.digest, trusted_at="now", items=surface.items))
    assert store.find(root).root == root
