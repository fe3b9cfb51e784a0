"""Nothing that one command does to its shell is there for the next, and no call has two readings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, opened

from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

DONE = wire.text("done")
PAIRS = {
    "s301": ("export GIT_EXTERNAL_DIFF=./p.sh", "git diff"),
    "s303": ("git() { touch PWNED; }", "git status"),
    "s305": ("cd /etc", "git rev-parse --is-inside-work-tree"),
    "s306": ("cd .caliban", "echo x > settings.local.toml"),
    "s307": ("pushd /tmp", "touch PWNED"),
    "s311": ("umask 000", "git status"),
    "s312": ("exec 9>PWNED; rm PWNED", "git log >&9"),
    "alias": ("shopt -s expand_aliases; alias git='touch PWNED'", "git status"),
    "path": ("export PATH=.:$PATH", "git status"),
    "hash": ("hash -p ./p.sh git", "git status"),
    "exported function": ("git() { ./p.sh; }; export -f git", "git status"),
    "shopt": ("set -f; set -x; shopt -s nullglob", "git status"),
    "variable": ("BASH_ENV=./p.sh; export BASH_ENV", "git status"),
}


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path, StrictValidator()) as command:
        yield command


def results(cli: Cli) -> list[str]:
    last = cli.bodies()[-1]["messages"]
    blocks = [
        block for message in last if isinstance(message["content"], list) for block in message["content"]
    ]
    return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize(("first", "second"), PAIRS.values(), ids=PAIRS)
def test_the_next_command_begins_anew(first: str, second: str, cli: Cli) -> None:
    script = cli.work / "p.sh"
    script.write_text("#!/bin/sh\ntouch PWNED\n")
    script.chmod(0o755)
    (cli.work / "git").symlink_to(script)
    (cli.work / ".caliban").mkdir()
    calls = [
        wire.tool_use("Bash", {"command": line}) for line in ("git init -q", first, second, "umask; pwd")
    ]
    cli.script(*map(wire.exchange, calls), wire.exchange(DONE))
    flags = [
        flag
        for line in (first, "umask", "pwd")
        for flag in ("--allow", "Bash:" + re.sub(r"[{}*?]", r"\\\g<0>", line))
    ]
    done = cli.run("-p", "go", "--allow", "Bash:git *", *flags)
    assert done.code == 0, done.err
    assert not any(Path(folder, "PWNED").exists() for folder in (cli.work, "/tmp"))
    assert not list((cli.work / ".caliban").iterdir())
    texts = results(cli)
    assert str(cli.work) in texts[-1]
    assert "0000" not in texts[-1]


def test_s020_what_is_not_allowed_is_refused_and_on_record(cli: Cli) -> None:
    command = {"command": "git log -1; date +%s%N > made"}
    cli.script(wire.exchange(wire.tool_use("Bash", command, id="t1")), wire.exchange(DONE))
    assert cli.run("-p", "go", "--allow", "Bash:git log *").code == 0
    assert not (cli.work / "made").exists()
    log = cli.home / ".local" / "state" / "caliban" / "permission-decisions.jsonl"
    (line,) = map(json.loads, log.read_text().splitlines())
    assert (line["tool_use_id"], line["action"]) == ("t1", "deny")


@pytest.mark.parametrize(
    "call",
    [
        pytest.param('{"command": "git status\\u0000; touch PWNED"}', id="s175"),
        pytest.param('{"command": "touch PWNED \\ud800"}', id="s188"),
        pytest.param('{"command": "ls", "command": "touch PWNED"}', id="s762"),
        pytest.param('{"command": "touch PWNED", "command": "ls"}', id="s762 the other way"),
        pytest.param('{"command": "touch PWNED", "env": {"A": "1", "A": "2"}}', id="s762 within"),
        pytest.param('{"command": "touch PWNED", "timeout_seconds": NaN}', id="s761 NaN"),
        pytest.param('{"command": "touch PWNED", "timeout_seconds": Infinity}', id="s761 Infinity"),
        pytest.param('{"command": "touch PWNED", "timeout_seconds": 1e400}', id="s761 1e400"),
        pytest.param('{"command": "touch PWNED", "timeout_seconds": 1' + "0" * 5_000 + "}", id="s761 digits"),
        pytest.param('{"command": "touch PWNED", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", id="s760"),
        pytest.param('{"command": "' + "x" * 140_000 + '"}', id="s758"),
        pytest.param('{"command": ["touch", "PWNED"]}', id="a list"),
        pytest.param('{"command": "touch PWNED"', id="cut"),
    ],
)
def test_a_call_that_cannot_be_read_one_way_is_refused(call: str, cli: Cli) -> None:
    cli.script(wire.exchange(wire.tool_use("Bash", call, piece_chars=20_000)), wire.exchange(DONE))
    done = cli.run("-p", "go", "--allow", "Bash", "--session", "s")
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert not (cli.work / "PWNED").exists()
    assert len(results(cli)) == 1
    for file in cli.home.rglob("*.jsonl"):
        file.read_bytes().decode("utf-8")


def outcome(cli: Cli, command: str, **more: int) -> str:
    call = {"command": command, **more}
    cli.script(wire.exchange(wire.tool_use("Bash", call)), wire.exchange(DONE))
    assert cli.run("-p", "go", "--allow", "Bash").code == 0
    return results(cli)[0]


def test_s753_endless_output_is_kept_in_part(cli: Cli) -> None:
    text = outcome(cli, "yes", timeout_seconds=1)
    assert "timed out" in text
    assert len(text) < 200_000


def test_s757_a_command_reads_nothing(cli: Cli) -> None:
    assert "timed out" not in outcome(cli, "cat; read x; echo over")
    assert "over" in results(cli)[0]


def test_s759_a_line_of_a_million_characters_is_cut(cli: Cli) -> None:
    text = outcome(cli, "head -c 1000000 /dev/zero | tr '\\0' a")
    assert "aaaa" in text
    assert len(text) < 200_000
