"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchkit import install, peers, report, servers, sessions, terminals, tree
from benchkit.report import decoding
from benchkit.rows import ROWS, Figures, Place, Row, make_place
from benchkit.streams import WRITERS

DELTAS = 4000
"""How many pieces a decoded reply comes in: a few hundred KB on most wires."""

DESCRIPTION = """\
Measures Caliban, not a model: every row talks to a local server that answers at once. An installed copy is
measured (wheels in an environment of its own, built once per content), in interleaved rounds; the table shows
minimum, median and maximum, and the ratio to a peer that is on PATH (codex, claude) or to earlier figures.
CPU is user and system time, that of child processes included. Linux and macOS.

The rows "decode NAME, bytes to message" need no server and no installed copy: one process of .venv reads one
reply (thinking, text and tool calls in pieces of a few characters) from bytes in memory to the whole message,
with what our provider runs and with the vendor's own client in turns, and gives MB and events of the wire per
second of CPU. A vendor whose client is not installed there has our figures only. Try --only decode.

The rows "screen, ..." are the terminal interface on a pseudo-terminal of 120 by 40 that answers queries,
beside those of codex, claude and pi that are on PATH; they take minutes. Try --only "screen, " --runs 2."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="scripts/bench",
        description=DESCRIPTION,
        epilog="rows:\n  " + "\n  ".join(every_row(DELTAS)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--runs", type=int, default=7, metavar="N", help="rounds after one to warm up (7)")
    options.add_argument("--only", metavar="TEXT", help="only the rows whose name contains TEXT")
    options.add_argument(
        "--deltas", type=int, default=DELTAS, metavar="N", help=f"pieces of a reply to decode ({DELTAS})"
    )
    options.add_argument(
        "--here", action="store_true", help="measure .venv as it is, editable packages included"
    )
    options.add_argument(
        "--python", metavar="FILE", help="the interpreter that the measured copy gets (this one)"
    )
    options.add_argument("--no-peers", action="store_true", help="leave out the peers that are on PATH")
    options.add_argument("--json", type=Path, metavar="FILE", help="write every value to FILE too")
    options.add_argument("--list", action="store_true", help="print the names of the rows and stop")
    return options


def every_row(deltas: int) -> dict[str, Row]:
    """Our rows by name: those that talk to the server, and those that need none."""
    rows = {
        **ROWS,
        **tree.ROWS,
        **sessions.ROWS,
        **servers.ROWS,
        "session of 50 MB": lambda place: child(place.binaries / "python", "sessions", "resume"),
        "one more message": lambda place: child(place.binaries / "python", "sessions", "append"),
        "permission decision": lambda place: child(place.binaries / "python", "engine"),
        "permission decision, 10,000 characters": lambda place: child(
            place.binaries / "python", "engine", "long"
        ),
    }
    rows = {**rows, **terminals.rows()}
    return rows | {decoding(name): decode(name, deltas) for name in WRITERS}


def decode(name: str, deltas: int) -> Row:
    """One comparison of decoders, where both are: in the workspace's `.venv`."""
    return lambda _: child(install.ROOT / ".venv" / "bin" / "python", "decode", name, str(deltas))


def child(python: Path, module: str, *arguments: str) -> Figures:
    """One run of a module of this folder; a row that cannot run here is empty and says so."""
    name = " ".join((module, *arguments))
    command = (str(python), "-m", f"benchkit.{module}", *arguments)
    folder = Path(__file__).resolve().parents[1]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    except OSError as error:
        install.say(f"{name}: {error}")
        return {}
    if done.returncode:
        install.say(f"{name}: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
        return {}
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measure(place: Place, rows: Mapping[str, Row], runs: int) -> report.Results:
    """Run all rows in rounds, so that a busy minute of the machine touches every row alike."""
    results: dict[str, dict[str, list[float]]] = {name: {} for name in rows}
    gc.disable()
    for turn in range(runs + 1):
        for name, row in rows.items():
            install.say(f"round {turn}/{runs}: {name}" if turn else f"warming up: {name}")
            for figure, value in row(place).items():
                if turn:
                    results[name].setdefault(figure, []).append(value)
    return results


def copy_to_measure(here: bool, python: str) -> tuple[Path, str]:
    """The folder with `caliban` and its `python`, and what kind of copy that is."""
    if here:
        return install.ROOT / ".venv" / "bin", "editable packages of .venv"
    command = (str(install.ROOT / "scripts" / "bootstrap"), "--uv")
    uv = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return install.installed_copy(uv, python), "installed wheels"


def main(arguments: list[str]) -> int:
    """Measure and report."""
    options = parser().parse_args(arguments)
    if options.runs < 1 or options.deltas < 1:
        parser().error("--runs and --deltas must be at least 1")
    if options.here and options.python:
        parser().error("--here measures .venv, which has its interpreter: leave --python out")
    installed = {} if options.no_peers else peers.present()
    wanted = (options.only or "").lower()
    rows = {**every_row(options.deltas), **installed}
    if options.no_peers:
        rows = {name: row for name, row in rows.items() if not name.startswith(peers.NAMES)}
    chosen = {name: row for name, row in rows.items() if wanted in name.lower()}
    if options.list:
        print("\n".join(chosen))
        return 0
    without_copy = set(map(decoding, WRITERS))
    binaries, copy = copy_to_measure(
        options.here or chosen.keys() <= without_copy, options.python or sys.executable
    )
    with make_place(binaries) as place:
        results = measure(place, chosen, options.runs)
    python = install.interpreter(str(binaries / "python"))
    report.show(results, runs=options.runs, copy=copy, python=python)
    if options.json:
        report.save(results, options.json, runs=options.runs, copy=copy, python=python)
    return 0
