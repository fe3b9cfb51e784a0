"""A further command is a row and its module."""

import pytest

from caliban.cli.commands import COMMANDS, find_command
from caliban.cli.completion import SCRIPTS
from caliban.cli.flag import switch
from caliban.cli.groups import shared
from caliban.cli.help import build_parser
from caliban.cli.subcommand import Subcommand
from caliban.main import run

MODULE = """\
from caliban.stdio import write_out

def greet(invocation):
    name = invocation.options.model.provider or "nobody"
    text = f"hello {name}\\n"
    return write_out((text.upper() if invocation.values["loud"] else text).encode())
"""
ROW = Subcommand(
    "greet",
    "say hello to a provider",
    "greeting:greet",
    flags=(shared("--provider"), switch("--loud", help="in capitals")),
    usage="[--loud]",
    description="Say hello.",
)
WITH_ROW = (*COMMANDS, ROW)


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "greeting.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("CALIBAN_PROVIDER", raising=False)


def test_a_row_is_dispatched_helped_and_completed(module, capfd):
    assert run(["greet", "--provider", "mine", "--loud"], commands=WITH_ROW) == 0
    assert capfd.readouterr().out == "HELLO MINE\n"
    assert run(["greet", "--help"], commands=WITH_ROW) == 0
    assert "--loud" in capfd.readouterr().out
    assert run(["greet", "--lout"], commands=WITH_ROW) == 64
    assert "did you mean --loud?" in capfd.readouterr().err
    assert "caliban greet [--loud]" in build_parser(commands=WITH_ROW).format_help()
    assert all("greet" in script(commands=WITH_ROW) for script in SCRIPTS.values())


def test_without_the_row_it_is_a_prompt():
    assert find_command(["greet"]) is None
