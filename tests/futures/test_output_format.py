"""An output format is one fold over events, and a row that names it."""

from __future__ import annotations

import os

import pytest

from caliban.cli.formats import OUTPUT_FORMATS, OutputFormat, output_format
from caliban.cli.options import OutputOptions
from caliban_agent_core import Agent
from caliban_common.event import AgentEvent, AssistantTextDelta
from caliban_common.message import Message, user
from caliban_drive import PromptResult, Session
from caliban_headless import Driver, Init, OnePrompt, Output
from caliban_provider.testing.scripted import ScriptedProvider, reply

pytestmark = pytest.mark.anyio

INIT = Init(
    session_id="s", model="p/m", tools=(), setting_sources=(), bare=True, cwd="/", permission_mode="default"
)


class Shouting:
    """The format: the answer in capitals."""

    def begin(self, init: Init) -> bytes:
        return b""

    def prompt(self, message: Message) -> bytes:
        return b""

    def event(self, event: AgentEvent) -> bytes:
        return event.text.upper().encode() if isinstance(event, AssistantTextDelta) else b""

    def result(self, result: PromptResult) -> bytes:
        return b"!\n"


def shouting(options: OutputOptions) -> Shouting:
    return Shouting()


ROW = OutputFormat("shouting", "the answer, louder", f"{__name__}:shouting")


async def test_a_row_and_an_encoder_are_a_format():
    row = output_format("shouting", (*OUTPUT_FORMATS, ROW))
    assert row is ROW
    reader, writer = os.pipe()
    session = Session(Agent(ScriptedProvider([reply("hello")]), "m"), id="s")
    driver = Driver(session, row.load()(OutputOptions()), Output(writer), init=INIT)
    assert await driver.run(OnePrompt(user("hi"))) == 0
    assert os.read(reader, 100) == b"HELLO!\n"
    os.close(reader)
    os.close(writer)
