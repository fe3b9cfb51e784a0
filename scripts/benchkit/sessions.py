"""Sessions on disk: ten thousand of them listed, one of 50 MB resumed, and what one more message costs.

Run as a program, it measures what needs no process of its own, and prints the figures as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchkit.rows import Figures, Place, Row

COUNT = 10_000
BIG_BYTES = 50_000_000
APPENDS = 50


def write_many(folder: Path, count: int) -> None:
    """Sessions as runs leave them, of a few KB each, in ten directories."""
    folder.mkdir()
    for number in range(count):
        usage = {"input_tokens": 1000 + number, "output_tokens": 100}
        moment = f"2026-11-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:00.000Z"
        document = {
            "name": f"s{number}",
            "id": f"{number:012x}",
            "created_at": moment,
            "updated_at": moment,
            "provider": "anthropic",
            "model": "claude-sonnet-4-6",
            "workspace": f"/work/project-{number % 10}",
            "total_usage": usage,
            "spent": {"anthropic/claude-sonnet-4-6": usage},
            "plan_mode": False,
            "message_count": 3,
            "turn_count": 1,
            "preview": f"Question {number}: what do the tests of this project need to pass?",
            "journal_seq": 5,
            "todos": [],
            "messages": [
                {
                    "id": f"m{place}",
                    "parent": None,
                    "role": role,
                    "content": [{"type": "text", "text": "x" * 900}],
                }
                for place, role in enumerate(("system", "user", "assistant"))
            ],
        }
        (folder / f"s{number}.json").write_text(json.dumps(document, indent=2), encoding="utf-8")


def list_many(place: Place) -> Figures:
    """`caliban sessions list --all` of all of them; the round that warms up writes the index."""
    folder = place.home / "many-sessions"
    if not folder.exists():
        write_many(folder, COUNT)
    command = (str(place.binaries / "caliban"), "sessions", "list", "--all", "--sessions-dir", str(folder))
    done = place.measured(command, "list", place.environment())
    shown = (place.home / "output").read_bytes().count(b"\n")
    if shown != COUNT:
        sys.exit(f"bench: {shown} sessions were listed where {COUNT} were expected")
    return {"wall ms": done.wall_ms, "CPU ms": done.cpu_s * 1e3}


def resume_big(folder: Path) -> Mapping[str, float]:
    """A session of 50 MB, a thousand turns of a call and its result, opened for writing."""
    from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
    from caliban_sessions import SessionStore

    store = SessionStore(folder)
    text = "\n".join(
        f"{line:6}\tdef function_{line}(self, value: str) -> str:  # comment" for line in range(700)
    )
    with store.open("big", provider="anthropic", model="claude-sonnet-4-6") as session:
        session.append(user("Go on."))
        for turn in range(BIG_BYTES // len(text.encode())):
            call = ToolUseBlock(id=f"toolu_{turn}", name="Read", input={"path": f"src/file{turn}.py"})
            result = ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=text),))
            session.append(Message(role="assistant", content=(call,)))
            session.append(Message(role="user", content=(result,)))
    size_bytes = (folder / "big.json").stat().st_size
    begun = time.perf_counter()
    session = store.open("big")
    opened = time.perf_counter()
    session.append(user("And now?"))
    session.close()
    return {"resume ms": (opened - begun) * 1e3, "file MB": size_bytes / 1e6}


def append_costs(folder: Path) -> Mapping[str, float]:
    """One more message after 10 and after 1,000 turns: the median time, and the bytes that it writes."""
    from caliban_common.message import assistant, user
    from caliban_sessions import SessionStore

    store = SessionStore(folder)
    figures: dict[str, float] = {}
    for turns in (10, 1000):
        with store.open(f"turns-{turns}") as session:
            for turn in range(turns):
                session.append(user(f"question {turn} " + "x" * 500))
                session.append(assistant(f"answer {turn} " + "y" * 500))
            journal = folder / f"turns-{turns}.journal"
            before = journal.stat().st_size
            times: list[float] = []
            for _ in range(APPENDS):
                begun = time.perf_counter()
                session.append(user("one more " + "z" * 500))
                times.append(time.perf_counter() - begun)
            figures[f"turn {turns} µs"] = statistics.median(times) * 1e6
            figures[f"turn {turns} bytes"] = (journal.stat().st_size - before) / APPENDS
    return figures


PARTS = {"resume": resume_big, "append": append_costs}

ROWS: Mapping[str, Row] = {"sessions list, 10,000": list_many}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="caliban-bench-") as scratch:
        print(json.dumps(PARTS[sys.argv[1]](Path(scratch))))
