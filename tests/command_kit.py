"""Runs the real command against a server on the loopback, in a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from forked_kit import Forked, begin_command
from hang_guard import HANG_S
from starts_kit import TRUE_START, base_environment, run_command

from caliban_provider.testing.exchange import Exchange, Validator
from caliban_provider.testing.loopback import LoopbackServer

needs_procfs = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


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
        return {
            **base_environment(os.environ),
            "HOME": str(self.home),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",  # nobody's own keyring
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
        """Start the command with pipes: always a process of its own from the first instruction."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*TRUE_START, *args]
        return subprocess.Popen(
            command, cwd=self.work, env={**self.env, **(env or {})}, **{**pipes, **options}
        )

    def begin(
        self, *args: str, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes] | Forked:
        """The same for whoever talks with the command, by a fork where that shows the same.

        With `start_new_session` its terminal is the controlling one.
        """
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        forked = begin_command(args, {**self.env, **(env or {})}, self.work, {**pipes, **options})
        if forked is None and "start_new_session" in options:
            options["preexec_fn"] = take_terminal
        return forked or self.start(*args, env=env, **options)

    def run(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Finished:
        """Run the command to its end, by a fork where that shows the same."""
        ended = run_command(args, {**self.env, **(env or {})}, self.work, stdin)
        return Finished(code=ended.code, out=ended.out.decode(), err=ended.err.decode())

    def configure(self, text: str) -> Path:
        """Write the user's settings; where they are."""
        path = self.home / ".config" / "caliban" / "settings.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bodies(self) -> Sequence[dict[str, Any]]:
        """The JSON bodies of the requests so far."""
        return [request.json for request in self.server.requests]


def take_terminal() -> None:
    """Make the terminal the controlling one, so that its keys and its end reach the command."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def give_signals_back() -> None:
    """A run in the background ignores SIGINT and SIGHUP, and its children would: let them be taken again."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def takes_signals(pid: int, last: int = signal.SIGHUP) -> bool:
    """Whether the program, not its interpreter, handles signals: `last` is the last that it asks for."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught & 1 << last - 1)


def is_idle(pid: int) -> bool:
    """Whether it waits for something: asleep at every look, without any work between them."""
    looks = set()
    for _ in range(10):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        looks.add((fields[0], *fields[11:13]))
        time.sleep(0.02)
    return len(looks) == 1 and "S" in looks.pop()


def find_uv() -> str:
    """The uv that prepared this environment, wherever the tests were started from."""
    named = os.environ.get("UV") or shutil.which("uv")
    if named is not None:
        return named
    bootstrap = Path(__file__).parents[1] / "scripts" / "bootstrap"
    done = subprocess.run(
        [str(bootstrap), "--uv"], capture_output=True, text=True, check=True, timeout=HANG_S
    )
    return done.stdout.strip()


@contextmanager
def opened(folder: Path, validator: Validator | None = None) -> Iterator[Cli]:
    """The command with an empty home and workspace in `folder`; `validator` may refuse requests."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    with LoopbackServer([], validator=validator) as server:
        yield Cli(home=home, work=work, server=server)
