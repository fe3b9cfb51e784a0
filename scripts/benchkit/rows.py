"""The rows of the benchmark: each runs one child (or a few) and gives named figures."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from benchkit.measure import Door, Run, open_door, run

Figures: TypeAlias = Mapping[str, float]
Row: TypeAlias = "Callable[[Place], Figures]"

SETTINGS = """\
model = "claude-sonnet-4-6"

[permissions]
allow = ["Bash:git status", "Bash:ls *", "Read"]
deny = ["Bash:rm -rf *", "Read:.env"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where children run: `binaries` of the measured copy, throw-away folders, and the server's `door`."""

    binaries: Path
    home: Path
    workspace: Path
    door: Door

    def environment(self, **more: str) -> dict[str, str]:
        """What a child inherits: the path and a home of its own, no settings or keys of this machine."""
        kept = {
            key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH") if key in os.environ
        }
        return kept | {"HOME": str(self.home), "ANTHROPIC_API_KEY": "bench", "NO_COLOR": "1"} | more

    def caliban(self, scenario: str, *arguments: str, sample: bool = False) -> Run:
        """One run of `caliban -p` against `scenario`; a failed one ends the benchmark with what it said."""
        url, name = self.door.url(scenario)
        command = (str(self.binaries / "caliban"), "-p", "Go on.", *arguments)
        return self.measured(command, name, self.environment(ANTHROPIC_BASE_URL=url), sample=sample)

    def measured(self, command: tuple[str, ...], name: str, environment: Mapping[str, str], *,
                 sample: bool = False) -> Run:  # fmt: skip
        """One run of `command`, with what the server saw of the run `name`."""
        output = self.home / "output"
        done = run(command, folder=self.workspace, environment=environment, sample=sample, stdout=output)
        if done.exit_code != 0:
            tail = output.read_text(encoding="utf-8", errors="replace")[-2000:]
            sys.exit(f"bench: {' '.join(command)} ended with {done.exit_code}:\n{tail}")
        return replace(done, requests=self.door.requests(name))


@contextmanager
def make_place(binaries: Path) -> Iterator[Place]:
    """A home with a normal settings file, a workspace with a small file, and the server."""
    with tempfile.TemporaryDirectory(prefix="caliban-bench-", ignore_cleanup_errors=True) as scratch:
        home, workspace = Path(scratch) / "home", Path(scratch) / "workspace"
        settings = home / ".config" / "caliban" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS, encoding="utf-8")
        workspace.mkdir()
        small_file = workspace / "small.txt"
        small_file.write_text("one\ntwo\nthree\n", encoding="utf-8")
        with open_door(small_file) as door:
            yield Place(binaries=binaries, home=home, workspace=workspace, door=door)


def version(place: Place) -> Figures:
    """`caliban --version`."""
    done = run((str(place.binaries / "caliban"), "--version"), folder=place.workspace,
               environment=place.environment())  # fmt: skip
    return {"wall ms": done.wall_ms, "CPU ms": done.cpu_s * 1e3}


def bare_python(place: Place) -> Figures:
    """The interpreter of the measured copy doing nothing."""
    done = run((str(place.binaries / "python"), "-c", "pass"), folder=place.workspace,
               environment=place.environment())  # fmt: skip
    return {"wall ms": done.wall_ms, "CPU ms": done.cpu_s * 1e3}


def start_figures(done: Run) -> Figures:
    """What a one-shot run tells, of Caliban or of a peer."""
    return {
        "start to first request ms": done.first_request_ms,
        "wall ms": done.wall_ms,
        "CPU s": done.cpu_s,
        "own CPU s": done.own_cpu_s,
        "peak RSS MB": done.peak_rss_mb,
        "exit tail ms": done.exit_tail_ms,
        "first request KB": done.requests[0].request_bytes / 1e3,
    }


def one_shot(place: Place) -> Figures:
    """One question, one short answer, default tools."""
    return start_figures(place.caliban("oneshot"))


def loop_figures(done: Run) -> Figures:
    """What twenty turns tell."""
    expect_requests(done, 20)
    overheads = done.turn_overheads_ms
    return {
        "wall ms": done.wall_ms,
        "CPU s": done.cpu_s,
        "overhead per turn ms": statistics.median(overheads),
        "slowest turn ms": max(overheads),
    }


