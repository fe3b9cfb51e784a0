"""Other harnesses: measured in the same rounds when they are on PATH, else figures of an earlier campaign."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchkit.measure import Run, run
from benchkit.rows import Figures, Place, Row, loop_figures, start_figures, stream_figures

NAMES = ("codex ", "claude ", "pi ")
"""How the rows of peers begin."""

CAMPAIGN = "figures of another campaign (2 cores, 2026-11-27, medians of 8 runs): ratios hold, values move"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A figure of a peer, and the ratio to it that we aim at."""

    peer: str
    value: float
    target: float


REFERENCES: Mapping[tuple[str, str], Reference] = {
    ("one-shot", "start to first request ms"): Reference(peer="codex", value=194, target=0.8),
    ("one-shot", "wall ms"): Reference(peer="codex", value=241, target=0.7),
    ("one-shot", "CPU s"): Reference(peer="codex", value=0.29, target=0.7),
    ("one-shot", "peak RSS MB"): Reference(peer="codex", value=144, target=0.25),
    ("20 turns", "wall ms"): Reference(peer="claude --bare", value=993, target=0.2),
    ("20 turns", "overhead per turn ms"): Reference(peer="pi", value=6.8, target=0.4),
    ("200 KB, text", "CPU s"): Reference(peer="codex", value=1.08, target=0.4),
    ("200 KB, stream-json", "CPU s"): Reference(peer="codex", value=1.08, target=0.4),
    ("200 KB, stream-json, partial", "CPU s"): Reference(peer="codex", value=1.08, target=0.6),
    ("400 turns", "wall ms"): Reference(peer="pi", value=5200, target=0.3),
}


def claude(place: Place, scenario: str) -> Run:
    """A run of Claude Code without its extras, on the wire that Caliban is measured on."""
    url, name = place.door.url(scenario)
    environment = place.environment(ANTHROPIC_BASE_URL=url, DISABLE_AUTOUPDATER="1")
    return place.measured(("claude", "--bare", "-p", "Go on."), name, environment)


def codex(place: Place, scenario: str) -> Run:
    """A run of Codex, on the Responses wire that it speaks."""
    url, name = place.door.url(f"responses-{scenario}")
    provider = f'model_providers.bench={{name="bench",base_url="{url}",wire_api="responses"}}'
    options = ("-c", provider, "-c", "model_provider=bench", "-m", "gpt-5.5", "--skip-git-repo-check")
    return place.measured(("codex", "exec", *options, "Go on."), name, place.environment())


def figures_of(peer: Callable[[Place, str], Run], figures: Callable[[Run], Figures], scenario: str) -> Row:
    """A row of a peer: its run of `scenario`, told as our own row is."""
    return lambda place: figures(peer(place, scenario))


def peer_version(binary: str) -> Row:
    """`--version` of a peer."""

    def row(place: Place) -> Figures:
        done = run((binary, "--version"), folder=place.workspace, environment=place.environment())
        return {"wall ms": done.wall_ms, "CPU ms": done.cpu_s * 1e3}

    return row


def present() -> Mapping[str, Row]:
    """The rows of the peers that are installed here."""
    rows: dict[str, Row] = {}
    for name, peer in (("codex", codex), ("claude", claude)):
        if shutil.which(name):
            rows[f"{name} --version"] = peer_version(name)
            rows[f"{name} one-shot"] = figures_of(peer, start_figures, "oneshot")
            rows[f"{name} 200 KB, text"] = figures_of(peer, stream_figures, "stream")
    if shutil.which("claude"):
        rows["claude 20 turns"] = figures_of(claude, loop_figures, "claude-loop20")
    return rows
