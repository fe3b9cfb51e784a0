"""The command as a user whom the modes of files bind: root too, once it has given up what lets it pass."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_kit import Cli, Finished
from hang_guard import HANG_S

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def obey_modes() -> None:
    """Give up, in a process that is about to start a program, what lets root pass any mode."""
    if sys.platform == "linux":
        for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, right, 0, 0, 0)


def _modes_bind(folder: Path) -> bool:
    words = [sys.executable, "-c", "import os, sys; os.scandir(sys.argv[1])", str(folder)]
    tried = subprocess.run(words, preexec_fn=obey_modes, capture_output=True, timeout=HANG_S, check=False)
    return tried.returncode != 0


@contextmanager
def closed(folder: Path, mode: int = 0) -> Iterator[Path]:
    """For the length of a block nobody may enter the folder, or only as its mode says; it is made first."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    try:
        if mode == 0 and not _modes_bind(folder):
            pytest.skip("the modes of files do not bind this user, and it cannot become another")
        yield folder
    finally:
        folder.chmod(0o700)


def run_bound(cli: Cli, *args: str) -> Finished:
    """Run the command to its end as somebody whom modes bind."""
    process = cli.start(*args, preexec_fn=obey_modes)
    out, err = process.communicate(timeout=HANG_S)
    return Finished(code=process.returncode, out=out.decode(), err=err.decode())