def twenty_turns(place: Place) -> Figures:
    """Nineteen calls of Read on a small file, one a turn, then an answer; saved as a session."""
    return loop_figures(place.caliban("loop20", "--allow", "Read", "--session", fresh_session(place)))


def stream_figures(done: Run) -> Figures:
    """What a long answer tells."""
    return {"wall ms": done.wall_ms, "CPU s": done.cpu_s, "peak RSS MB": done.peak_rss_mb}


def parallel_tools(scenario: str) -> Row:
    """Eight shell commands of half a second in one reply: from that to the request with their results."""

    def row(place: Place) -> Figures:
        done = place.caliban(scenario, "--allow", "Bash:sleep *")
        expect_requests(done, 2)
        return {"tools ms": done.turn_overheads_ms[0], "CPU s": done.cpu_s}

    return row


def tools_floor(scenario: str) -> Row:
    """The same eight commands by the least that can run them (`benchkit.floor`), in the same interpreter."""

    def row(place: Place) -> Figures:
        url, name = place.door.url(scenario)
        command = (str(place.binaries / "python"), str(Path(__file__).with_name("floor.py")), url)
        done = place.measured(command, name, place.environment())
        expect_requests(done, 2)
        return {"tools ms": done.turn_overheads_ms[0], "CPU s": done.cpu_s}

    return row


def streaming(*arguments: str) -> Row:
    """200 KB of text in deltas of four bytes, written in the format that `arguments` ask for."""
    return lambda place: stream_figures(place.caliban("stream", *arguments))


def four_hundred_turns(place: Place) -> Figures:
    """As `twenty_turns`, with 400: what grows with the history."""
    arguments = ("--allow", "Read", "--max-turns", "500", "--session", fresh_session(place))
    done = place.caliban("loop400", *arguments, sample=True)
    expect_requests(done, 400)
    overheads = done.turn_overheads_ms
    early, late = done.rss_mb_at(done.requests[20].sent_ns), done.rss_mb_at(done.requests[-1].sent_ns)
    return {
        "wall ms": done.wall_ms,
        "CPU s": done.cpu_s,
        "first 20 overhead ms": statistics.median(overheads[:20]),
        "last 20 overhead ms": statistics.median(overheads[-20:]),
        "RSS growth MB": late - early,
        "peak RSS MB": done.peak_rss_mb,
    }


def two_thousand_turns(place: Place) -> Figures:
    """As `four_hundred_turns`: how much memory each turn keeps, once everything is loaded."""
    arguments = ("--allow", "Read", "--max-turns", "2500", "--session", fresh_session(place))
    done = place.caliban("loop2000", *arguments, sample=True)
    expect_requests(done, 2000)
    growth = done.rss_mb_at(done.requests[-1].sent_ns) - done.rss_mb_at(done.requests[200].sent_ns)
    overheads = done.turn_overheads_ms
    return {
        "wall ms": done.wall_ms,
        "RSS growth per turn KB": growth * 1000 / 1800,
        "last 100 overhead ms": statistics.median(overheads[-100:]),
        "peak RSS MB": done.peak_rss_mb,
    }


def fresh_session(place: Place) -> str:
    """A session name nobody has used."""
    return f"bench-{place.door.url('session')[1]}"


def expect_requests(done: Run, count: int) -> None:
    """A run that asked another number of times measured something else."""
    if len(done.requests) != count:
        sys.exit(f"bench: {len(done.requests)} requests came where {count} were expected")


ROWS: Mapping[str, Row] = {
    "python -c pass": bare_python,
    "--version": version,
    "one-shot": one_shot,
    "20 turns": twenty_turns,
    "8 tools of 0.5 s": parallel_tools("parallel"),
    "8 tools of 0.5 s, after 0.2 s": parallel_tools("parallel-later"),
    "8 tools of 0.5 s, by asyncio": tools_floor("parallel"),
    "8 tools of 0.5 s, after 0.2 s, by asyncio": tools_floor("parallel-later"),
    "200 KB, text": streaming(),
    "200 KB, stream-json": streaming("--output-format", "stream-json"),
    "200 KB, stream-json, partial": streaming("--output-format", "stream-json", "--include-partial-messages"),
    "400 turns": four_hundred_turns,
    "2000 turns": two_thousand_turns,
}
