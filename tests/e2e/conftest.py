"""The real command against a strict server on the loopback, in a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from caliban_provider.testing.exchange import Exchange
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing.strict import StrictValidator

sys.path.insert(0, str(Path(__file__).parent))

LIMIT_S = 60


@dataclass
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as one JSON object."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def frames(self) -> list[dict[str, Any]]:
        """Standard output as frames."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The frames of one type."""
        return [frame for frame in self.frames if frame["type"] == kind]


@dataclass
class Cli:
    """Runs `caliban` with a clean environment; `home` and `work` are its own."""

    home: Path
    work: Path
    server: LoopbackServer
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": self.server.url,
            **self.extra,
        }

    def script(self, *exchanges: Exchange) -> None:
        """What the server answers next."""
        self.server.extend(*exchanges)

    def start(
        self, *args: str, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start the command with pipes."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "caliban", *args]
        return subprocess.Popen(
            command, cwd=self.work, env={**self.env, **(env or {})}, **{**pipes, **options}
        )

    def run(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Finished:
        """Run the command to its end."""
        given = subprocess.PIPE if stdin is not None else subprocess.DEVNULL
        process = self.start(*args, env=env, stdin=given)
        out, err = process.communicate(stdin, timeout=LIMIT_S)
        return Finished(code=process.returncode, out=out.decode(), err=err.decode())

    def configure(self, text: str) -> Path:
        """Write the user's settings; where they are."""
        path = self.home / ".config" / "caliban" / "settings.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bodies(self) -> Sequence[dict[str, Any]]:
        """The JSON bodies of the requests so far."""
        return [request.json for request in self.server.requests]


@pytest.fixture(autouse=True, scope="session")
def signals_as_at_a_terminal() -> None:
    """A run in the background ignores SIGINT and SIGHUP, and its children would: give them back."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    with LoopbackServer([], validator=StrictValidator()) as server:
        yield Cli(home=home, work=work, server=server)


@pytest.fixture
def free_cli(tmp_path: Path) -> Iterator[Cli]:
    """The same with a server that takes any request."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    with LoopbackServer([]) as server:
        yield Cli(home=home, work=work, server=server)


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Says whether a process has ended (it may wait to be collected), within two seconds."""

    def look(pid: int) -> bool:
        for _ in range(100):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            time.sleep(0.02)
        return False

    return look
