"""What was measured, as a table for a person and as JSON for a program."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchkit.peers import CAMPAIGN, REFERENCES

Results = Mapping[str, Mapping[str, Sequence[float]]]
"""Row -> figure -> one value per round."""


YARDSTICKS: Mapping[str, tuple[str, float]] = {
    "--version": ("python -c pass", 5),
    "8 tools of 0.5 s": ("8 tools of 0.5 s, by asyncio", 1.03),
    "8 tools of 0.5 s, after 0.2 s": ("8 tools of 0.5 s, after 0.2 s, by asyncio", 1.03),
}
"""Row -> the row that it is held against, and the ratio that we aim at."""

SPEEDUP, LEAST = "times the SDK", 2.0
"""The figure in which a decoder is held against the vendor's, and what we aim at."""

MISSED = "  <-- MISSED"


def decoding(name: str) -> str:
    """The name of the row that decodes the wire `name`."""
    return f"decode {name}, bytes to message"


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor() or "unknown"
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
    }


def table(results: Results) -> Iterator[str]:
    """The lines of the table: minimum, median, maximum, and the ratio to a peer."""
    width = max([30, *map(len, results)])
    yield f"{'row':{width}} {'figure':26} {'min':>10} {'median':>10} {'max':>10}  against"
    for row, figures in results.items():
        for figure, values in figures.items():
            numbers = " ".join(
                f"{number(value):>10}" for value in (min(values), statistics.median(values), max(values))
            )
            yield f"{row:{width}} {figure:26} {numbers}  {against(results, row, figure)}".rstrip()


def against(results: Results, row: str, figure: str) -> str:
    """The ratio of our median to that of a peer: measured here where it could be, else the reference.

    A target that is missed is marked.
    """
    median = statistics.median(results[row][figure])
    parts = []
    missed = False
    if figure == SPEEDUP:
        parts.append(f"target at least {LEAST:.2f}")
        missed = median < LEAST
    elif figure == "MB/s" and SPEEDUP not in results[row]:
        parts.append("the SDK is absent")
    yardstick, most = YARDSTICKS.get(row, ("", 0.0)) if figure.endswith(" ms") else ("", 0.0)
    for other in (yardstick, f"codex {row}", f"claude {row}", f"pi {row}"):
        values = results.get(other, {}).get(figure)
        if values:
            ratio = median / statistics.median(values)
            wish = f"; target at most {most:g}" if other == yardstick else ""
            parts.append(f"{ratio:.2f} x {other.removesuffix(' ' + row)} (here{wish})")
            missed = missed or (other == yardstick and ratio > most)
    reference = REFERENCES.get((row, figure))
    if reference:
        ratio, then = median / reference.value, number(reference.value)
        parts.append(f"{ratio:.2f} x {reference.peer} ({then} then; target {reference.target:.2f})")
        missed = missed or ratio > reference.target
    return ", ".join(parts) + (MISSED if missed else "")


def number(value: float) -> str:
    """A figure with as many digits as it deserves."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def show(results: Results, *, runs: int, copy: str, python: str) -> None:
    """Print the machine, the table and where the reference figures come from."""
    facts = machine()
    print(f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']}, {facts['system']}")
    print(f"Python {python}, {copy}, {runs} interleaved runs after one to warm up\n")
    print("\n".join(table(results)))
    print(f"\n'then': {CAMPAIGN}.")


def save(results: Results, path: Path, *, runs: int, copy: str, python: str) -> None:
    """Write everything, every single value included."""
    references = {f"{row}: {figure}": vars_of(entry) for (row, figure), entry in REFERENCES.items()}
    document = {
        "machine": machine() | {"python": python},
        "copy": copy,
        "runs": runs,
        "results": results,
        "references": references,
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"bench: written to {path}", file=sys.stderr)


def vars_of(entry: Any) -> dict[str, Any]:
    """The members of a slotted value."""
    return {name: getattr(entry, name) for name in entry.__slots__}
