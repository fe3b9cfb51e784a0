"""Empty directories that stand for protected names: where they come from and go to."""

from __future__ import annotations

import os
import sys

import pytest

from caliban_sandbox.ghosts import Ghosts
from caliban_sandbox.pool import GhostPool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")


def test_a_ghost_goes_back_to_the_pool_and_is_used_again(tmp_path):
    pool = GhostPool(str(tmp_path / "pool"))
    numbers = []
    for _ in range(2):
        ghosts = Ghosts(pool)
        assert ghosts.hold(str(tmp_path / "name"))
        numbers.append((tmp_path / "name").stat().st_ino)
        ghosts.close()
        assert not (tmp_path / "name").exists() and len(os.listdir(tmp_path / "pool")) == 1
    assert numbers[0] == numbers[1]
    assert (tmp_path / "pool").stat().st_mode & 0o777 == 0o700


def test_what_somebody_has_put_into_a_ghost_stays_where_it_is(tmp_path):
    ghosts = Ghosts(GhostPool(str(tmp_path / "pool")))
    assert ghosts.hold(str(tmp_path / "name"))
    (tmp_path / "name" / "mine").write_text("kept")
    os.utime(tmp_path / "name", (1, 1))  # as if it had not been touched
    ghosts.close()
    assert (tmp_path / "name" / "mine").read_text() == "kept"
    assert os.listdir(tmp_path / "pool") == []


@pytest.mark.parametrize("is_folder", [True, False])
def test_nothing_that_is_there_is_replaced(tmp_path, is_folder):
    pool = GhostPool(str(tmp_path / "pool"))
    before = Ghosts(pool)
    assert before.hold(str(tmp_path / "other"))
    before.close()
    place = tmp_path / "name"
    place.mkdir() if is_folder else place.write_text("kept")
    number = place.stat().st_ino
    ghosts = Ghosts(pool)
    assert ghosts.hold(str(place))
    ghosts.close()
    assert place.stat().st_ino == number


def test_without_a_pool_directories_are_made_and_removed(tmp_path):
    (tmp_path / "file").write_text("")
    for pool in (None, GhostPool(str(tmp_path / "file" / "below")), GhostPool("/proc/self/task")):
        ghosts = Ghosts(pool)
        assert ghosts.hold(str(tmp_path / "name"))
        ghosts.close()
        assert not (tmp_path / "name").exists()
