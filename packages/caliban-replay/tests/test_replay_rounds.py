"""What was recorded comes again; what is cut or changed in the file is words, and never a fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest
from extent_kit import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent))

from replay_kit import SCRIPT, play_run, record_run

from caliban_common.errors import CalibanError
from caliban_common.message import TextBlock, system, user
from caliban_common.stop import Stop
from caliban_common.tool import ToolSpec
from caliban_provider.errors import BudgetSpent, NetworkError, RateLimited, StreamIdle
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.scripted import ScriptedProvider, reply
from caliban_provider.testing.strategies import assistant_blocks
from caliban_replay import ReplayOptions, first_difference, load_recording
from caliban_replay.faults import error_from_data, error_to_data
from caliban_replay.pieces import event_from_data, event_to_data

pytestmark = pytest.mark.anyio


async def test_messages_ids_and_results_come_again(tmp_path):
    first = await record_run(tmp_path / "r")
    again, replay, notices = await play_run(tmp_path / "r", ReplayOptions(strict=True))
    assert (again.stop, notices, replay.difference) == (first.stop, [], None)
    assert again.messages[1:] == first.messages[1:]
    assert [message.content for message in again.messages] == [message.content for message in first.messages]
    assert replay.recording.turns == 3


async def test_a_run_stops_after_the_turns_that_it_was_given(tmp_path):
    await record_run(tmp_path / "r")
    stop = Stop(kind="max_turns", message="enough")
    again, replay, _ = await play_run(tmp_path / "r", ReplayOptions(until=1, stop=stop))
    assert (again.stop, again.turns, replay.is_over) == (stop, 1, True)


async def test_where_the_run_does_not_come_by_any_more_order_is_given_up(tmp_path):
    await record_run(tmp_path / "r")
    lines = (tmp_path / "r").read_text().splitlines()
    odd = {"type": "call", "at_s": 0, "number": 99, "tool": "Gone", "id": "x", "agent": "", "input": {}}
    result = {"type": "result", "at_s": 0, "number": 99, "output": None, "invalid": "never"}
    (tmp_path / "r").write_text("\n".join([lines[0], json.dumps(odd), json.dumps(result), *lines[1:]]) + "\n")
    again, _, notices = await play_run(tmp_path / "r", ReplayOptions(patience_s=0.01))
    assert (again.stop.kind, again.text) == ("end_of_turn", "done")
    assert any("the order of things is not kept" in words for words in notices)


async def test_retries_wait_for_nothing_and_errors_come_again(tmp_path):
    failing = replace(reply("no"), error=RateLimited("slow down", retry_after_s=0.01), error_after=0)
    first = await record_run(tmp_path / "r", failing, reply("yes"))
    again, _, _ = await play_run(tmp_path / "r")
    assert (first.text, again.text, again.messages[1:]) == ("yes", "yes", first.messages[1:])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> bytes:
    file = tmp_path_factory.mktemp("recorded") / "r"
    anyio.run(lambda: record_run(file, *SCRIPT))
    return file.read_bytes()


def plays(file: Path) -> None:
    """Play `file`, or refuse it in words."""
    try:
        load_recording(file, home="")
    except CalibanError as error:
        assert error.message
        return
    end, _, _ = anyio.run(lambda: play_run(file, ReplayOptions(patience_s=0.001)))
    assert end.stop.kind


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_file_with_changed_bytes_plays_or_is_refused(recorded, tmp_path, data):
    changed = bytearray(recorded)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        match data.draw(st.sampled_from(["byte", "cut", "double", "out"])):
            case "byte":
                changed[at] = data.draw(st.integers(0, 255))
            case "cut":
                del changed[at + 1 :]
            case "double":
                changed[at:at] = changed[at : at + data.draw(st.integers(1, 200))]
            case "out":
                del changed[at : at + data.draw(st.integers(1, 200))]
        if len(changed) < 2:
            break
    (tmp_path / "r").write_bytes(bytes(changed))
    plays(tmp_path / "r")


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_file_with_other_lines_plays_or_is_refused(recorded, tmp_path, data):
    lines = recorded.splitlines()
    match data.draw(st.sampled_from(["shuffle", "drop", "member"])):
        case "shuffle":
            lines = [lines[0], *data.draw(st.permutations(lines[1:]))]
        case "drop":
            del lines[data.draw(st.integers(1, len(lines) - 1))]
        case "member":
            at = data.draw(st.integers(0, len(lines) - 1))
            line = json.loads(lines[at])
            name = data.draw(st.sampled_from(sorted(line)))
            scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
            line[name] = data.draw(scalars | st.lists(scalars, max_size=2) | st.just({}))
            lines[at] = json.dumps(line).encode()
    (tmp_path / "r").write_bytes(b"\n".join(lines) + b"\n")
    plays(tmp_path / "r")


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("slow", hint="wait", status=429, retry_after_s=2.0),
        NetworkError("gone").with_remedy("other_provider", "x"),
        StreamIdle("nothing came", idle_s=3.0),
        BudgetSpent(Stop(kind="budget", message="spent")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_themselves_again(error):
    again = error_from_data(json.loads(json.dumps(error_to_data(error))))
    unsaid = {"retryable": error.retryable, "remedy": error.remedy}
    assert (type(again), vars(again)) == (type(error), {**unsaid, **vars(error)})


async def pieces_of(blocks):
    provider = ScriptedProvider([reply(*blocks)])
    async with provider.stream(request(user("x"))) as events:
        return [event async for event in events]


@settings(max_examples=examples(30), deadline=None)
@given(blocks=st.lists(assistant_blocks("c1"), min_size=1, max_size=3))
def test_events_are_themselves_again(blocks):
    events = anyio.run(pieces_of, blocks)
    assert [event_from_data(json.loads(json.dumps(event_to_data(event)))) for event in events] == events


def request(*messages, tools=(), **members):
    return CompletionRequest(model="m", messages=messages, max_tokens=5, tools=tools, **members)


READ = ToolSpec(name="Read", description="reads", input_schema={"type": "object"})


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        (request(user("a")), request(user("b")), "message 1 (user) block 1"),
        (request(user("a")), request(user("a"), user("b")), "message 2 (user)"),
        (request(system("x"), user("a")), request(system("y"), user("a")), "message 1 (system) block 1"),
        (request(user("a"), tools=(READ,)), request(user("a")), "tool Read"),
        (
            request(user("a"), tools=(READ,)),
            request(user("a"), tools=(replace(READ, description="looks"),)),
            "the description of tool Read",
        ),
        (
            request(user("a"), tools=(READ,)),
            request(user("a"), tools=(replace(READ, input_schema={}),)),
            "the schema of tool Read",
        ),
        (request(user("a"), temperature=0.5), request(user("a")), "temperature"),
        (
            request(user("a")),
            request(replace(user("a"), content=(TextBlock(text="a"), TextBlock(text="b")))),
            "message 1 (user) block 2",
        ),
    ],
    ids=range(8),
)
def test_the_first_part_that_differs_is_named(before, after, part):
    difference = first_difference(before, after)
    assert difference is not None and difference.part == part
    assert first_difference(before, before) is None
