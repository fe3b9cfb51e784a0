"""Words of other tools and hints where there is no way back: each answer can be followed."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from caliban.cli.commands import find_command
from caliban.cli.foreign import VERBS, WAYS


def hint(refused) -> str:
    assert refused.code in (64, 66) and refused.out == ""
    return refused.err.partition("\nhint: ")[2]


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (
            ("resume",),
            "here that is caliban --continue for the session used last here, caliban --resume NAME",
        ),
        (("exec", "hi"), "here that is caliban -p PROMPT; "),
        (("hooks",), "here that is caliban config get hooks; "),
        (("help", "fork"), "here that is caliban sessions fork NAME NEW; caliban help lists"),
        (("sessions", "delete", "x"), "did you mean rm? "),
        (("mcp", "delete", "x"), "did you mean remove? "),
        (("perms", "allow", "Bash"), "did you mean add? "),
        (("trust", "ls"), "did you mean list? "),
        (("memory", "add", "x"), "caliban memory --help"),
        (("trust", "list", "a", "b"), "caliban trust list --help"),
        (("config", "set", "-g", "model", "x"), "caliban config set --help"),
    ],
    ids=" ".join,
)
def test_a_word_of_another_tool_is_answered_with_the_line_that_does_it_here(cli, words, way):
    assert hint(cli.run(*words)).startswith(way)
    assert cli.server.requests == ()


def test_the_lines_that_are_named_are_there():
    for way in WAYS.values():
        words = way.split()[1:]
        if words[0] not in ("-p", "--continue", "without"):
            called = find_command(words)
            assert called is not None, way
    assert all(len(set(words)) == len(words) > 1 for words in VERBS)


def test_going_back_where_there_is_no_session_offers_none_that_would_be_begun(cli):
    for words, offer in (((), "caliban rewind SESSION"), (("nope",), "caliban sessions list --all")):
        advice = hint(cli.run("rewind", *words))
        assert offer in advice and "begin" not in advice and "--continue" not in advice
    listed = cli.run("sessions", "list", "--all")
    assert listed.code == 0, listed.err


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_settings_that_are_no_file_are_moved_away_by_the_line_of_the_hint(cli, make):
    path = cli.configure("")
    path.unlink()
    make(path)
    refused = cli.run("config", "set", "model", "m")
    assert refused.code == 78 and "not a regular file" in refused.err
    line = refused.err.rstrip().partition("move it away: ")[2]
    subprocess.run(line, shell=True, check=True)
    done = cli.run("config", "set", "model", "m")
    assert (done.code, path.read_text()) == (0, 'model = "m"\n'), done.err


@pytest.mark.parametrize("words", [("Bash(ls)",), ("Bash:git *",), ("Bash", "git status"), ("Bash", "5")])
def test_a_call_that_is_none_is_asked_for_by_the_words_that_judge_one(cli, words):
    for verb in ("test", "explain"):
        refused = cli.run("perms", verb, *words)
        assert refused.code == 64 and "MATCH" not in refused.out
    _, _, line = hint(refused).partition("a call is a tool and its input: ")
    judged = cli.run("perms", "explain", *shlex.split(line))
    assert (judged.code, "git status" in judged.out) == (0, True), judged.err
