"""A real answer of the packaged model, through the real command, without a key and without a network."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from hang_guard import HANG_S

pytestmark = [pytest.mark.local_model, pytest.mark.slow]
ENV = {"ANTHROPIC_API_KEY": "", "CALIBAN_LOCAL_THREADS": "1"}


def test_the_first_command_of_the_readme_answers(cli):
    done = cli.run(
        "--provider",
        "local",
        "-p",
        "Name three colours.",
        "--max-tokens",
        "256",
        "--output-format",
        "json",
        env=ENV,
    )
    assert done.code == 0
    assert len(done.json["result"].split()) >= 3
    assert done.json["usage"]["output_tokens"] > 0
    assert cli.server.requests == ()


def test_on_a_terminal_the_loading_is_announced(cli):
    parent, child = pty.openpty()
    process = cli.start(
        "--provider",
        "local",
        "-p",
        "Say hi.",
        "--max-tokens",
        "256",
        env=ENV,
        stderr=child,
        stdout=subprocess.PIPE,
    )
    os.close(child)
    out = process.communicate(timeout=HANG_S)[0]
    shown = os.read(parent, 65536).decode()
    os.close(parent)
    assert process.returncode == 0, shown
    assert out.strip()
    assert "loading" in shown


def test_a_missing_model_file_is_named(cli):
    done = cli.run("--provider", "local", "--model", "/no/such.gguf", "-p", "hi", env=ENV)
    assert done.code == 1
    assert "/no/such.gguf" in done.err
    assert "Traceback" not in done.err


def test_a_prompt_beyond_the_window_is_refused_with_its_size(cli):
    done = cli.run("--provider", "local", "-p", "-", stdin=b"word " * 8000, env=ENV)
    assert done.code == 1
    assert "4096" in done.err


def test_nothing_but_the_answer_is_on_standard_output(cli):
    command = [sys.executable, "-m", "caliban", "--provider", "local", "-p", "Say hi.", "--max-tokens", "256"]
    done = subprocess.run(command, env={**cli.env, **ENV}, cwd=cli.work, capture_output=True, timeout=HANG_S)
    assert done.returncode == 0
    assert done.stdout.count(b"\n") >= 1
    assert b"llama" not in done.stdout + done.stderr
