"""The command line of the fuzzer."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "shell": "command lines: what real bash runs and writes, against what was allowed and what is denied",
    "reading": "lines of what only reads: what nobody was asked about, and what it did in real bash",
    "edit": "edits of files: the matcher of the edit tool against a plain one",
    "streams": "replies of models in bytes: cut, mixed up and in other pieces, through every decoder",
    "settings": "settings files: values or our own error, whatever stands in them",
    "mcp": "servers of MCP with bad manners: no hang, no orphan, no wrong answer, no error of another's",
    "screen": "frames and blocks: what every painter sends, in an emulator, against a fresh painting",
    "markdown": "replies in Markdown: cut anywhere, nested without an end; no word may be missing",
    "keys": "bytes of a terminal into the line editor: keys, pastes, answers, questions, and vim beside vim",
    "commands": "lines and files of slash commands, filled by hostile words; some by the real command",
}
_REPORT_EVERY_S = 10.0

DESCRIPTION = """\
Generates input, gives it to the product and to an oracle, and prints every input on which they differ, made
as small as it gets. Ends with 0 when there is none, with 1 when there is one, with 64 for a wrong command
line. The same seed gives the same input. Progress goes to stderr. Needs what scripts/bootstrap makes; `shell`
needs bash."""


class Miss(NamedTuple):
    """An input on which the product and the oracle differ, and how."""

    text: str
    why: str


class Target(Protocol):
    """A module of this package: rounds of generated input, each with its size and its misses."""

    def rounds(self, pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
        """Go on for ever; every round takes a second or so."""
        ...


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="scripts/fuzz",
        description=DESCRIPTION,
        epilog="targets:\n" + "\n".join(f"  {name:9} {what}" for name, what in TARGETS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("target", nargs="+", choices=tuple(TARGETS), metavar="TARGET", help="what to feed")
    options.add_argument(
        "--minutes", type=float, default=1.0, metavar="N", help="how long, all targets together (1)"
    )
    options.add_argument(
        "--seed", type=int, metavar="S", help="where the input begins (taken from the clock)"
    )
    options.add_argument(
        "--most", type=int, default=20, metavar="N", help="stop a target after N misses (20)"
    )
    return options


def main(argv: list[str]) -> int:
    """Run the targets one after the other."""
    options = parser()
    options.error = lambda message: (_ for _ in ()).throw(_Usage(message))  # type: ignore[method-assign]
    try:
        chosen = options.parse_args(argv)
    except _Usage as error:
        print(f"fuzz: {error}; see scripts/fuzz --help", file=sys.stderr)
        return 64
    python = ROOT / ".venv" / "bin" / "python"
    if importlib.util.find_spec("caliban_permissions") is None:
        if not python.exists():
            print("fuzz: run scripts/bootstrap first", file=sys.stderr)
            return 64
        os.execv(python, [str(python), str(ROOT / "scripts" / "fuzz"), *argv])
    seed = time.time_ns() % 1_000_000_000 if chosen.seed is None else chosen.seed
    share = chosen.minutes * 60 / len(chosen.target)
    misses = sum(_run(name, seed, share, chosen.most) for name in chosen.target)
    return 1 if misses else 0


class _Usage(Exception):
    """A command line that cannot be read."""


def _run(name: str, seed: int, seconds: float, most: int) -> int:
    target: Target = importlib.import_module(f"fuzzkit.{name}")
    begun = reported = time.monotonic()
    inputs, misses = 0, 0
    for size, missed in target.rounds(random.Random(seed)):
        inputs += size
        for miss in missed:
            print(f"{name}: {miss.why}\n  {miss.text!r}", flush=True)
        misses += len(missed)
        now = time.monotonic()
        if now - reported > _REPORT_EVERY_S:
            print(f"fuzz {name}: {inputs:,} inputs, {misses} misses, {now - begun:.0f} s", file=sys.stderr)
            reported = now
        if now - begun >= seconds or misses >= most:
            break
    spent = time.monotonic() - begun
    print(f"fuzz {name}: {inputs:,} inputs, {misses} misses, {spent:.0f} s, seed {seed}", file=sys.stderr)
    return misses
