"""The jobs that the guide shows: each is run as a runner would, by bash, with the real command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_kit import Cli, opened
from sandbox_kit import needs_bwrap

from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
JOBS = GUIDE / "ci"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the jobs are scripts of bash")


@pytest.fixture
def cli(tmp_path):
    with opened(tmp_path, StrictValidator()) as command:
        yield command


def bash(cli: Cli, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run bash where a job runs, with `caliban` on its search path; a variable that is empty is not there."""
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**cli.env, "PATH": commands, "GIT_CONFIG_GLOBAL": os.devnull, **variables}
    return subprocess.run(
        ["bash", *arguments],
        cwd=cli.work,
        env={name: value for name, value in environ.items() if value},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def git(cli: Cli, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=cli.work, check=True, capture_output=True, timeout=30)


def test_the_page_shows_the_jobs_as_they_are():
    text = (GUIDE / "headless.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"\(ci/([\w.]+)\).*?^```(?:yaml|bash)\n(.*?)^```", text, re.M | re.S))
    assert shown == {path.name: path.read_text(encoding="utf-8") for path in JOBS.iterdir()}


def triage() -> tuple[dict[str, str], str]:
    """The variables of the step that asks, and its script."""
    workflow = yaml.safe_load((JOBS / "triage.yml").read_text(encoding="utf-8"))
    (step,) = [step for step in workflow["jobs"]["triage"]["steps"] if "caliban --" in step["run"]]
    return step["env"], step["run"]


@pytest.mark.parametrize(
    "title",
    [
        pytest.param("$(touch PWNED)", id="s938"),
        pytest.param('"; touch PWNED; "', id="s938-quotes"),
        "`touch PWNED` ${{ secrets.ANTHROPIC_API_KEY }}",
        "'; touch PWNED #",
        "@notes.txt and /export PWNED",
        "/export PWNED",
        "-p --allow Bash %s%n\\x41",
        "two\nlines\r\x1b[2J",
    ],
)
def test_what_a_stranger_writes_is_text_and_nothing_more(cli: Cli, title: str) -> None:
    cli.script(wire.exchange(wire.text('{"kind": "bug"}')))
    (cli.work / "notes.txt").write_text("CANARY")
    env, script = triage()
    assert "${{" not in script
    assert env["TITLE"] == "${{ github.event.issue.title }}"
    summary = cli.home / "summary"
    done = bash(
        cli, "-eo", "pipefail", "-c", script, TITLE=title, BODY=title, GITHUB_STEP_SUMMARY=str(summary)
    )
    assert (done.returncode, summary.read_text()) == (0, '{"kind": "bug"}\n'), done.stderr
    (body,) = cli.bodies()
    (block,) = body["messages"][-1]["content"]
    assert block["text"].endswith(f"\n\n{title}\n\n{title}\n")
    assert not body.get("tools")
    assert sorted(path.name for path in cli.work.iterdir()) == ["kind.json", "notes.txt"]


@pytest.mark.parametrize(
    ("answer", "code", "out"),
    [
        ('{"passes": true, "reason": "It is fine."}', 0, "It is fine.\n"),
        ('{"passes": false, "reason": "It loses data."}', 1, "It loses data.\n"),
        ("I would rather not.", 2, ""),
    ],
)
def test_a_review_decides_by_its_code(cli: Cli, answer: str, code: int, out: str) -> None:
    cli.script(*[wire.exchange(wire.text(answer))] * 4)
    (cli.work / "a.py").write_text("x = 1\n")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(cli, *arguments)
    (cli.work / "a.py").write_text("x = 2\n")
    done = bash(cli, str(JOBS / "review.sh"))
    assert (done.returncode, done.stdout) == (code, out), done.stderr
    assert "+x = 2" in json.dumps(cli.bodies()[0]["messages"][0])


@needs_bwrap
def test_a_run_that_may_edit_edits_and_another_says_what_to_do_next(cli: Cli) -> None:
    git(cli, "init", "-q")
    (cli.work / "a.py").write_text("x = 1\n")
    git(cli, "add", ".")
    change = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    cli.script(
        wire.exchange(wire.tool_use("Read", {"file_path": "a.py"})),
        wire.exchange(wire.tool_use("Edit", change), wire.tool_use("Bash", {"command": "touch PWNED"})),
        wire.exchange(wire.text("Done.")),
    )
    done = bash(cli, str(JOBS / "fix.sh"))
    assert done.returncode == 0, done.stderr
    assert "1 file changed" in done.stdout
    assert (cli.work / "a.py").read_text() == "x = 2\n"
    assert not (cli.work / "PWNED").exists()
    without_key = bash(cli, str(JOBS / "fix.sh"), ANTHROPIC_API_KEY="")
    assert (without_key.returncode, without_key.stdout) == (
        78,
        "nothing was asked: a key or a setting is missing\n",
    )
