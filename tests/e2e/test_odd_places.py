"""The command in odd places: directories that are gone, names that are no text, streams that are closed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from command_kit import Cli
from hang_guard import HANG_S
from starts_kit import TRUE_START

from caliban_provider_anthropic.testing import wire

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
    for words in (("plugin", "validate"), ("plugin", "install", "--dir"), ("-p", "x", "--record")):
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


def interrupted(cli: Cli, *words: str, asks: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """How a command ends that is interrupted once at a terminal when it `asks`, and its standard error."""
    ours, theirs = os.openpty()
    process = cli.start(*words, stdin=theirs, env=env)
    os.close(theirs)
    assert process.stderr is not None
    printed = b""
    while asks.encode() not in printed:
        piece = os.read(process.stderr.fileno(), 1 << 16)
        assert piece, printed
        printed += piece
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=HANG_S)
    os.close(ours)
    return process.returncode, (printed + rest).decode()


def test_one_interrupt_ends_a_question(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("yes")))
    assert cli.run("-p", "hello", "--session", "one").code == 0
    code, err = interrupted(cli, "sessions", "rm", "one", asks="[y/N] ")
    assert (code, "cancelled; nothing was written" in err) == (124, True), err
    assert cli.run("sessions", "show", "one").code == 0


def test_what_was_edited_is_kept_when_its_question_is_interrupted(cli: Cli) -> None:
    editor = cli.home / "editor"
    editor.write_text('#!/bin/sh\necho "no settings =" >"$1"\n')
    editor.chmod(0o755)
    code, err = interrupted(cli, "config", "edit", asks="edit it again? [Y/n] ", env={"VISUAL": str(editor)})
    side = cli.home / ".config" / "caliban" / "settings.toml.rejected"
    assert (code, f"it is kept in {side}" in err) == (78, True), err
    assert side.read_text() == "no settings =\n"


def test_an_editor_that_takes_the_file_away_changes_nothing(cli: Cli) -> None:
    settings = cli.configure('model = "one"\n')
    done = cli.run("config", "edit", env={"VISUAL": "rm"})
    assert (done.code, "nothing is changed: the editor left no text" in done.err) == (1, True), done.err
    assert settings.read_text() == 'model = "one"\n'


def test_what_is_new_in_a_trusted_project_cannot_look_like_the_head_of_a_diff(cli: Cli) -> None:
    file = cli.work / ".claude" / "commands" / "go.md"
    file.parent.mkdir(parents=True)
    file.write_text("one\n-- two\n!`ls`\n")
    digest = cli.run("trust", "show", "--json").json["digest"]
    assert cli.run("trust", "add", "--yes", "--digest", digest).code == 0
    file.write_text("one\n++ three\n!`ls`\n")
    shown = cli.run("trust", "show").out.splitlines()
    assert {line.strip() for line in shown} >= {"--- two", "+++ three"}, shown


def test_a_session_is_exported_to_the_path_that_was_typed(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("yes")))
    assert cli.run("-p", "hello", "--session", "one").code == 0
    done = cli.run("-r", "one", "-p", "/export my--force--format.md --force --format=json")
    assert (done.code, done.err) == (0, ""), done.err
    assert json.loads((cli.work / "my--force--format.md").read_text())["name"] == "one"


def test_a_marketplace_that_is_too_large_is_refused(cli: Cli) -> None:
    index = cli.work / ".claude-plugin" / "marketplace.json"
    index.parent.mkdir()
    with index.open("wb") as file:
        file.truncate(1 << 30)
    done = cli.run("plugin", "validate")
    assert (done.code, "bytes; at most" in done.err) == (1, True), done.err
