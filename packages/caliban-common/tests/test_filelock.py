"""Locks on open files."""

from __future__ import annotations

import os
from pathlib import Path

from caliban_common.filelock import is_at, try_lock, unlock


def test_one_holds_it_until_it_lets_go_or_closes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    one, other = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert try_lock(one) and not try_lock(other)
    unlock(one)
    assert try_lock(other) and not try_lock(one)
    os.close(other)
    assert try_lock(one)
    os.close(one)


def test_a_file_that_was_replaced_or_removed_is_no_longer_at_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    assert is_at(descriptor, path)
    (tmp_path / "y").touch()
    os.replace(tmp_path / "y", path)
    assert not is_at(descriptor, path)
    path.unlink()
    assert not is_at(descriptor, path)
    os.close(descriptor)
