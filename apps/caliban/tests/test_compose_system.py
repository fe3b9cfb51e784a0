"""The system prompt: what it says, and which ones of saved sessions are ours to write anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban.cli.options import SystemOptions
from caliban.compose.context import ROWS, ContextInputs, ContextPiece, ContextRow, context_pieces
from caliban.compose.memory.run import RunMemory
from caliban.compose.system import build_system, is_default
from caliban_common.message import Message, assistant, system, user

EARLIER = """\
You are an assistant that works in a terminal through the caliban harness. You help with software and files \
by calling tools.

Working directory: /old
Tools: Bash, Edit, Glob, Grep, Read, Write

How to work:
- Look before you claim: say nothing of a file that you have not read in this conversation."""


def built(
    options: SystemOptions, *, has_tools: bool = True, rows: tuple[ContextRow, ...] = ROWS
) -> Message | None:
    memory = RunMemory(None, Path("/work"), print)
    inputs = ContextInputs(options=options, workspace=Path("/work"), memory=memory, has_tools=has_tools)
    return build_system(context_pieces(inputs, rows))


@pytest.mark.parametrize("has_tools", [True, False])
def test_what_was_written_without_a_flag_is_written_anew(has_tools: bool) -> None:
    message = built(SystemOptions(), has_tools=has_tools)
    assert message is not None
    assert is_default((message, user("hi")))


def test_the_prompt_of_an_earlier_version_which_named_the_tools_is_too() -> None:
    assert is_default((system(EARLIER), user("hi"), assistant("Hello.")))


def test_what_a_flag_once_said_is_kept() -> None:
    message = built(SystemOptions(system="Be brief."))
    assert message is not None
    assert not is_default((message, user("hi")))
    assert not is_default((user("hi"),))
    assert not is_default(())


def test_the_prompt_names_the_directory_and_no_tool() -> None:
    message = built(SystemOptions())
    assert message is not None
    assert "Working directory: /work\n" in message.text
    assert not {"Bash", "Grep", "Glob", "Edit"} & set(message.text.split())


def test_no_system_prompt_is_none() -> None:
    assert built(SystemOptions(no_system=True)) is None


def test_another_piece_is_a_row_and_gives_way_to_a_prompt_of_ones_own() -> None:
    style = ContextPiece(kind="style", source="s", text='<output-style name="s">\nx\n</output-style>')
    rows = (ContextRow(kind="style", make=lambda inputs: (style,)), *ROWS)
    with_it = built(SystemOptions(), rows=rows)
    assert with_it is not None and with_it.text.startswith("<output-style")
    assert is_default((with_it, user("hi")))
    own = built(SystemOptions(system="Be brief."), rows=rows)
    assert own is not None and own.text == "Be brief."
