"""The registry: names, aliases, what is a call and what is a path."""

from __future__ import annotations

import pytest

from caliban_commands.answer import CommandAnswer
from caliban_commands.builtin.table import BUILTIN
from caliban_commands.command import SlashCommand, SlashContext
from caliban_commands.errors import UnknownCommand
from caliban_commands.registry import CommandRegistry


async def nothing(context: SlashContext, arguments: str) -> CommandAnswer:
    return CommandAnswer()


def test_a_taken_name_is_left_out_and_an_alias_leads_to_its_command():
    registry = CommandRegistry(BUILTIN)
    assert not registry.add(SlashCommand(name="Cost", summary="another", group="Yours", run=nothing))
    command = registry.find("EXIT")
    assert command is not None
    assert command.name == "quit"


@pytest.mark.parametrize(
    "line", ["/usr/bin/env", "/tmp", "/etc is full", "/", "hello /cost", "//cost", "/ cost"]
)
def test_what_is_no_call_is_text(line: str):
    assert CommandRegistry(BUILTIN).called(line) is None


def test_a_call_of_nothing_that_is_known_is_told_with_what_is_near():
    with pytest.raises(UnknownCommand, match="there is no command /cots") as caught:
        CommandRegistry(BUILTIN).called("/cots")
    assert "did you mean /cost?" in (caught.value.hint or "")
