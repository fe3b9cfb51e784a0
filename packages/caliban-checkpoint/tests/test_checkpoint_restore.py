"""What is kept before a change, and what going back does with it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest
from checkpoint_kit import Bench, tree

from caliban_checkpoint import (
    CheckpointFailed,
    CheckpointStore,
    Manifest,
    PlaceRefused,
    Restorer,
    Roots,
    paired,
)


def kinds(steps) -> dict[str, str]:
    return {Path(step.path).name: step.kind for step in steps}


def test_the_first_capture_of_a_prompt_counts(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    bench.prompt()
    bench.write("a", b"2")
    bench.write("a", b"3")
    [manifest] = bench.manifests()
    [entry] = manifest.entries
    assert (entry.before.size, entry.exists_pre, entry.is_open) == (1, True, False)
    bench.go_back(1)
    assert (bench.work / "a").read_bytes() == b"1"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o444, 0o4755])
@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbfa\r\nb\r\n", bytes(range(256)), b"no end"])
def test_bytes_and_modes_come_back(bench: Bench, data: bytes, mode: int) -> None:
    path = bench.work / "a"
    path.write_bytes(data)
    path.chmod(mode)
    bench.prompt()

    def change(path: Path) -> None:
        path.unlink()
        path.write_bytes(b"other")

    bench.edit("a", change)
    bench.go_back(1)
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777


def test_new_files_go_with_their_directories_and_what_else_is_in_them_stays(bench: Bench) -> None:
    bench.prompt()
    bench.write("x/y/a", b"1")
    bench.write("z/b", b"1")
    (bench.work / "z" / "mine").write_bytes(b"mine")
    bench.go_back(1)
    assert tree(bench.work) == {"z": (0, "directory"), "z/mine": (0o644, b"mine")}


def test_a_deleted_file_comes_back_in_a_directory_that_is_gone(bench: Bench) -> None:
    (bench.work / "d").mkdir()
    (bench.work / "d" / "a").write_bytes(b"1")
    before = tree(bench.work)
    bench.prompt()
    bench.command(lambda work: ((work / "d" / "a").unlink(), (work / "d").rmdir()))
    assert tree(bench.work) == {}
    bench.go_back(1)
    assert tree(bench.work) == before


def test_a_change_of_somebody_else_is_a_conflict_and_force_keeps_it_for_later(bench: Bench) -> None:
    path = bench.work / "a"
    path.write_bytes(b"1")
    bench.prompt()
    bench.write("a", b"2")
    path.write_bytes(b"mine")
    assert [(step.kind, step.reason) for step in bench.plan(1)] == [
        ("conflict", "somebody else changed it since")
    ]
    bench.go_back(1, force=True)
    assert path.read_bytes() == b"1"
    bench.go_back(2)
    assert path.read_bytes() == b"mine"


def test_a_change_of_somebody_else_between_two_prompts_is_a_conflict(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    bench.prompt()
    bench.write("a", b"2")
    (bench.work / "a").write_bytes(b"mine")
    bench.prompt()
    bench.write("a", b"mine and ours")
    assert kinds(bench.plan(1)) == {"a": "conflict"}
    assert kinds(bench.plan(2)) == {"a": "restore"}


def test_a_change_of_somebody_else_within_a_prompt_is_a_conflict(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    bench.prompt()
    bench.write("a", b"2")
    (bench.work / "a").write_bytes(b"mine")
    bench.write("a", b"3")
    assert kinds(bench.plan(1)) == {"a": "conflict"}


def test_going_back_is_gone_back_from_and_forth(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    states = [tree(bench.work)]
    for number in (1, 2, 3):
        bench.prompt()
        bench.write("a", b"%d" % (number + 1))
        bench.write(f"n{number}", b"new")
        states.append(tree(bench.work))
    bench.go_back(1)
    assert tree(bench.work) == states[0]
    bench.go_back(4)  # what the rewind itself has overwritten
    assert tree(bench.work) == states[3]
    bench.go_back(2)
    assert tree(bench.work) == states[1]
    bench.prompt()
    bench.restart()
    bench.write("a", b"other")
    bench.go_back(2)
    assert tree(bench.work) == states[1]


@pytest.mark.parametrize("planted", ["file", "directory"])
def test_a_planted_link_is_met_and_not_followed(bench: Bench, tmp_path: Path, planted: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"safe")
    bench.prompt()
    (bench.work / "d").mkdir()
    (bench.work / "d" / "a").write_bytes(b"1")
    bench.write("d/a", b"2")
    (bench.work / "d" / "a").unlink()
    if planted == "file":
        (bench.work / "d" / "a").symlink_to(outside / "a")
    else:
        (bench.work / "d").rmdir()
        (bench.work / "d").symlink_to(outside)
    [step] = bench.plan(1)
    assert step.kind == ("conflict" if planted == "file" else "impossible")
    bench.go_back(1, force=True)
    assert (outside / "a").read_bytes() == b"safe"
    assert sorted(os.listdir(outside)) == ["a"]


def test_a_link_swapped_in_again_and_again_leads_nowhere(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.work / "d").mkdir()
    (bench.work / "d" / "a").write_bytes(b"1")
    bench.prompt()
    bench.write("d/a", b"2")
    manifests = bench.manifests()
    store = CheckpointStore(bench.place, "s")
    store.load()
    restorer = Restorer(store, bench.roots)
    child = os.fork()
    if child == 0:  # swaps the directory for a link until it is stopped
        try:
            while True:
                os.rename(bench.work / "d", bench.work / "e")
                os.symlink(outside, bench.work / "d")
                os.unlink(bench.work / "d")
                os.rename(bench.work / "e", bench.work / "d")
        finally:
            os._exit(1)
    try:
        for number in range(300):
            try:
                steps = restorer.plan(manifests, 1)
                restorer.apply(steps, Manifest(prompt_index=2 + number, kind="rewind"))
            except (PlaceRefused, CheckpointFailed):
                pass
            except Exception as error:
                assert type(error).__name__ == "RestoreRefused", error
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert os.listdir(outside) == []


def test_damaged_bytes_are_refused_before_anything_is_changed(bench: Bench) -> None:
    for name in ("a", "b"):
        (bench.work / name).write_bytes(name.encode())
    bench.prompt()
    bench.write("a", b"2")
    bench.write("b", b"2")
    for blob in bench.place.glob("checkpoints/s/prompt-001/blobs/*"):
        if blob.read_bytes() == b"b":
            blob.write_bytes(b"x")
    assert kinds(bench.plan(1)) == {"a": "restore", "b": "impossible"}


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"prompt_index": "x"}',
        b'{"prompt_index": 7}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_garbage_for_a_manifest_is_named_and_passed_over(bench: Bench, garbage: bytes) -> None:
    bench.prompt()
    bench.write("a", b"1")
    bench.prompt()
    bench.write("b", b"1")
    path = bench.place / "checkpoints" / "s" / "prompt-001" / "manifest.json"
    path.write_bytes(garbage)
    manifests, problems = CheckpointStore(bench.place, "s").load()
    assert [(one.prompt_index, one.kind) for one in manifests] == [(1, "damaged"), (2, "files")]
    assert len(problems) == 1 and str(path) in problems[0]
    bench.restart()
    bench.write("b", b"2")
    assert path.read_bytes() == garbage


@pytest.mark.parametrize("damaged", [(1,), (2,), (3,), (1, 2), (2, 3), (1, 2, 3)])
def test_a_damaged_manifest_keeps_its_number_and_what_is_kept_beside_it(
    bench: Bench, damaged: tuple[int, ...]
) -> None:
    for name in "abc":
        bench.prompt()
        bench.write(name, b"1")
    paths = [bench.place / "checkpoints" / "s" / f"prompt-{n:03}" / "manifest.json" for n in damaged]
    for path in paths:
        path.write_bytes(b"{")
    written, missing = paired(CheckpointStore(bench.place, "s").load()[0], bench.points, now="")
    numbers = [(one.prompt_index, one.prompt_id, one.kind == "damaged") for one in written]
    assert numbers == [(n, f"m{n}", n in damaged) for n in (1, 2, 3)]
    assert missing == []
    bench.restart()
    bench.prompt()
    bench.write("d", b"1")
    assert [path.read_bytes() for path in paths] == [b"{"] * len(paths)
    last = CheckpointStore(bench.place, "s").load()[0][-1]
    assert (last.prompt_index, last.prompt_id) == (4, "m4")


def test_a_damaged_manifest_that_was_of_no_prompt_takes_the_number_of_none(bench: Bench) -> None:
    bench.prompt()
    bench.write("a", b"1")
    bench.go_back(1)
    bench.prompt()
    bench.restart()
    bench.write("a", b"2")
    (bench.place / "checkpoints" / "s" / "prompt-002" / "manifest.json").write_bytes(b"")
    written, missing = paired(CheckpointStore(bench.place, "s").load()[0], bench.points, now="")
    assert [(one.prompt_index, one.prompt_id) for one in written] == [(1, "m1"), (2, ""), (3, "m2")]
    assert missing == []


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x",
        "{work}/../x",
        "{work}/.git/config",
        "{work}/.GIT/config",
        "{work}",
        "{work}//a",
        "a\0b",
    ],
)
def test_a_manifest_cannot_name_what_lies_outside_or_is_gits_own(bench: Bench, path: str) -> None:
    name = path.format(work=bench.work)
    with pytest.raises(PlaceRefused):
        Roots([bench.work]).place(name)
    bench.prompt()
    bench.write("a", b"1")
    file = bench.place / "checkpoints" / "s" / "prompt-001" / "manifest.json"
    data = msgspec.json.decode(file.read_bytes())
    data["entries"][0]["path"] = name
    file.write_bytes(msgspec.json.encode(data))
    assert [step.kind for step in bench.plan(1)] == ["impossible"]
    bench.go_back(1, force=True)
    assert (bench.work / "a").read_bytes() == b"1"


def test_what_is_no_file_is_told_in_words(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    os.mkfifo(bench.work / "pipe")
    bench.prompt()
    bench.edit("pipe", lambda path: (path.unlink(), path.write_bytes(b"x")))
    bench.write("a", b"2")
    (bench.work / "a").unlink()
    (bench.work / "a").mkdir()
    assert {Path(s.path).name: (s.kind, s.reason) for s in bench.plan(1)} == {
        "a": ("conflict", "it is a directory now"),
        "pipe": ("impossible", "it was not kept: it is a named pipe"),
    }


def test_a_file_beyond_the_bound_is_changed_and_said_to_be_lost(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    bench = Bench(tmp_path / "root", work, file_bytes=10)
    (work / "big").write_bytes(b"x" * 11)
    bench.prompt()
    bench.write("big", b"y")
    [manifest] = bench.manifests()
    assert manifest.partial
    [step] = bench.plan(1)
    assert (step.kind, step.reason) == (
        "impossible",
        "it was not kept: its 11 bytes are more than is kept of one file",
    )


def test_a_prompt_keeps_so_many_bytes_and_says_what_it_does_not(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    bench = Bench(tmp_path / "root", work, prompt_bytes=10)
    for name in ("a", "b"):
        (work / name).write_bytes(name.encode() * 6)
    bench.prompt()
    bench.write("a", b"2")
    bench.write("b", b"2")
    assert kinds(bench.plan(1)) == {"a": "restore", "b": "impossible"}


def test_the_oldest_bytes_go_first_and_never_those_of_the_prompt_at_work(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    bench = Bench(tmp_path / "root", work, total_bytes=20)
    for number in range(4):
        (work / f"f{number}").write_bytes(b"%d" % number * 12)
        bench.prompt()
        bench.write(f"f{number}", b"new")
        folder = bench.place / "checkpoints" / "s" / f"prompt-{number + 1:03d}"
        os.utime(folder, (number, number))
    bench.prompt()
    bench.write("other", b"x")
    assert [m.kind for m in bench.manifests()] == ["cleared", "cleared", "cleared", "files", "files"]
    assert kinds(bench.plan(4)) == {"f3": "restore", "other": "delete"}
    [step] = [step for step in bench.plan(1) if step.path.endswith("f0")]
    assert (step.kind, step.reason) == ("impossible", "its bytes were given up for room")


def test_what_is_kept_is_for_its_owner_only(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    bench.prompt()
    bench.write("a", b"2")
    bench.command(lambda work: (work / "a").write_bytes(b"3"))
    paths = list(bench.place.rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}


def test_the_same_bytes_are_stored_once(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"1")
    for _ in range(3):
        bench.prompt()
        bench.write("a", b"2")
        bench.prompt()
        bench.write("a", b"1")
    blobs = list(bench.place.glob("checkpoints/s/*/blobs/*"))
    assert len({path.stat().st_ino for path in blobs}) == 2 and len(blobs) == 6


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_store_that_cannot_be_written_is_told_once_and_keeps_no_call_from_running(bench: Bench) -> None:
    bench.place.mkdir(parents=True)
    bench.place.chmod(0o500)
    bench.prompt()
    bench.write("a", b"1")
    bench.write("b", b"1")
    bench.place.chmod(0o700)
    assert (bench.work / "b").read_bytes() == b"1"
    assert len(bench.words) == 2 and "cannot be taken back" in bench.words[0]


def test_a_session_directory_that_is_a_link_is_not_written_behind(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (bench.place / "checkpoints").mkdir(parents=True)
    (bench.place / "checkpoints" / "s").symlink_to(elsewhere)
    bench.prompt()
    (bench.work / "a").write_bytes(b"1")
    bench.write("a", b"2")
    assert [path for path in elsewhere.rglob("*") if path.is_file()] == []
    assert "is a link" in bench.words[0]
