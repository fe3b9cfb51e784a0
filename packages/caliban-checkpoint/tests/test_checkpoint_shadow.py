"""What commands do to a workspace is told by looking at all of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest
from checkpoint_kit import Bench, tree

from caliban_checkpoint import CallFacts, Roots, Shadow, ShadowLimits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def make(work: Path) -> None:
    (work / "src").mkdir()
    (work / "src" / "naïve\n.txt").write_bytes(b"one")
    (work / "exe").write_bytes(b"#!/bin/sh\n")
    (work / "exe").chmod(0o755)
    (work / "link").symlink_to("src")
    (work / "bin").write_bytes(bytes(range(256)))


def wreck(work: Path) -> None:
    shutil.rmtree(work / "src")
    (work / "exe").chmod(0o600)
    (work / "link").unlink()
    (work / "link").symlink_to("/etc")
    (work / "bin").write_bytes(bytes(range(255, -1, -1)))
    (work / "made" / "deep").mkdir(parents=True)
    (work / "made" / "deep" / "file").write_bytes(b"x")
    (work / "made" / "to").symlink_to("deep")


def test_whatever_a_command_did_is_gone_back_from(bench: Bench) -> None:
    make(bench.work)
    before = tree(bench.work)
    bench.prompt()
    bench.command(wreck)
    assert tree(bench.work) != before
    bench.go_back(1)
    assert tree(bench.work) == before
    bench.go_back(2)
    after = tree(bench.work)
    bench.go_back(1)
    assert tree(bench.work) == before != after


def test_what_others_did_before_and_after_a_command_is_not_the_commands(bench: Bench) -> None:
    make(bench.work)
    bench.prompt()
    bench.command(lambda work: (work / "exe").write_bytes(b"2"))
    (bench.work / "bin").write_bytes(b"mine")
    bench.command(lambda work: (work / "new").write_bytes(b"1"))
    [manifest] = bench.manifests()
    assert {Path(entry.path).name for entry in manifest.entries} == {"exe", "new"}
    bench.go_back(1)
    assert (bench.work / "bin").read_bytes() == b"mine"


def test_the_second_process_knows_what_the_first_has_looked_at(bench: Bench) -> None:
    make(bench.work)
    bench.prompt()
    bench.command(lambda work: None)
    before = tree(bench.work)
    bench.restart()
    bench.prompt()
    bench.command(wreck)
    bench.go_back(2)
    assert tree(bench.work) == before


def test_two_processes_at_once_have_a_cache_each(bench: Bench) -> None:
    make(bench.work)
    place = bench.place / "shadow"
    one, other = Shadow(place, bench.roots), Shadow(place, bench.roots)
    names = ["exe", "bin"]
    assert one.scan(names) == other.scan(names) == []
    (bench.work / "exe").write_bytes(b"2")
    assert (
        [c.path for c in one.scan(names)] == [c.path for c in other.scan(names)] == [str(bench.work / "exe")]
    )
    one.close()
    other.close()
    assert sorted(path.name for path in place.iterdir()) == ["lock", "pack", "table"]


@pytest.mark.parametrize(
    "garbage", [b"", b"x", b"\x93\x01\x80\x80", b"\x93\x01\x80\x81\xa1x\x92\x00\xcd\xff\xff"]
)
def test_a_damaged_cache_is_begun_anew(bench: Bench, garbage: bytes) -> None:
    make(bench.work)
    bench.prompt()
    bench.command(lambda work: None)
    (bench.place / "shadow" / "table").write_bytes(garbage)
    before = tree(bench.work)
    bench.restart()
    bench.command(wreck)
    bench.go_back(1)
    assert tree(bench.work) == before


def test_ignored_files_nested_repositories_and_what_is_made_again_are_left_out(bench: Bench) -> None:
    make(bench.work)
    (bench.work / ".gitignore").write_text("*.log\n/out/\n")
    for name in ("out", "node_modules", ".git", "nested/.git"):
        (bench.work / name).mkdir(parents=True)
        (bench.work / name / "file").write_bytes(b"1")
    (bench.work / "a.log").write_bytes(b"1")
    bench.prompt()

    def change(work: Path) -> None:
        for name in ("out/file", "node_modules/file", ".git/file", "a.log", "exe"):
            (work / name).write_bytes(b"2")

    bench.command(change)
    [manifest] = bench.manifests()
    assert [Path(entry.path).name for entry in manifest.entries] == ["exe"]


def test_a_huge_file_is_told_of_when_a_command_changes_it(bench: Bench) -> None:
    bench.shadow_limits = ShadowLimits(file_bytes=10)
    bench.restart()
    (bench.work / "big").write_bytes(b"x" * 11)
    bench.prompt()
    bench.command(lambda work: (work / "big").write_bytes(b"y" * 12))
    [step] = bench.plan(1)
    assert step.kind == "impossible" and "11 bytes" in step.reason


@pytest.mark.parametrize("limits", [{"files": 2}, {"total_bytes": 5}, {"scan_s": -1.0}])
def test_beyond_its_bounds_a_workspace_is_not_watched_and_that_is_noted(bench: Bench, limits) -> None:
    bench.shadow_limits = ShadowLimits(**limits)
    bench.restart()
    make(bench.work)
    bench.prompt()
    bench.command(wreck)
    [manifest] = bench.manifests()
    assert manifest.entries == () and "what commands changed is not kept" in manifest.notes[0]


def test_ten_thousand_files_of_which_one_changes_keep_the_bytes_of_one(bench: Bench) -> None:
    for number in range(100):
        (bench.work / f"d{number}").mkdir()
        for other in range(100):
            (bench.work / f"d{number}" / f"f{other}").write_bytes(b"%d %d" % (number, other))
    bench.prompt()
    bench.command(lambda work: (work / "d7" / "f7").write_bytes(b"changed"))
    bench.command(lambda work: shutil.rmtree(work / "d8"))
    [manifest] = bench.manifests()
    assert len(manifest.entries) == 101
    bench.go_back(1)
    assert (bench.work / "d7" / "f7").read_bytes() == b"7 7"
    assert len(list((bench.work / "d8").iterdir())) == 100


def test_a_directory_that_became_a_link_is_not_looked_behind(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "d").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (work / "d").rmdir()
    (work / "d").symlink_to(outside)
    shadow = Shadow(tmp_path / "place", Roots([work]))
    shadow.scan(["d/secret"])
    (outside / "secret").write_bytes(b"other")
    assert shadow.scan(["d/secret"]) == []
    assert b"secret" not in (tmp_path / "place" / "pack").read_bytes()


def test_odd_repositories_are_listed(bench: Bench) -> None:
    make(bench.work)
    for command in (["init", "-q"], ["config", "core.bare", "true"]):
        subprocess.run(["git", *command], cwd=bench.work, check=True, capture_output=True)
    (bench.work / ".git" / "HEAD").write_text("nothing\n")
    (bench.work / ".git" / "index").write_bytes(b"garbage")
    before = {name: state for name, state in tree(bench.work).items() if not name.startswith(".git")}
    bench.prompt()
    bench.command(wreck)
    bench.go_back(1)
    after = {name: state for name, state in tree(bench.work).items() if not name.startswith(".git")}
    assert after == before
    assert os.listdir(bench.work / ".git")


def test_names_that_are_no_text_are_left_alone(bench: Bench) -> None:
    make(bench.work)
    odd = os.fsencode(bench.work) + b"/\xff"
    os.symlink(b"\xfe", os.fsencode(bench.work) + b"/to")
    bench.prompt()

    def change(work: Path) -> None:
        with open(odd, "wb") as file:
            file.write(b"x")
        (work / "to").unlink()
        (work / "exe").write_bytes(b"2")

    bench.command(change)
    [manifest] = bench.manifests()
    assert [Path(entry.path).name for entry in manifest.entries] == ["exe"]
    assert bench.words == []


def test_a_file_that_is_rewritten_within_one_tick_of_the_clock_is_seen(bench: Bench) -> None:
    path = bench.work / "a"
    path.write_bytes(b"1")
    bench.prompt()
    for number in range(20):
        bench.command(lambda work, number=number: path.write_bytes(b"%d" % (number % 10)))
        os.utime(path, ns=(1, 1))
    bench.go_back(1, force=True)
    assert path.read_bytes() == b"1"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_any_event_loop_will_do_and_a_cancelled_command_is_looked_at(bench: Bench, backend: str) -> None:
    make(bench.work)
    before = tree(bench.work)
    bench.backend = backend
    bench.prompt()
    bench.write("exe", b"2")
    bench.command(lambda work: (work / "bin").write_bytes(b"2"))

    async def cancelled() -> None:
        call = CallFacts(tool_name="Bash", tool_use_id="cut")
        with anyio.CancelScope() as scope:
            await bench.recorder.before_command(call)
            try:
                (bench.work / "left").write_bytes(b"x")
                scope.cancel()
                await anyio.sleep_forever()
            finally:
                await bench.recorder.after_command(call)

    anyio.run(cancelled, backend=backend)
    [manifest] = bench.manifests()
    assert {Path(entry.path).name for entry in manifest.entries} == {"exe", "bin", "left"}
    assert manifest.running == ()
    bench.go_back(1)
    assert tree(bench.work) == before
