"""Figures that need no server and no model: the permission engine and the stream decoder, in one process.

Runs as a child (`python -m benchkit.engine permissions|decoder|sdk`) in the environment that has what it
measures, and prints one JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchkit import wire

REPEATS = 2000
PIECE_BYTES = 65_536
COMMANDS = (
    "git status",
    "ls -la src | head -20",
    "cd build && make -j4 2>&1 | tee log.txt",
    "python -m pytest -q tests/test_one.py",
    "sudo env A=1 rm -rf /tmp/x; echo done",
    'for f in *.py; do grep -n "import os" "$f"; done',
)

RULES = (
    {"pattern": "Bash:git *", "action": "allow"},
    {"pattern": "Bash:ls *", "action": "allow"},
    {"pattern": "Bash:python -m pytest *", "action": "allow"},
    {"pattern": "Edit:src/**", "action": "allow"},
    {"pattern": "Bash:~sudo", "action": "ask"},
    {"pattern": "Bash:rm -rf *", "action": "deny"},
)


def permissions() -> dict[str, float]:
    """One decision on a shell command, in milliseconds."""
    decide = decision()
    times = []
    for number in range(REPEATS):
        command = COMMANDS[number % len(COMMANDS)]
        begun = time.perf_counter_ns()
        decide(command)
        times.append((time.perf_counter_ns() - begun) / 1e6)
    cuts = statistics.quantiles(times, n=100)
    return {"p50 ms": cuts[49], "p99 ms": cuts[98], "worst ms": max(times)}


def decision() -> Callable[[str], object]:
    """The engine with a normal set of rules, as a function of the command."""
    from caliban_common.tool import ToolSpec
    from caliban_permissions import Engine, RuleSet, parse_rules

    rules = RuleSet(user=parse_rules(RULES, source="user"))
    engine = Engine(rules, mode="default", workspace=Path.cwd(), interactive=False, auto_allow=False)
    shell = ToolSpec(name="Bash", description="", input_schema={}, kind="execute", main_argument="command")
    return lambda command: engine.decide(shell, {"command": command})


def decoder() -> dict[str, float]:
    """Our decoder on the long stream, in deltas a second."""
    from caliban_provider.sse import SSEDecoder
    from caliban_provider_anthropic.decode import Decoder

    body = wire.text(*wire.long_text())

    def decode() -> int:
        lines, machine = SSEDecoder(), Decoder()
        events = 0
        for start in range(0, len(body), PIECE_BYTES):
            for event in lines.feed(body[start : start + PIECE_BYTES]):
                events += len(machine.feed(event))
        return events

    return {"deltas per s": throughput(decode)}


def sdk() -> dict[str, float]:
    """The vendor's own decoder on the same bytes, in deltas a second."""
    import anthropic
    import httpx2 as httpx

    body = wire.text(*wire.long_text())
    answer = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    transport = httpx.MockTransport(lambda request: answer)
    client = anthropic.Anthropic(api_key="bench", http_client=httpx.Client(transport=transport))
    message: Any = {"role": "user", "content": "Go on."}

    def decode() -> int:
        stream = client.messages.create(model="mock", max_tokens=10, messages=[message], stream=True)
        return sum(1 for _ in stream)

    return {"deltas per s": throughput(decode)}


def throughput(decode: Callable[[], int]) -> float:
    """Deltas per second of `decode`, which answers how many events it saw."""
    begun = time.perf_counter()
    events = decode()
    elapsed_s = time.perf_counter() - begun
    deltas = wire.STREAM_BYTES // wire.DELTA_BYTES
    if events < deltas:
        raise SystemExit(f"bench: {events} events were decoded where {deltas} deltas were sent")
    return deltas / elapsed_s


if __name__ == "__main__":
    doors = {"permissions": permissions, "decoder": decoder, "sdk": sdk}
    sys.stdout.write(json.dumps(doors[sys.argv[1]]()))
