"""What a start has loaded is kept in one file, and the next start of the command is made from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.conftest import Cli

pytestmark = pytest.mark.skipif(not hasattr(os, "pread"), reason="the file is read by pread")


WORD = b"(its own)"
SCRIPT = Path(sys.executable).parent / "caliban"


class Program:
    """The installed script, with a folder of its own for what the interpreter keeps."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self._environ = {**cli.env, "PYTHONPYCACHEPREFIX": str(folder)}
        self._environ.pop("PYTHONPATH", None)
        self._work = cli.work
        self._folder = folder

    def files(self) -> list[Path]:
        return sorted(self._folder.rglob("start.*.pack"))

    def run(self, **more: str) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [SCRIPT, "models", "--providers"], cwd=self._work, env=self._environ | more, capture_output=True
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def program(cli: Cli, tmp_path: Path) -> Program:
    return Program(cli, tmp_path / "kept")


def test_the_second_start_is_made_from_the_file_of_the_first(program: Program) -> None:
    code, out, _ = program.run()
    (place,) = program.files()
    assert (code, WORD in out) == (0, True)
    data = place.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head, codes = data[: 16 + length], data[16 + length :]
    # One word is changed in the file alone: where it is printed, the code came from there.
    place.write_bytes(head + codes.replace(WORD, WORD.swapcase()))
    code, out, _ = program.run()
    assert (code, WORD.swapcase() in out) == (0, True)


def test_garbage_in_its_place_changes_nothing(program: Program) -> None:
    first = program.run()
    (place,) = program.files()
    place.write_bytes(b"\x00garbage" * 1_000)
    assert program.run() == first
    assert place.stat().st_size > 100_000


def test_where_no_byte_code_may_be_written_there_is_no_file(program: Program) -> None:
    assert program.run(PYTHONDONTWRITEBYTECODE="1")[0] == 0
    assert program.files() == []


def test_modules_beside_the_installation_keep_the_file_out_of_it(program: Program, tmp_path: Path) -> None:
    assert program.run(PYTHONPATH=str(tmp_path))[0] == 0
    assert program.files() == []
