"""The terminal interface on a pseudo-terminal, and those of peers on the same one."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

from benchkit.install import say
from benchkit.ptys import COLUMNS, GIVE_UP_S, PROBES, ROWS, Terminal, on_terminal
from benchkit.rows import Figures, Place, Row
from benchkit.server import PACES
from benchkit.wire import LAST_WORD

IDLE_KEYS = 30
PASTE_BYTES = 1_000_000
END = LAST_WORD.encode()
QUIET_S, READY_S = 0.5, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """How a harness is begun on a terminal: command, variables, and the name of its run at the server.

    `ready` is what it sends once its own editor takes keys, where another echoes them before.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    run: str
    ready: bytes = b""


Harness = Callable[[Place, str], Started]
"""From a place and a scenario to what is begun."""


def caliban(place: Place, scenario: str) -> Started:
    """The measured copy."""
    url, run = place.door.url(scenario)
    environment = place.environment(ANTHROPIC_BASE_URL=url)
    many = (
        ("--max-turns", "400") if scenario.startswith("loop") else ()
    )  # a start without flags is the quick one
    command = (str(place.binaries / "caliban"), *many)
    return Started(command=command, environment=environment, run=run, ready=b"\x1b[?1004h")


def claude(place: Place, scenario: str) -> Started:
    """Claude Code, its first questions answered."""
    url, run = place.door.url(f"claude-{scenario}" if scenario.startswith("loop") else scenario)
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["bench"], "rejected": []},
        "projects": {str(place.workspace): project},
    }
    (place.home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
    environment = place.environment(
        ANTHROPIC_BASE_URL=url, DISABLE_AUTOUPDATER="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1"
    )
    return Started(command=("claude",), environment=environment, run=run)


def codex(place: Place, scenario: str) -> Started:
    """Codex, on the Responses wire."""
    url, run = place.door.url(f"responses-{scenario}")
    provider = f'model_providers.bench={{name="bench",base_url="{url}",wire_api="responses"}}'
    trust = f'projects={{"{place.workspace}"={{trust_level="trusted"}}}}'
    options = ("-c", provider, "-c", "model_provider=bench", "-c", trust, "-m", "bench")
    command = ("codex", *options, "-c", "check_for_update_on_startup=false")
    return Started(command=command, environment=place.environment(), run=run)


def pi(place: Place, scenario: str) -> Started:
    """pi, on the wire that Caliban is measured on."""
    url, run = place.door.url(f"pi-{scenario}" if scenario.startswith("loop") else scenario)
    model = {"id": "mock", "name": "mock", "contextWindow": 200000, "maxTokens": 8000, "input": ["text"]}
    provider = {"baseUrl": url, "apiKey": "bench", "api": "anthropic-messages", "models": [model]}
    folder = place.home / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.json").write_text(json.dumps({"providers": {"bench": provider}}), encoding="utf-8")
    command = ("pi", "--provider", "bench", "--model", "mock", "--offline")
    return Started(command=command, environment=place.environment(), run=run)


def start(harness: Harness, place: Place) -> Figures:
    """From the start to the first visible character, to the first letter that is typed from then on, and to
    the moment from which the harness itself takes keys."""
    with begun(harness, place, "oneshot") as terminal:
        painted_ns = terminal.wait(terminal.text, "the first paint")
        typed: list[bytes] = []
        for letter in PROBES:
            typed.append(letter.encode())
            terminal.type(letter)
            terminal.collect(0.01)
            if any(letter in terminal.written for letter in typed):
                break
        echoed_ns = terminal.wait(
            lambda: any(letter in terminal.written for letter in typed), "the first echo"
        )
        ready_ns = terminal.wait(lambda: terminal.ready in terminal.written, "the editor")
        terminal.rest(QUIET_S)
        return {
            "first paint ms": (painted_ns - terminal.begun_ns) / 1e6,
            "first echo ms": (echoed_ns - terminal.begun_ns) / 1e6,
            "editor ready ms": (max(ready_ns, echoed_ns) - terminal.begun_ns) / 1e6,
            "PSS MB": terminal.pss_mb(),
        }


def keys(harness: Harness, place: Place) -> Figures:
    """Keys while nothing happens, and the key behind a large paste."""
    with begun(harness, place, "oneshot") as terminal:
        ready(terminal)
        echoes = []
        for letter in PROBES[:IDLE_KEYS]:
            echoes.append(terminal.echo_ms(letter))
            terminal.collect(0.06)
        line = b"a line of words that somebody pastes, about fifty\n"
        begun_ns = time.monotonic_ns()
        terminal.type(b"\x1b[200~" + line * (PASTE_BYTES // len(line)) + b"\x1b[201~")
        letter = PROBES[IDLE_KEYS]
        place_now = len(terminal.written)
        terminal.type(letter)
        pasted_ns = terminal.wait(
            lambda: letter.encode() in terminal.written[place_now:], "the key after a paste"
        )
        return {**quantiles("key echo", echoes), "paste of 1 MB to next key ms": (pasted_ns - begun_ns) / 1e6}


def streamed(harness: Harness, place: Place, *, scenario: str) -> Figures:
    """A reply at a pace: what is sent to the terminal and what it costs."""
    deltas, a_second = PACES[scenario]
    with begun(harness, place, scenario) as terminal:
        ready(terminal)
        before_s, place_now = terminal.cpu_s(), len(terminal.written)
        asked(terminal)
        terminal.wait(lambda: is_over(terminal), "the end of the reply", deltas / a_second + GIVE_UP_S)
        terminal.rest(QUIET_S)
        return {
            "KB per 1,000 deltas": (len(terminal.written) - place_now) / deltas,
            "CPU s per 10,000 deltas": (terminal.cpu_s() - before_s) * 10_000 / deltas,
        }


def keys_while_streamed(harness: Harness, place: Place) -> Figures:
    """Keys at 2,000 deltas a second."""
    with begun(harness, place, "fast") as terminal:
        ready(terminal)
        asked(terminal)
        terminal.wait(lambda: b"w010" in terminal.text(), "the beginning of the reply")
        echoes = []
        for letter in PROBES:
            if is_over(terminal):
                break
            echoes.append(terminal.echo_ms(letter))
            terminal.collect(0.07)
        return quantiles("key echo at 2,000/s", echoes)


def turns(harness: Harness, place: Place) -> Figures:
    """Memory before and after 300 turns with a call of a tool each."""
    with begun(harness, place, "loop300") as terminal:
        ready(terminal)
        before_mb = terminal.pss_mb()
        asked(terminal)
        terminal.wait(lambda: b"Hellothere." in tail(terminal), "the last of 300 turns", 240)
        terminal.rest(QUIET_S)
        after_mb = terminal.pss_mb()
        return {
            "PSS at start MB": before_mb,
            "PSS after 300 turns MB": after_mb,
            "growth MB": after_mb - before_mb,
        }


def scrollback(harness: Harness, place: Place) -> Figures:
    """How many words of a reply stand in the terminal after the end, and how many stand there twice."""
    import pyte

    deltas, _ = PACES["lines"]
    with begun(harness, place, "lines") as terminal:
        ready(terminal)
        asked(terminal)
        terminal.wait(lambda: is_over(terminal), "the end of the reply")
        terminal.rest(QUIET_S)
        terminal.type("\x04")
        while terminal.process.poll() is None and terminal.look(5):
            pass
        screen = pyte.HistoryScreen(COLUMNS, ROWS, history=100_000, ratio=0.5)
        pyte.ByteStream(screen).feed(bytes(terminal.written))
        rows = ["".join(row[n].data for n in range(COLUMNS)) for row in screen.history.top] + list(
            screen.display
        )
        words = [word for row in rows for word in row.split() if re.fullmatch(r"w\d{3}", word)]
        wanted = deltas - 1 - (deltas - 1) // 80
        return {"words of the reply": wanted, "words after exit": len(words)}


def begun(harness: Harness, place: Place, scenario: str) -> AbstractContextManager[Terminal]:
    """The harness on a terminal, with a home of its own that no run before has written to."""
    home = place.home / f"screen-{time.monotonic_ns()}"
    shutil.copytree(place.home / ".config", home / ".config")
    own = replace(place, home=home)
    started = harness(own, scenario)
    return on_terminal(started.command, place.workspace, started.environment, ready=started.ready)


def ready(terminal: Terminal) -> None:
    """Until it is drawn and quiet."""
    terminal.wait(terminal.text, "the first paint")
    terminal.rest(READY_S)


def asked(terminal: Terminal) -> None:
    """Send a prompt. Enter goes by itself: with text it would count as pasted."""
    terminal.type("Go on.")
    terminal.collect(0.3)
    terminal.type("\r")


def tail(terminal: Terminal) -> bytes:
    """The last words, without sequences and blanks."""
    return terminal.text(max(len(terminal.written) - 6_000, 0))


def is_over(terminal: Terminal) -> bool:
    """Whether the last word of the reply was drawn."""
    return END in tail(terminal)


def quantiles(name: str, values: list[float]) -> Figures:
    """The middle and the slow end."""
    ordered = sorted(values)
    return {
        f"{name} p50 ms": statistics.median(ordered),
        f"{name} p95 ms": ordered[min(int(len(ordered) * 0.95), len(ordered) - 1)],
    }


def tried(row: Callable[[], Figures], name: str) -> Figures:
    """The figures of a row; one that does not come about is left out and says so."""
    try:
        return row()
    except TimeoutError as error:
        say(f"{name}: {error}")
        return {}


MEASURES: Mapping[str, Callable[[Harness, Place], Figures]] = {
    "start": start,
    "keys": keys,
    "2,000 deltas a second": partial(streamed, scenario="fast"),
    "100 deltas a second": partial(streamed, scenario="slow"),
    "keys while streaming": keys_while_streamed,
    "300 turns": turns,
    "scrollback": scrollback,
}
HARNESSES: Mapping[str, Harness] = {"caliban": caliban, "codex": codex, "claude": claude, "pi": pi}
NOT_MEASURED = (
    ("codex", "300 turns"),
    ("codex", "scrollback"),
    ("claude", "scrollback"),
    ("pi", "scrollback"),
)
"""Codex gets no call of a tool here; what peers leave behind an alternate screen no emulator here shows."""


def rows() -> Mapping[str, Row]:
    """The rows of Caliban and of the peers that are on PATH, by what is measured."""
    present = [name for name in HARNESSES if name == "caliban" or shutil.which(name)]
    return {
        screen_row(measure, name): _row(measure, name)
        for measure in MEASURES
        for name in present
        if (name, measure) not in NOT_MEASURED
    }


def screen_row(measure: str, harness: str) -> str:
    """The name of a row."""
    return f"screen, {measure}" if harness == "caliban" else f"{harness} screen, {measure}"


def _row(measure: str, name: str) -> Row:
    row = partial(MEASURES[measure], HARNESSES[name])
    return lambda place: tried(lambda: row(place), screen_row(measure, name))
