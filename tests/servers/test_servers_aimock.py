"""The real command against aimock, which plays five interfaces and checks nothing but keys."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from command_kit import Cli
from server_kit import CANCELLED, COLOUR, STREAM, Door, calls_of, program, results_of, serving

pytestmark = [pytest.mark.servers]

KEY = "sk-mock"
READ_NOTES = {"name": "Read", "arguments": {"path": "notes.txt"}}
READ_MORE = {"name": "Read", "arguments": {"path": "more.txt"}}
FIXTURES = (
    ("What do the notes say?", 0, {"content": "I look.", "toolCalls": [READ_NOTES]}),
    ("What do the notes say?", 1, {"content": "It is 4711."}),
    ("Read both", 0, {"toolCalls": [READ_NOTES, READ_MORE]}),
    ("Read both", 1, {"content": "They are 4711 and 4712."}),
    ("Read one, then the other", 0, {"toolCalls": [READ_NOTES]}),
    ("Read one, then the other", 1, {"toolCalls": [READ_MORE]}),
    ("Read one, then the other", 2, {"content": "They are 4711 and 4712."}),
    ("Which colour?", 0, {"content": '{"colour": "red"}'}),
    ("Greet me", 0, {"content": "Hello there, whoever you are."}),
)
"""The prompt, how many replies came before, and the next one."""

ENDLESS = {
    "match": {"userMessage": "Go on and on"},
    "response": {"content": "on and " * 10_000},
    "chunkSize": 7,
    "streamingProfile": {"ttft": 0, "tps": 20},
}
"""A stream of many minutes: its delay counts from the first event on, so none can stall after text."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = program("aimock", "node_modules/@copilotkit/aimock/dist/cli.js")
    folder = tmp_path_factory.mktemp("aimock")
    fixtures: list[object] = [
        {"match": {"userMessage": prompt, "turnIndex": turn}, "response": response, "chunkSize": 4}
        for prompt, turn, response in FIXTURES
    ]
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": [*fixtures, ENDLESS]}))
    flags = ("--port", "0", "--fixtures", "fixtures.json", "--strict", "--validate-on-load")
    with serving(["node", script, *flags], folder, AIMOCK_API_KEYS=KEY) as address:
        yield address


@pytest.fixture(params=["chat", "responses", "messages", "gemini", "ollama"])
def door(url: str, request: pytest.FixtureRequest) -> Door:
    match request.param:
        case "chat" | "responses" as api:
            return Door(kind="openai", url=f"{url}/v1", model="gpt-5.5", key=KEY, options={"api": api})
        case "messages":
            return Door(kind="anthropic", url=url, model="claude-sonnet-4-6", key=KEY)
        case "gemini":
            return Door(kind="google", url=url, model="gemini-3-flash-preview", key=KEY)
        case _:
            return Door(kind="ollama", url=url, model="llama3.2", key=KEY)


def test_its_text_streams(cli: Cli, door: Door) -> None:
    done = door.ask(cli, "Greet me", *STREAM)
    assert done.code == 0, done.err
    deltas = [frame["delta"] for frame in done.of("text")]
    assert "".join(deltas) == done.frames[-1]["result"] == "Hello there, whoever you are."
    assert len(deltas) > 3


def test_its_call_runs_a_tool_and_it_is_told_the_result(cli: Cli, door: Door) -> None:
    done = door.ask(cli, "What do the notes say?", *STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "It is 4711."), done.err
    assert calls_of(done) == [("Read", {"path": "notes.txt"})]
    assert "4711" in results_of(done)[0]


def test_its_calls_run_side_by_side(cli: Cli, door: Door) -> None:
    done = door.ask(cli, "Read both", *STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "They are 4711 and 4712."), done.err
    assert calls_of(done) == [("Read", {"path": "notes.txt"}), ("Read", {"path": "more.txt"})]
    assert ["4711" in results_of(done)[0], "4712" in results_of(done)[1]] == [True, True]
    assert done.frames[-1]["turns"] == 2


def test_its_calls_follow_one_another(cli: Cli, door: Door) -> None:
    done = door.ask(cli, "Read one, then the other", *STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "They are 4711 and 4712."), done.err
    assert calls_of(done) == [("Read", {"path": "notes.txt"}), ("Read", {"path": "more.txt"})]
    assert [frame["is_error"] for frame in done.of("tool_result")] == [False, False]
    assert len({frame["id"] for frame in done.of("tool_use")}) == 2


def test_its_answer_fits_a_schema(cli: Cli, door: Door) -> None:
    flags = ("--no-tools", "--output-format", "json", "--json-schema", json.dumps(COLOUR))
    done = door.ask(cli, "Which colour?", *flags)
    assert (done.code, done.json["structured_output"]) == (0, {"colour": "red"}), done.err
    assert done.json["turns"] == 1  # it was neither refused nor asked again


def test_a_wrong_key_is_said(cli: Cli, door: Door) -> None:
    done = door.ask(cli, "Greet me", key="sk-wrong")
    assert (done.code, done.out) == (1, "")
    assert "does not accept the key (HTTP 401)" in done.err


def test_an_interrupt_ends_the_run_and_leaves_nothing(cli: Cli, door: Door) -> None:
    assert door.interrupt(cli, "Go on and on") == CANCELLED
