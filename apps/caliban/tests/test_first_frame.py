"""Which arguments lead to the first frame: only what opens the terminal interface for certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban.__main__ import SWITCHES, TAKING, is_conversation
from caliban.cli.commands import COMMANDS, find_command
from caliban.cli.groups import GROUPS


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-c"],
        ["--continue", "--model", "m"],
        ["--model=m"],
        ["-r", "doctor"],
        ["--settings", '{"editor_mode": "vim"}'],
        ["fix the parser"],
        ["--allow", "Bash", "--allow", "Read", "fix the parser"],
        ["--system", "-p"],
    ],
)
def test_what_opens_the_interface_is_known(arguments: list[str]) -> None:
    assert is_conversation(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p"],
        ["-c", "-p", "hi there"],
        ["--model", "m", "--print"],
        ["--output-format", "json"],
        ["doctor"],
        ["word"],
        ["-c", "doctor"],
        ["-"],
        ["--"],
        ["--model"],
        ["-r"],
        ["--bare=1"],
        ["--help"],
        ["--version"],
        ["--resum", "x"],
        [""],
        ["\x00"],
    ],
)
def test_whatever_else_waits_for_the_parser(arguments: list[str]) -> None:
    assert not is_conversation(arguments)


def test_the_flags_are_those_of_the_table_and_take_what_it_says() -> None:
    flags = {name: flag for group in GROUPS for flag in group.flags for name in flag.names}
    assert set(flags) >= SWITCHES | TAKING
    for name in SWITCHES:
        assert flags[name].how.get("action") in ("store_true", "store_const", "store_false"), name
    for name in TAKING:
        how = flags[name].how
        assert how.get("action") in (None, "append", "store") and "nargs" not in how, name


NAMES = st.sampled_from(
    [*sorted(SWITCHES), *sorted(TAKING), "-p", "doctor", "mcp", "a b", "--", "", "-x=1", "é"]
)


@given(st.lists(NAMES, max_size=6))
def test_no_command_is_ever_taken_for_a_conversation(arguments: list[str]) -> None:
    if is_conversation(arguments):
        assert find_command(arguments, COMMANDS) is None
