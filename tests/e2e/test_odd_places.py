"""The command in odd places: directories that are gone, names that are no text, streams that are closed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from command_kit import Cli
from hang_guard import HANG_S
from starts_kit import TRUE_START

FAULT = "this is a fault in caliban"


def by_shell(cli: Cli, line: str, *words: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Run `line` in a shell in a folder of its own, where `"$@"` is the command with `words`."""
    folder = cli.work / "place"
    folder.mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", line, "sh", *TRUE_START, *words],
        cwd=folder,
        env={**cli.env, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("doctor",), 1),
        (("plugin", "init", "new"), 64),
        (("plugin", "validate"), 64),
        (("sessions", "copy", "s", "--to", "there"), 64),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_working_directory_that_was_removed_is_named(cli: Cli, words: Sequence[str], code: int) -> None:
    ended, out, err = by_shell(cli, 'rmdir "$PWD"; exec "$@"', *words)
    assert (ended, "the current directory does not exist any more" in out + err) == (code, True), err


def test_a_directory_whose_name_is_no_text_is_listed_all_the_same(cli: Cli) -> None:
    folder = Path(os.fsdecode(os.fsencode(cli.work) + b"/d\xff\xc3\xa9"))
    folder.mkdir()
    listed = replace(cli, work=folder).run("sessions", "list", env={"LC_ALL": "C"})
    assert (listed.code, listed.err) == (0, "")
    assert listed.out == f"(no sessions in {cli.work}/d\ufffdé; --all shows those of others)\n"


def test_an_answer_that_cannot_be_written_is_a_failure(cli: Cli) -> None:
    code, _, err = by_shell(cli, 'exec "$@" >/dev/full', "sandbox")
    assert (code, err) == (1, "caliban: standard output cannot be written: No space left on device\n")


def test_a_name_that_the_system_refuses_is_no_fault_of_the_program(cli: Cli) -> None:
    long = "x" * 300
    for words in (
        ("plugin", "validate", long),
        ("plugin", "install", "--dir", long),
        ("-p", "x", "--record", long),
    ):
        done = cli.run(*words, long)
        assert (done.code, FAULT in done.err, "ile name too long" in done.err) == (1, False, True), done.err


def test_links_that_lead_to_each_other_are_refused_by_name(cli: Cli) -> None:
    (cli.work / "loop").symlink_to("loop")
    done = cli.run("memory", "revoke", "loop")
    assert (done.code, done.err) == (64, f"caliban: {cli.work}/loop cannot be looked at\n")


def test_a_home_of_somebody_who_does_not_exist_is_a_folder_that_is_not_there(cli: Cli) -> None:
    install = cli.run("plugin", "install", "--dir", "~nosuchuser/x")
    assert (install.code, FAULT in install.err) == (1, False), install.err
    servers = cli.run("-p", "x", "--mcp-config", "~nosuchuser/x")
    assert (servers.code, FAULT in servers.err) == (78, False), servers.err
