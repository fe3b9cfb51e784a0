"""The driver with a scripted provider: hooks, order, and one result on every path."""

from __future__ import annotations

import json
import os
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core import Agent
from caliban_common.event import (
    AgentEvent,
    AssistantTextDelta,
    HistoryReplaced,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    ToolCallReady,
    TurnEnd,
    TurnStart,
)
from caliban_common.hook import HookEvent, HookVerdict
from caliban_common.message import Message, TextBlock, ToolUseBlock, assistant, user
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_drive import Session
from caliban_drive.result import PromptResult
from caliban_headless import Driver, Init, OnePrompt, Output
from caliban_headless.exit_codes import CODES, exit_code
from caliban_headless.frames import tool_use_frame
from caliban_headless.json import JsonEncoder
from caliban_headless.notices import Notices
from caliban_headless.stream import StreamEncoder, StreamOptions
from caliban_headless.text import TextEncoder
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

INIT = Init(
    session_id="s", model="p/m", tools=(), setting_sources=(), bare=False, cwd="/", permission_mode="default"
)


class Denying:
    """Hooks that deny one kind of event."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def fire(self, event: HookEvent) -> HookVerdict:
        denies = event.type == self.name
        return HookVerdict(decision="deny" if denies else "continue", reason="not today" if denies else "")


async def drive(encoder, provider, hooks=None) -> tuple[int, str]:
    reader, writer = os.pipe()
    session = Session(Agent(provider, "m", hooks=hooks), id="s")
    driver = Driver(session=session, encoder=encoder, output=Output(writer), init=INIT)
    with anyio.fail_after(HANG_S):
        code = await driver.run(OnePrompt(user("hi")))
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        return code, stream.read()


@pytest.mark.anyio
async def test_h9_the_result_is_last_even_after_hook_events():
    provider = ScriptedProvider([reply(tool_call("x")), reply("done")])
    encoder = StreamEncoder(StreamOptions(hooks=True))
    code, out = await drive(encoder, provider, Denying("nothing"))
    frames = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [f["type"] for f in frames].count("result") == 1
    assert frames[-1]["type"] == "result"
    names = [f["hookEventName"] for f in frames if f["type"] == "hook_event"]
    turns = ["PreTurn", "PostToolUseFailure", "PostToolBatch", "PostTurn", "PreTurn", "PostTurn"]
    assert names == ["SessionStart", "UserPromptSubmit", *turns, "Stop"]


@pytest.mark.anyio
async def test_h12_a_hook_that_denies_the_run_gives_an_error_result():
    provider = ScriptedProvider([])
    code, out = await drive(JsonEncoder(), provider, Denying("UserPromptSubmit"))
    result = json.loads(out)
    assert (result["subtype"], code) == ("error", 1)
    assert "not today" in result["error"]
    assert provider.requests == []


@pytest.mark.anyio
async def test_a_hook_that_denies_a_call_is_a_denial_in_the_result():
    provider = ScriptedProvider([reply(tool_call("Known")), reply("done")])

    class Known:
        from caliban_common.tool import ToolSpec

        spec = ToolSpec(name="Known", description="", input_schema={"type": "object"})

        def conflict_key(self, args):
            return None

        async def invoke(self, args, context):
            raise AssertionError("must not run")

    reader, writer = os.pipe()
    agent = Agent(provider, "m", tools=[Known()], hooks=Denying("PreToolUse"))
    driver = Driver(session=Session(agent, id="s"), encoder=JsonEncoder(), output=Output(writer), init=INIT)
    assert await driver.run(OnePrompt(user("hi"))) == 0
    denials = json.loads(os.read(reader, 65536))["permission_denials"]
    assert [(d["tool_name"], d["reason"]) for d in denials] == [("Known", "not today")]


def text_of(*events) -> str:
    encoder = TextEncoder()
    out = b"".join(encoder.event(event) for event in events)
    done = PromptResult(subtype="success")
    return (out + encoder.result(done)).decode()


def delta(text: str) -> AssistantTextDelta:
    return AssistantTextDelta(turn=0, text=text)


def turn_end(text: str = "x") -> TurnEnd:
    return TurnEnd(turn=0, message=assistant(text), results=(), stop_reason="end_turn", usage=Usage())


START = TurnStart(turn=0, model="m")
BACK = ReplyDiscarded(turn=0, reason="r")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((START, delta("Hello"), turn_end()), "Hello\n"),
        ((START, delta("Hello\n"), turn_end()), "Hello\n"),
        ((START, delta("A"), turn_end(), START, delta("B"), turn_end()), "A\nB\n"),
        ((START, delta("Hel"), BACK, delta("He"), delta("llo"), turn_end()), "Hello\n"),
        ((START, delta("Hel"), BACK, delta("Hey you"), turn_end()), "Hel\nHey you\n"),
        ((START, delta("Hello"), BACK, delta("Hel"), turn_end()), "Hello\nHel\n"),
        ((START, delta("Hello"), BACK, delta("Hello"), turn_end()), "Hello\n"),
        ((START, delta("Hel"), BACK, BACK, delta("Hello"), turn_end()), "Hello\n"),
        ((START, turn_end()), "\n"),
        ((START, delta("\ud800"), turn_end()), "\ufffd\n"),
    ],
)
def test_text_is_printed_once_however_often_it_is_said(events, expected):
    assert text_of(*events) == expected


def test_an_input_is_an_object_also_where_the_model_wrote_none():
    call = ToolUseBlock(id="t", name="Bash", input={}, raw_input='{"command": "ls')
    frame = tool_use_frame(ToolCallReady(turn=0, call=call))
    assert (frame["input"], frame["raw_input"]) == ({}, '{"command": "ls')


def test_every_end_has_a_documented_code():
    assert set(CODES.values()) == {0, 1, 2, 75, 124, 137}


@pytest.mark.parametrize(
    ("category", "status", "code"),
    [("authentication", None, 78), ("authentication", 401, 1), ("network", None, 1), (None, None, 1)],
)
def test_credentials_that_no_server_was_asked_about_are_a_matter_of_configuration(category, status, code):
    assert exit_code(Stop(kind="provider_error", category=category, status=status)) == code


def frames_of(encoder: StreamEncoder, *events: AgentEvent) -> list[dict[str, Any]]:
    written = b"".join(map(encoder.event, events))
    return [json.loads(line) for line in written.splitlines()]


def test_a_run_that_is_cut_off_has_a_message_for_what_was_said():
    message = Message(
        role="assistant", content=(TextBlock(text="I wait."), ToolUseBlock(id="t", name="W", input={}))
    )
    usage = Usage(input_tokens=3, output_tokens=2)
    end = RunEnd(stop=Stop(kind="cancelled"), messages=(message,), usage=usage, turns=1)
    (frame,) = frames_of(StreamEncoder(StreamOptions()), MessageAdded(message=message), end)
    assert (frame["type"], frame["content"][0]["text"], frame["usage"]["output_tokens"]) == (
        "message",
        "I wait.",
        2,
    )
    assert frames_of(StreamEncoder(StreamOptions(partial=True)), MessageAdded(message=message), end) == []


def test_a_compaction_has_a_frame_and_a_line_and_other_rewrites_have_none():
    event = HistoryReplaced(
        messages=(), reason="the conversation was summarised", tokens_before=9000, tokens_after=700
    )
    (frame,) = frames_of(StreamEncoder(StreamOptions()), event)
    assert frame == {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {"trigger": "auto", "pre_tokens": 9000, "post_tokens": 700},
    }
    line = "caliban: the conversation was summarised: about 9,000 tokens are 700 now\n"
    assert Notices(announce=False).event(event) == line
    other = HistoryReplaced(messages=(), reason="the system prompt changed")
    assert frames_of(StreamEncoder(StreamOptions()), other) == []
    assert Notices(announce=False).event(other) == ""
