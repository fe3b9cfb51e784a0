"""Servers that `scripts/servers` installs, and how the real command is led to one of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from command_kit import Cli, Finished
from hang_guard import HANG_S, wait_until

FOLDER = Path(__file__).parents[2] / ".servers"
STREAM = ("--output-format", "stream-json", "--include-partial-messages")
COLOUR = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_ADDRESS = re.compile(r"(?:running|listening) on (http://\S+)")
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OLLAMA_API_KEY")


@dataclass(frozen=True, kw_only=True)
class Door:
    """One interface of a server: the adapter for it, where it is, and what it lets in."""

    kind: str
    url: str
    model: str
    key: str
    options: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, prompt: str, *flags: str) -> tuple[str, ...]:
        """What the command is started with."""
        settings = {"provider": {self.kind: {"options": dict(self.options)}}} if self.options else {}
        where = ("--provider", self.kind, "--base-url", self.url, "--model", self.model)
        return ("-p", prompt, *where, "--settings", json.dumps(settings), *flags)

    def ask(self, cli: Cli, prompt: str, *flags: str, key: str | None = None) -> Finished:
        """Run the command to its end, with the server's key or with another."""
        return cli.run(*self.arguments(prompt, *flags), env=dict.fromkeys(_KEYS, key or self.key))

    def interrupt(self, cli: Cli, prompt: str, *flags: str) -> Interrupted:
        """Interrupt the command as soon as it has shown some text."""
        process = cli.start(
            *self.arguments(prompt, *STREAM, *flags),
            env=dict.fromkeys(_KEYS, self.key),
            start_new_session=True,
        )
        assert process.stdout is not None
        shown = iter(process.stdout.readline, b"")
        assert any(json.loads(line)["type"] == "text" for line in shown), "the run ended without text"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_S)
        frames = [json.loads(line) for line in out.splitlines()]
        return Interrupted(
            code=process.returncode,
            results=[frame["subtype"] for frame in frames if frame["type"] == "result"],
            has_traceback=b"Traceback" in err,
            left_processes=_has_group(process.pid),
        )


@dataclass(frozen=True, kw_only=True)
class Interrupted:
    """How a command ended that was interrupted."""

    code: int
    results: Sequence[str]
    has_traceback: bool = False
    left_processes: bool = False


CANCELLED = Interrupted(code=124, results=["cancelled"])
"""How it should end."""


def _has_group(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def program(name: str, path: str) -> str:
    """A program of the server `name`; skips the test where that is not installed."""
    if not (FOLDER / name / "installed").exists():
        pytest.skip(f"{name} is not installed: scripts/servers {name}")
    return str(FOLDER / name / path)


@contextmanager
def serving(command: Sequence[str], folder: Path, **environment: str) -> Iterator[str]:
    """The address at which `command` says that it listens, for as long as the body runs.

    It has a clean environment, with `folder` as its home, and ends with all that it started.
    """
    log = folder / "server.log"
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
            start_new_session=True,
        )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is not None or _ADDRESS.search(_text(log)))
        address = _ADDRESS.search(_text(log))
        assert address is not None, _text(log)[-2000:]
        yield address[1]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(HANG_S)


def _text(log: Path) -> str:
    return log.read_text(errors="replace")


def calls_of(done: Finished) -> list[tuple[str, Any]]:
    """The names and inputs of the calls in frames, in order."""
    return [(frame["name"], frame["input"]) for frame in done.of("tool_use")]


def results_of(done: Finished) -> list[str]:
    """What the tools said, in the order of the calls, each as JSON."""
    contents = {frame["tool_use_id"]: json.dumps(frame["content"]) for frame in done.of("tool_result")}
    return [contents[frame["id"]] for frame in done.of("tool_use")]
