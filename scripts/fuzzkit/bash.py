"""What real bash runs and writes: recorder programs, and many lines in one process."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

NAMES = ("rec1", "rec2", "rec3")
FILES = ("a.txt", "b.txt", "sp ace", "-x")
_TIMEOUT_S = 60
_SINGLE_TIMEOUT_S = 5
_TOOLS = [
    "env",
    "nice",
    "xargs",
    "timeout",
    "nohup",
    "sh",
    "bash",
    "find",
    "sed",
    "split",
    "tar",
    "awk",
    "sort",
    "stdbuf",
    "setsid",
    "echo",
    "cat",
    "true",
    "false",
    "mkdir",
    "rm",
]
_RECORDER = '#!/bin/sh\nprintf \'%s\\0\' R "$(($# + 1))" "${0##*/}" "$@" >> "$RECORDS"\nexit 1\n'
_BATCH = r"""
exec 9>>"$RECORDS"
for name in rec1 rec2 rec3; do
    eval "$name() { printf '%s\0' R \$((\$# + 1)) $name \"\$@\" >&9; ((++__runs < 6)); }"
done
__fresh() { rm -rf ./* ./.[!.]*; mkdir sub; for __f in a.txt b.txt 'sp ace' -x; do printf x >"./$__f"; done; }
__changed() {
    set -- * .[!.]* sub/*
    __names="$*"
    [[ $__names != "$__clean" ]] && return 0
    for __f in ./a.txt ./b.txt './sp ace' ./-x; do
        IFS= read -r -N 9 __v <"$__f"
        [[ $__v == x ]] || return 0
    done
    return 1
}
__fresh
set -- * .[!.]* sub/*
__clean="$*"
mapfile -d '' __lines <"$LINES_FILE"
for __line in "${__lines[@]}"; do
    ( __runs=0; unset __lines; eval "$__line
"; wait ) </dev/null >/dev/null 2>&1
    if __changed; then
        for __f in * .[!.]* sub/*; do [[ -e $__f ]] && printf '%s\0' W "$__f" >&9; done
        for __f in ./a.txt ./b.txt './sp ace' ./-x; do
            __v=
            [[ -f $__f ]] && IFS= read -r -N 9 __v <"$__f"
            [[ $__v == x ]] || printf '%s\0' W "$__f" >&9
        done
        __fresh
    fi
    printf '%s\0' E >&9
done
"""


class Seen(NamedTuple):
    """The programs that ran, with their arguments, and the files that changed; `None` for one that hung."""

    runs: frozenset[tuple[str, ...]]
    written: frozenset[str]


class Bash:
    """A scratch directory with recorders on its search path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace, self.home, self.bin = root / "ws", root / "home", root / "bin"
        for folder in (self.workspace, self.home, self.bin):
            folder.mkdir()
        for name in NAMES:
            (self.bin / name).write_text(_RECORDER)
            (self.bin / name).chmod(0o755)
        for name in _TOOLS:
            real = shutil.which(name, path="/usr/bin:/bin")
            if real is not None:
                (self.bin / name).symlink_to(real)
        self.bash = shutil.which("bash", path="/bin:/usr/bin") or "bash"
        self.records = root / "records"
        self._around = contained(root)
        self._fresh()

    def batch(self, lines: Sequence[str]) -> list[Seen | None]:
        """What every line does, each in a subshell of one process."""
        self._fresh()
        source = self.root / "lines"
        source.write_bytes(b"".join(line.encode() + b"\0" for line in lines))
        env = {**self._environment(), "LINES_FILE": str(source)}
        self._call([self.bash, "--noprofile", "--norc", "-c", _BATCH], env, _TIMEOUT_S)
        seen = self._read()
        return [*seen, *[None] * (len(lines) - len(seen))]

    def single(self, line: str) -> Seen:
        """What one line does in a shell of its own, as the product starts it."""
        self._fresh()
        self._call(
            [self.bash, "--noprofile", "--norc", "-c", "--", line], self._environment(), _SINGLE_TIMEOUT_S
        )
        seen = self._read(open_end=True)
        written = {path.relative_to(self.workspace).as_posix() for path in self.workspace.rglob("*")}
        changed = {
            name
            for name in FILES
            if (self.workspace / name).is_file() and _text(self.workspace / name) != "x"
        }
        new = written - {*FILES, "sub"} | changed
        return Seen(seen[0].runs if seen else frozenset(), frozenset(new))

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": str(self.bin),
            "RECORDS": str(self.records),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
        }

    def _call(self, argv: list[str], env: dict[str, str], timeout_s: float) -> None:
        run_group([*self._around, *argv], self.workspace, env, timeout_s)

    def _fresh(self) -> None:
        self.records.write_bytes(b"")
        shutil.rmtree(self.workspace, ignore_errors=True)
        (self.workspace / "sub").mkdir(parents=True)
        for name in FILES:
            (self.workspace / name).write_text("x")

    def _read(self, *, open_end: bool = False) -> list[Seen]:
        fields = self.records.read_bytes().decode(errors="surrogateescape").split("\0")
        seen: list[Seen] = []
        runs: set[tuple[str, ...]] = set()
        written: set[str] = set()
        at = 0
        while at < len(fields) - 1:
            kind = fields[at]
            if kind == "R" and at + 1 < len(fields) and fields[at + 1].isdigit():
                size = int(fields[at + 1])
                runs.add(tuple(fields[at + 2 : at + 2 + size]))
                at += 2 + size
            elif kind == "W":
                written.add(fields[at + 1].removeprefix("./"))
                at += 2
            else:
                if kind == "E":
                    seen.append(Seen(frozenset(runs), frozenset(written - {*()})))
                    runs, written = set(), set()
                at += 1
        if open_end:
            seen.append(Seen(frozenset(runs), frozenset(written)))
        return seen


def _text(path: Path) -> str:
    return path.read_text(errors="replace")


def contained(root: Path) -> tuple[str, ...]:
    """What keeps a line to `root`, where bubblewrap is installed: a generated one may write anywhere."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    place = str(root.resolve())
    disk = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", place, place)
    return (program, "--die-with-parent", "--unshare-pid", "--unshare-net", *disk, "--")


def run_group(argv: list[str], folder: Path, env: dict[str, str], timeout_s: float) -> None:
    """Run a program without input and output, and end it with all that it has left in its group."""
    child = subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, 9)
    except ProcessLookupError:
        pass
    child.wait()
