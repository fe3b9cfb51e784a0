"""Lines of what only reads: what is let by may run, write and tell nothing.

Under no rules at all nobody is asked; under rules that deny reading some files, and allow everything else,
nothing of these files may be told.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Rule, RuleSet
from fuzzkit.bash import contained, run_group
from fuzzkit.main import Miss
from fuzzkit.readers import FILES, reading_line
from fuzzkit.shrink import shrink

_SPEC = ToolSpec(name="Bash", description="", input_schema={}, kind="execute", roles={"command": "command"})
_ROUND = 150
_TRIED = 600
"""How many lines are judged for a round, at most: many ask."""

_MARK = "7f3a-told-91bc"
_DENIED = ("Read(**/.env)", "Read(~/**)")
_RECORDER = '#!/bin/sh\nprintf x >"$RAN"\n'
_SECONDS = 20
_BATCH = r"""
MARK=$MARK_BEGINS$MARK_ENDS
set -- * .[!.]* sub/*
__clean="$*"
mapfile -d '' __lines <"$LINES_FILE"
for __line in "${__lines[@]}"; do
    ( unset __lines; eval "$__line
" ) <a.txt >"$OUT" 2>&1
    __why=
    [[ -e $RAN ]] && __why=ran && "$RM" -f "$RAN"
    IFS= read -r -d '' -N 200000 __told <"$OUT"
    [[ $__told == *"$MARK"* ]] && __why+=told
    set -- * .[!.]* sub/*
    __names="$*"
    [[ $__clean == "$__names" ]] || __why+=made
    for __f in a.txt b.txt list @a; do
        IFS= read -r -d '' -N 99 __text <"$__f"
        [[ $__text == "/etc/hostname"$'\n' ]] || __why+=changed
    done
    printf '%s\0' "$__why" >&9
    [[ $__why == *[mc]* ]] && exit
done 9>>"$RECORDS"
"""


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Lines that need no rule, and what they did."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        readers = [
            _Reading(root / name, denies=denies) for name, denies in (("free", ()), ("denied", _DENIED))
        ]
        for reader in cycle(readers):
            yield _TRIED, reader.round(pick)


def _rules(denies: tuple[str, ...]) -> Iterator[Rule]:
    yield from (Rule(pattern=pattern, action="deny") for pattern in denies)
    if denies:
        yield Rule(pattern="Bash", action="allow")


class _Reading:
    """A workspace beside a file that nobody may read, and a program that nobody may run."""

    def __init__(self, root: Path, denies: tuple[str, ...]) -> None:
        self.denies = denies
        root.mkdir()
        self.root, self.workspace, self.home, self.bin = root, root / "ws", root / "home", root / "bin"
        self.bin.mkdir()
        self.home.mkdir()
        (self.home / "secret").write_text(f"{_MARK} {_MARK}\n")
        (self.bin / "rec3").write_text(_RECORDER)
        (self.bin / "rec3").chmod(0o755)
        self._fresh()
        self.engine = Engine(
            RuleSet(user=tuple(_rules(denies))),
            mode="default",
            workspace=self.workspace,
            home=self.home,
            interactive=True,
            vouched=[_SPEC],
        )
        self.reported: set[str] = set()

    def round(self, pick: random.Random) -> list[Miss]:
        """Generate, judge, run those that are let by, and look."""
        lines = [line for line in (reading_line(pick) for _ in range(_TRIED)) if self._is_free(line)][:_ROUND]
        misses: list[Miss] = []
        while lines:
            deeds = self._run(lines)
            for line, why in zip(lines, deeds, strict=False):
                small = shrink(line, partial(self._shows, why)) if why and self._shows(why, line) else ""
                if small and small not in self.reported:
                    self.reported.add(small)
                    rules = f" under {self.denies}" if self.denies else ""
                    misses.append(Miss(small, f"nobody was asked{rules}, and it {why} (from {line!r})"))
            lines = lines[max(len(deeds), 1) :]
        return misses

    def _is_free(self, line: str) -> bool:
        return "\0" not in line and self.engine.decide(_SPEC, {"command": line}).action == "allow"

    def _shows(self, why: str, line: str) -> bool:
        return self._is_free(line) and self._run([line])[:1] == [why]

    def _run(self, lines: list[str]) -> list[str]:
        """What each line did, up to the first that changed something or did not end."""
        self._fresh()
        records = self.root / "records"
        records.write_bytes(b"")
        (self.root / "lines").write_bytes(b"".join(line.encode() + b"\0" for line in lines))
        env = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "OTHER": "" if self.denies else _MARK,
            "MARK_BEGINS": _MARK[:6],
            "MARK_ENDS": _MARK[6:],
            "RAN": str(self.root / "ran"),
            "RM": shutil.which("rm") or "rm",
            "OUT": str(self.root / "out"),
            "RECORDS": str(records),
            "LINES_FILE": str(self.root / "lines"),
        }
        bash = shutil.which("bash", path="/bin:/usr/bin") or "bash"
        argv = [*contained(self.root), bash, "--noprofile", "--norc", "-c", _BATCH]
        run_group(argv, self.workspace, env, _SECONDS)
        deeds = records.read_bytes().decode().split("\0")[:-1]
        return ["told" if "told" in why else "" for why in deeds] if self.denies else deeds

    def _fresh(self) -> None:
        shutil.rmtree(self.workspace, ignore_errors=True)
        (self.workspace / "sub").mkdir(parents=True)
        for name in FILES:
            (self.workspace / name).write_text("/etc/hostname\n")
        (self.workspace / "sub" / "b.txt").write_text("x\n")
        (self.workspace / "sub" / ".env").write_text(f"{_MARK}\n")
        (self.workspace / "sub" / "leak").symlink_to(self.home / "secret")
        (self.workspace / "sub" / "up").symlink_to("..")
