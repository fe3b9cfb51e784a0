"""The store: one step between the old and the new, whoever is killed, and nothing is left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_plugins import InstalledPlugin, NoSuchPlugin, PluginRecords, PluginStore, StoreUnusable
from caliban_plugins.record import InstalledVersion
from caliban_plugins.source import PluginSource
from caliban_plugins.store import switched, updated
from caliban_plugins.tree import read_tree, tree_digest, write_file


def staged(place: Path, text: str) -> tuple[Path, str]:
    root = place / "plugin"
    write_file(root, "plugin.json", text.encode(), executable=False)
    return root, tree_digest(read_tree(root))


def install(store: PluginStore, text: str) -> InstalledPlugin:
    with store.staging() as place:
        root, digest = staged(place, text)

        def change(records: PluginRecords) -> PluginRecords:
            stamp = store.put("p", root, digest)
            now = InstalledVersion(
                version=text, digest=digest, manifest_sha256="", stamp=stamp, installed_at=""
            )
            before = records.plugin("p")
            made = InstalledPlugin(name="p", source=PluginSource(kind="folder", at="/x"), current=now)
            return replace(records, plugins=(made if before is None else updated(before, now),))

        made = store.change(change).plugin("p")
    assert made is not None
    return made


def test_a_version_before_is_kept_and_those_before_it_are_not(tmp_path: Path) -> None:
    store = PluginStore(tmp_path / "plugins")
    for text in ("one", "two", "three"):
        made = install(store, text)
    assert made.previous is not None and made.previous.version == "two"
    assert len(list((store.root / "trees" / "p").iterdir())) == 2
    back = switched(made)
    store.change(lambda records: replace(records, plugins=(back,)))
    assert (store.root_of(back) / "plugin.json").read_text() == "two"
    assert switched(back) == made
    with pytest.raises(NoSuchPlugin):
        switched(replace(made, previous=None))
    store.change(lambda records: PluginRecords())
    assert not store.root.exists()


def test_who_is_killed_before_the_records_leaves_the_old_version(tmp_path: Path) -> None:
    store = PluginStore(tmp_path / "plugins")
    old = install(store, "one")
    child = os.fork()
    if child == 0:
        with store.staging() as place:
            root, digest = staged(place, "two")
            store.put("p", root, digest)
            os._exit(0)  # in the middle: the tree is there, nobody has named it, the staging is left
    os.waitpid(child, 0)
    record = PluginStore(tmp_path / "plugins").records().plugin("p")
    assert record == old
    assert store.is_whole(old)
    assert len(list(store.root.glob(".staging-*"))) == 1
    new = install(store, "three")
    assert store.is_whole(new)
    assert list(store.root.glob(".staging-*")) == []
    assert len(list((store.root / "trees" / "p").iterdir())) == 2  # that of the killed one is gone


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    store = PluginStore(tmp_path / "plugins")
    old = install(store, "one")

    def broken(records: PluginRecords) -> PluginRecords:
        raise CalibanError("no")

    with pytest.raises(CalibanError):
        store.change(broken)
    assert store.records().plugin("p") == old
    install(store, "two")  # the lock was let go


def test_files_that_changed_are_seen(tmp_path: Path) -> None:
    store = PluginStore(tmp_path / "plugins")
    made = install(store, "one")
    path = store.root_of(made) / "plugin.json"
    path.touch()
    assert store.is_whole(made)  # another time is no other content
    path.write_text("other")
    assert not store.is_whole(made)
    assert store.is_whole(install(store, "one"))  # installed again, it is put right
    path.unlink()
    assert not store.is_whole(made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"version": 2}',
        '{"plugins": 3}',
        '{"version": 1, "x": 1}',
        '{"plugins": [{"name": "p"}]}',
        "\xff",
    ],
)
def test_records_that_are_damaged_are_believed_in_nothing(tmp_path: Path, text: str) -> None:
    store = PluginStore(tmp_path / "plugins")
    install(store, "one")
    store.path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreUnusable):
        store.records()


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_write_to_is_not_read(tmp_path: Path, mode: int) -> None:
    store = PluginStore(tmp_path / "plugins")
    install(store, "one")
    store.root.chmod(mode)
    with pytest.raises(StoreUnusable, match="can be written by others"):
        store.records()
    store.root.chmod(0o700)
    (tmp_path / "link").symlink_to("plugins")
    with pytest.raises(StoreUnusable, match="is a link"):
        PluginStore(tmp_path / "link").records()


def test_a_lock_whose_file_was_removed_by_the_one_before_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PluginStore(tmp_path / "plugins")
    path = store.root / ".lock"
    tries = []

    def lock_once_removed(descriptor: int) -> bool:
        tries.append(descriptor)
        if len(tries) == 1:
            path.unlink()
        if len(tries) == 2:
            shutil.rmtree(store.root)
        return try_lock(descriptor)

    monkeypatch.setattr("caliban_plugins.store.try_lock", lock_once_removed)

    def change(records: PluginRecords) -> PluginRecords:
        descriptor = os.open(path, os.O_RDWR)
        assert not try_lock(descriptor)  # another process would find the same
        os.close(descriptor)
        return records

    store.change(change)
    assert len(tries) == 3


def test_a_tree_that_is_put_while_another_process_waits_is_not_removed_by_it(tmp_path: Path) -> None:
    store = PluginStore(tmp_path / "plugins")
    ours, theirs = os.pipe()

    def tidy() -> None:
        os.read(ours, 1)  # the tree is in its place, and nothing names it yet
        PluginStore(store.root).change(lambda records: replace(records, projects=records.projects))

    child = os.fork()
    if child == 0:
        tidy()
        os._exit(0)
    with store.staging() as place:
        root, digest = staged(place, "one")

        def change(records: PluginRecords) -> PluginRecords:
            stamp = store.put("p", root, digest)
            os.write(theirs, b"x")
            now = InstalledVersion(
                version="1", digest=digest, manifest_sha256="", stamp=stamp, installed_at=""
            )
            source = PluginSource(kind="folder", at="/x")
            return replace(records, plugins=(InstalledPlugin(name="p", source=source, current=now),))

        store.change(change)
    assert os.waitpid(child, 0)[1] == 0
    record = store.records().plugin("p")
    assert record is not None and store.is_whole(record)
