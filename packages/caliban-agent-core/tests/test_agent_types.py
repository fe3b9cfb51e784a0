"""What a checker of types knows of a run: an embedder's mistakes are found before it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hang_guard import HANG_S

PROGRAM = """
from dataclasses import dataclass
from typing import Any, assert_type

from caliban_agent_core import Agent, Run, RunEnd


@dataclass
class City:
    name: str


async def main(agent: Agent) -> None:
    end = await agent.run_to_end("go", output_type=City)
    assert_type(end, RunEnd[City])
    assert_type(end.output, City)
    assert_type(await agent.resume_to_end(end.messages, output_type=list[int]), RunEnd[list[int]])
    assert_type(agent.resume(end.messages, output_type=City), Run[City])
    async with agent.run("go", output_type=City) as run:
        assert_type(run.outcome.output, City)
    assert_type((await agent.run_to_end("go")).output, Any)
    assert_type((await agent.run_to_end("go", output_type=int | str)).output, Any)
    anything: RunEnd = end
    print(anything, end.output.population)
"""


@pytest.mark.slow
def test_the_answer_of_a_run_has_the_type_that_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    wrong = f"program.py:{len(PROGRAM.splitlines())}"
    assert done.stdout.splitlines() == [
        f'{wrong}: error: "City" has no attribute "population"  [attr-defined]',
        "Found 1 error in 1 file (checked 1 source file)",
    ]
