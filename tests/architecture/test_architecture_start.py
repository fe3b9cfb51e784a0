"""What loads when: imports are the budget of a program that starts often.

`python -X importtime` reports each import on stderr as it happens, so also before a hard exit.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import house
import plan
import pytest

QUICK_DOORS = (
    "httpx",
    "pydantic",
    "anyio",
    "asyncio",
    "prompt_toolkit",
    "structlog",
    "importlib.metadata",
    "trio",
)
BEFORE_OPTIONS = ("msgspec", "caliban_common", "caliban_provider")
"""What values are made of: a text needs none."""

NEVER_BEFORE_A_REQUEST = (
    "argparse",
    "pydantic",
    "structlog",
    "prompt_toolkit",
    "importlib.metadata",
    "rich",
    "click",
    "pygments",
)
IMPORT_LINE = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.M)

MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "x",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
REPLY = (
    ("message_start", {"message": MESSAGE}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "answered"}}),
    ("content_block_stop", {"index": 0}),
    ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
    ("message_stop", {}),
)


def imported(run: subprocess.CompletedProcess[str]) -> frozenset[str]:
    """The modules that a run under `-X importtime` loaded."""
    return frozenset(IMPORT_LINE.findall(run.stderr))


def report(run: subprocess.CompletedProcess[str]) -> str:
    """What a run said, without the lines of importtime."""
    return f"exit {run.returncode}\n{run.stdout}\n" + "\n".join(
        line for line in run.stderr.splitlines() if not line.startswith("import time:")
    )


@contextmanager
def anthropic_door() -> Iterator[str]:
    """A server on loopback that gives every request the same short reply; yields its base URL."""
    body = "".join(
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in REPLY
    ).encode()
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    )
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=serve, args=(door, head + body), daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}"


def serve(door: socket.socket, answer: bytes) -> None:
    """Answer one request per connection until the door is closed."""
    while True:
        try:
            peer, _ = door.accept()
        except OSError:
            return
        with peer:
            if read_request(peer):
                peer.sendall(answer)


def read_request(peer: socket.socket) -> bytes:
    """One whole request; empty when the peer connected and said nothing."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        piece = peer.recv(65536)
        if not piece:
            return b""
        seen += piece
    head, _, body = seen.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        body += peer.recv(65536)
    return head + body


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_load_next_to_nothing(flag: str, tmp_path: Path) -> None:
    run = house.fresh(tmp_path, "-X", "importtime", "-m", "caliban", flag)
    assert run.returncode == 0, report(run)
    assert "caliban" in run.stdout
    assert sorted(imported(run) & {*QUICK_DOORS, *BEFORE_OPTIONS}) == []
    assert flag == "--help" or "argparse" not in imported(run)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [("completion", "bash"), ("perms", "--help")], ids=lambda words: words[0]
)
def test_a_command_that_only_writes_a_text_loads_nothing_heavy(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    run = house.fresh(tmp_path, "-X", "importtime", "-m", "caliban", *arguments)
    assert run.returncode == 0, report(run)
    assert sorted(imported(run) & set(QUICK_DOORS)) == []


def test_a_one_shot_run_loads_no_validation_library_and_no_terminal_library(tmp_path: Path) -> None:
    with anthropic_door() as url:
        run = house.fresh(
            tmp_path, "-X", "importtime", "-m", "caliban", "-p", "Say something.",
            ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="test",
        )  # fmt: skip
    assert (run.returncode, run.stdout.strip()) == (0, "answered"), report(run)
    assert sorted(imported(run) & set(NEVER_BEFORE_A_REQUEST)) == []
    unasked = (
        *("caliban_hooks", "caliban.compose.hooking", "caliban.cli.tables", "caliban.cli.help"),
        *("caliban_commands", "caliban.slash", "caliban.compose.slash", "caliban.faces.local"),
    )
    assert sorted(name for name in imported(run) if name.startswith(unasked)) == []


PROBE = """
import sys
before = set(sys.modules)
effects = []
WRITES = ("os.mkdir", "os.rename", "os.remove", "os.putenv", "os.unsetenv", "os.system", "os.exec", "os.fork",
          "subprocess.Popen", "socket.__new__", "socket.connect", "signal.signal", "_thread.start_new_thread",
          "shutil.copyfile", "tempfile.mkstemp", "sqlite3.connect")
def watch(event, args):
    if event in WRITES or event == "open" and args[1] is not None and set(str(args[1])) & set("wax+"):
        effects.append(f"{event} {args!r}")
sys.addaudithook(watch)
import os, threading
environment, threads = dict(os.environ), threading.active_count()
def handlers():
    return len(sys.modules["logging"].root.handlers) if "logging" in sys.modules else 0
logged = handlers()
for name in sys.argv[1:]:
    __import__(name)
if dict(os.environ) != environment: effects.append("the environment changed")
if threading.active_count() != threads: effects.append("a thread was started")
if handlers() != logged: effects.append("a log handler was added")
import json
sys.stdout.write(json.dumps({"effects": effects, "loaded": sorted(set(sys.modules) - before)}))
"""


def importing(home: Path, *names: str) -> dict[str, list[str]]:
    """What importing `names` one after the other did and loaded, in a fresh interpreter."""
    run = house.fresh(home, "-c", PROBE, *names)
    assert run.returncode == 0, report(run)
    facts: dict[str, list[str]] = json.loads(run.stdout)
    return facts


@pytest.mark.parametrize("package", house.packages(), ids=lambda package: package.name)
def test_importing_a_package_has_no_effects_and_loads_nothing_heavy(
    package: house.Package, tmp_path: Path
) -> None:
    every = [module.name for module in house.modules() if module.package == package.module]
    plain = [
        name
        for name in every
        if name not in plan.HEAVY_AT_IMPORT and not name.endswith("__main__") and ".testing" not in name
    ]
    facts = importing(tmp_path, *plain)
    assert facts["effects"] == []
    assert sorted(set(facts["loaded"]) & set(plan.HEAVY)) == []
    assert list(tmp_path.iterdir()) == []


def test_the_loop_alone_brings_neither_http_nor_validation(tmp_path: Path) -> None:
    loaded = importing(tmp_path, "caliban_agent_core")["loaded"]
    assert sorted(set(loaded) & {"httpx", "pydantic", "asyncio", "trio"}) == []


def test_a_module_that_may_load_something_heavy_does(tmp_path: Path) -> None:
    for name, libraries in plan.HEAVY_AT_IMPORT.items():
        loaded = importing(tmp_path, name)["loaded"]
        assert sorted(set(loaded) & set(plan.HEAVY)) == sorted(libraries), name
