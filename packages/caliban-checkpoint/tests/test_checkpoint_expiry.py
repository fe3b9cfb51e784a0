"""Checkpoints that go with their session: whole or not at all, and nothing else with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from checkpoint_kit import Bench, tree
from test_checkpoint_kills import counted, kill_at

from caliban_checkpoint import CheckpointStore
from caliban_checkpoint.expiry import remove_checkpoints


def two_sessions(tmp_path: Path, number: int = 0) -> tuple[Path, str]:
    """The directory of a workspace in which two sessions have kept something, and the name of the first."""
    home = tmp_path / f"t{number}"
    (home / "work").mkdir(parents=True)
    bench = Bench(home / "root", home / "work")
    bench.prompt()
    bench.write("a", b"x")
    folder = bench.store.directory
    other = folder.with_name("other")
    other.mkdir()
    (other / "kept").write_text("x")
    return bench.place, folder.name


def test_one_session_goes_and_the_other_stays_and_with_the_last_one_all_goes(tmp_path: Path) -> None:
    place, name = two_sessions(tmp_path)
    (place / "shadow").mkdir(exist_ok=True)
    (place / "shadow" / "lock").touch()
    assert remove_checkpoints(place, name)
    assert [path.name for path in (place / "checkpoints").iterdir()] == ["other"]
    assert (place / "shadow").is_dir()
    assert not remove_checkpoints(place, name)
    assert remove_checkpoints(place, "other")
    assert not place.exists()


@pytest.mark.parametrize("what", ["place", "checkpoints", "session"])
def test_no_link_is_followed(tmp_path: Path, what: str) -> None:
    place, name = two_sessions(tmp_path)
    real = {"place": place, "checkpoints": place / "checkpoints", "session": place / "checkpoints" / name}[
        what
    ]
    moved = tmp_path / "moved"
    real.rename(moved)
    real.symlink_to(moved)
    before = tree(moved)
    assert not remove_checkpoints(place, name)
    assert tree(moved) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_removal_that_is_killed_anywhere_leaves_the_session_whole_or_gone(tmp_path: Path) -> None:
    number, is_killed, outcomes = 0, True, set()
    while is_killed:
        number += 1
        place, name = two_sessions(tmp_path, number)
        status = counted(lambda place=place, name=name: remove_checkpoints(place, name), kill_at(number))
        is_killed = os.WIFSIGNALED(status)
        manifests, problems = CheckpointStore(place, name).load()
        assert problems == []
        outcomes.add(len(manifests))
        assert (place / "checkpoints" / "other" / "kept").exists()
        remove_checkpoints(place, name)
        remove_checkpoints(place, "other")
        assert not place.exists()
    assert outcomes == {0, 1} and number > 3
