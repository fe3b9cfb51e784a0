"""Rows H1 to H27 of the conformance table, through the real command."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Pause, Send
from caliban_provider_anthropic.testing import wire
from caliban_tools_builtin import builtin_specs
from caliban_tools_builtin.specs import NOTE_TOOLS

STREAM = ("--output-format", "stream-json")
RESULT_KEYS = {
    "type",
    "subtype",
    "result",
    "is_error",
    "session_id",
    "total_cost_usd",
    "turns",
    "num_turns",
    "usage",
    "duration_ms",
}


def user_frame(text: str) -> str:
    return json.dumps({"type": "user", "content": text}) + "\n"


def write_note(cli, name: str = "note.txt") -> str:
    (cli.work / name).write_text("hello\n")
    return name


def test_h1_an_unknown_output_format_is_a_usage_error_that_names_it(cli):
    done = cli.run("-p", "hi", "--output-format", "yaml")
    assert done.code == 64
    assert "yaml" in done.err
    assert "Traceback" not in done.err


def test_h2_no_arguments_and_no_terminal_is_an_error(cli):
    done = cli.run()
    assert done.code == 64
    assert "prompt is empty" in done.err


def test_h3_without_a_key_a_frame_reader_gets_a_result_frame(cli):
    env = {"ANTHROPIC_API_KEY": ""}
    done = cli.run("-p", "hi", *STREAM, "--bare", "--no-mcp", env=env)
    last = done.frames[-1]
    assert (last["type"], last["subtype"], last["is_error"]) == ("result", "error", True)
    assert last["error"]
    assert done.code == 78


def test_without_a_key_one_message_names_the_three_ways_on(cli):
    done = cli.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""})
    assert done.code == 78
    assert done.out == ""
    for way in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "--provider local"):
        assert way in done.err


def test_h4_continue_without_a_session_is_missing_input(cli, tmp_path: Path):
    empty = tmp_path / "none"
    done = cli.run("--continue", "--sessions-dir", str(empty), "-p", "hi")
    assert done.code == 66
    assert "no sessions to continue" in done.err
    assert cli.server.requests == ()


def test_h5_resume_of_an_unknown_session_is_missing_input(cli):
    done = cli.run("--resume", "no-such-session", "-p", "hi")
    assert done.code == 66
    assert "no-such-session" in done.err


def test_h6_text_is_the_answer_and_a_newline(cli):
    cli.script(wire.exchange(wire.text("hello world")))
    done = cli.run("-p", "hi", "--quiet")
    assert (done.code, done.out, done.err) == (0, "hello world\n", "")


def test_h7_json_is_one_object_with_the_documented_keys(cli):
    cli.script(wire.exchange(wire.text("hello world"), usage=Usage(input_tokens=12, output_tokens=3)))
    done = cli.run("-p", "hi", "--output-format", "json")
    assert set(done.json) >= RESULT_KEYS
    assert done.json["result"] == "hello world"
    assert done.json["num_turns"] == done.json["turns"] == 1
    assert done.json["usage"]["input_tokens"] == done.json["total_input_tokens"] == 12
    assert done.json["total_output_tokens"] == 3


def test_h8_frames_begin_with_one_init_and_end_with_one_result(cli):
    cli.script(wire.exchange(wire.text("hello world")))
    done = cli.run("-p", "hi", *STREAM)
    kinds = [(frame["type"], frame.get("subtype")) for frame in done.frames]
    assert kinds == [("system", "init"), ("message", None), ("result", "success")]
    init = done.frames[0]
    assert init["model"] == "anthropic/claude-sonnet-4-6"
    # Notes are offered where there are some, and PowerShell on Windows.
    offered = {spec.name for spec in builtin_specs()} - {*NOTE_TOOLS, "PowerShell"}
    assert init["tools"] == sorted({"Agent", "Skill", *offered})
    assert init["session_id"] == done.frames[-1]["session_id"] != ""
    assert init["cwd"] == str(cli.work)


def test_h10_the_result_is_the_last_message_only(cli):
    name = write_note(cli)
    cli.script(
        wire.exchange(wire.text("A"), wire.tool_use("Read", {"path": name})), wire.exchange(wire.text("B"))
    )
    done = cli.run("-p", "hi", "--output-format", "json")
    assert done.json["result"] == "B"
    assert done.json["turns"] == 2


def test_h11_a_provider_error_is_an_error_result(cli):
    cli.script(wire.failure(400, "invalid_request_error", "no such thing"))
    done = cli.run("-p", "hi", "--output-format", "json")
    assert (done.json["subtype"], done.code) == ("error", 1)
    assert "no such thing" in done.json["error"]


def test_h13_exhausted_turns_have_a_subtype_and_structured_fields(cli):
    name = write_note(cli)
    cli.script(*(wire.exchange(wire.text("on"), wire.tool_use("Read", {"path": name})) for _ in range(2)))
    done = cli.run("-p", "hi", "--max-turns", "2", "--output-format", "json")
    assert (done.json["subtype"], done.code) == ("max_turns", 75)
    assert "result" not in done.json
    assert done.json["last_assistant_text"] == "on"
    assert done.json["tool_calls_seen"] == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_h14_a_signal_cancels_with_one_result(cli, number):
    cli.script(wire.broken(wire.text("Hel", "lo"), after=4, end=Pause(HANG_S)))
    process = cli.start("-p", "hi", *STREAM, "--include-partial-messages")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    assert json.loads(lines[1]) == {"type": "text", "delta": "Hel"}
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_S)
    frames = [json.loads(line) for line in out.splitlines()]
    assert [frame["subtype"] for frame in frames if frame["type"] == "result"] == ["cancelled"]
    assert frames[-1]["last_assistant_text"] == "Hel"
    assert process.returncode == 124
    assert b"Traceback" not in err


def test_h15_frames_of_an_ended_input_share_one_result(cli):
    cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("two")))
    stdin = (user_frame("first") + "\n" + user_frame("second")).encode()
    done = cli.run(*STREAM, "--input-format", "stream-json", stdin=stdin)
    assert [frame["content"][0]["text"] for frame in done.of("message")] == ["one", "two"]
    (result,) = done.of("result")
    assert (result["turns"], result["result"], done.code) == (2, "two", 0)


def test_h16_an_empty_frame_input_is_missing_input(cli):
    done = cli.run(*STREAM, "--input-format", "stream-json", stdin=b"")
    init, result = done.frames
    assert init["subtype"] == "init"
    assert (result["subtype"], result["turns"]) == ("error", 0)
    assert "no user frame" in result["error"]
    assert done.code == 66
    assert cli.server.requests == ()


def test_h17_a_bad_frame_ends_the_run_after_the_good_ones(cli):
    cli.script(wire.exchange(wire.text("fine")))
    stdin = (user_frame("good") + "{bad json line\n").encode()
    done = cli.run(*STREAM, "--input-format", "stream-json", stdin=stdin)
    assert len(done.of("message")) == 1
    (result,) = done.of("result")
    assert (result["subtype"], result["turns"], done.code) == ("error", 1, 64)


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"7",
        b'"text"',
        b"\xff\xfe",
        b'{"type":"user"}',
        b'{"type":"user","content":""}',
        b'{"type":"user","content":[{"type":"image"}]}',
        b'{"type":"user","message":{"role":"user","content":"x"}}',
        b'{"type":"user","content":"x","extra":1}',
        b'{"type":"control","subtype":"dance"}',
        b'{"type":"nonsense"}',
        b"[" * 100_000,
    ],
)
def test_every_malformed_frame_is_refused_with_a_result(cli, line):
    done = cli.run(*STREAM, "--input-format", "stream-json", stdin=line + b"\n")
    (result,) = done.of("result")
    assert (result["subtype"], result["is_error"], done.code) == ("error", True, 64)
    assert "Traceback" not in done.err
    assert cli.server.requests == ()


def test_h18_partial_messages_show_thinking_and_text_as_they_come(cli):
    cli.script(wire.exchange(wire.thinking("Let me ", "think..."), wire.text("answer")))
    done = cli.run("-p", "hi", *STREAM, "--include-partial-messages")
    assert [frame["delta"] for frame in done.of("thinking")] == ["Let me ", "think..."]
    assert [frame["delta"] for frame in done.of("text")] == ["answer"]
    assert done.of("message") == []


def test_h18_without_the_flag_there_are_none(cli):
    cli.script(wire.exchange(wire.thinking("Let me ", "think..."), wire.text("answer")))
    done = cli.run("-p", "hi", *STREAM)
    assert done.of("thinking") == done.of("text") == []
    (message,) = done.of("message")
    assert message["content"] == [
        {"type": "thinking", "thinking": "Let me think..."},
        {"type": "text", "text": "answer"},
    ]


def test_h19_another_model_is_warned_about_once(cli):
    name = write_note(cli)
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": name}), model="other-model"),
        wire.exchange(wire.text("x"), model="other-model"),
    )
    done = cli.run("-p", "hi", *STREAM)
    (warning,) = done.of("warning")
    assert warning["subtype"] == "model_mismatch"
    assert warning["details"] == {"requested": "claude-sonnet-4-6", "actual": "other-model"}


def test_h19_the_same_model_is_not_warned_about(cli):
    cli.script(wire.exchange(wire.text("x")))
    assert cli.run("-p", "hi", *STREAM).of("warning") == []


def test_h20_a_call_shows_as_a_pair_and_within_the_message(cli):
    name = write_note(cli)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": name}, id="t1")), wire.exchange(wire.text("ok")))
    done = cli.run("-p", "hi", *STREAM)
    kinds = [frame["type"] for frame in done.frames]
    assert kinds == ["system", "tool_use", "tool_result", "message", "message", "result"]
    use, result, message = done.frames[1:4]
    assert use == {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": name}}
    assert (result["tool_use_id"], result["is_error"]) == ("t1", False)
    assert "hello" in result["content"][0]["text"]
    assert message["content"] == [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": name}}]


@pytest.mark.parametrize("on", [True, False])
def test_h21_dispatch_times_are_there_on_demand(cli, on):
    name = write_note(cli)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": name})), wire.exchange(wire.text("ok")))
    done = cli.run("-p", "hi", *STREAM, *(["--include-dispatch-events"] if on else []))
    (result,) = done.of("tool_result")
    assert isinstance(result.get("t_ms"), float) if on else "t_ms" not in result


@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        ([], "default"),
        (["--no-permissions"], "disabled"),
        (["--permission-mode", "acceptEdits"], "acceptEdits"),
        (["--permission-mode", "plan"], "plan"),
    ],
)
def test_h22_the_first_frame_names_the_permission_mode(cli, flags, mode):
    cli.script(wire.exchange(wire.text("x")))
    assert cli.run("-p", "hi", *STREAM, *flags).frames[0]["permission_mode"] == mode


def test_h23_white_space_at_the_edges_of_deltas_is_kept(cli):
    cli.script(wire.exchange(wire.text("foo ", "bar")))
    assert cli.run("-p", "hi", "--output-format", "json").json["result"] == "foo bar"


SCHEMA = json.dumps(
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('prefix {"a":1,"b":"x"} suffix', {"a": 1, "b": "x"}),
        ('} {"a":1}', {"a": 1}),
        ('{"a":3.0}', {"a": 3.0}),
        ('```json\n{"a": 2}\n```', {"a": 2}),
    ],
)
def test_h24_an_object_is_found_in_the_answer(cli, reply, value):
    cli.script(wire.exchange(wire.text(reply)))
    done = cli.run("-p", "hi", "--output-format", "json", "--json-schema", SCHEMA)
    assert done.code == 0
    assert done.json["structured_output"] == value


@pytest.mark.parametrize("reply", ["no json here", '{"a":3.5}', '{"b":"x"}'])
def test_h25_an_answer_that_never_fits_fails_after_two_repairs(cli, reply):
    cli.script(*(wire.exchange(wire.text(reply)) for _ in range(3)))
    done = cli.run("-p", "hi", "--output-format", "json", "--json-schema", SCHEMA)
    assert (done.json["subtype"], done.code) == ("error", 2)
    assert len(cli.server.requests) == 3
    assert done.json["last_assistant_text"] == reply


def test_h25_a_repaired_answer_is_taken(cli):
    cli.script(wire.exchange(wire.text("sorry")), wire.exchange(wire.text('{"a":1}')))
    done = cli.run("-p", "hi", "--output-format", "json", "--json-schema", SCHEMA)
    assert (done.code, done.json["structured_output"]) == (0, {"a": 1})


def test_in_text_the_answer_that_fits_is_all_there_is_on_standard_output(cli):
    cli.script(wire.exchange(wire.text('{"a":"x"}')), wire.exchange(wire.text('So: {"a":1}.')))
    done = cli.run("-p", "hi", "--json-schema", SCHEMA)
    assert (done.code, done.out) == (0, '{"a":1}\n')
    cli.script(*[wire.exchange(wire.text('{"a":"x"}')) for _ in range(3)])
    done = cli.run("-p", "hi", "--json-schema", SCHEMA)
    assert (done.code, done.out) == (2, "")
    assert "does not fit the schema at `a`" in done.err


def test_a_run_that_a_limit_ends_says_which_flag_allows_more(cli):
    (cli.work / "f").write_text("x")
    cut = [wire.exchange(wire.text("abc"), stop_reason="max_tokens") for _ in range(4)]
    cli.script(*cut, wire.exchange(wire.tool_use("Read", {"path": "f"})))
    ends = [
        cli.run("-p", "hi", *limit)
        for limit in (("--max-tokens", "77"), ("--max-turns", "1"), ("--max-budget-usd", "0"))
    ]
    assert [end.code for end in ends] == [1, 75, 137]
    flags = ["--max-tokens", "--max-turns", "--max-budget-usd"]
    assert [flag in end.err for flag, end in zip(flags, ends, strict=True)] == [True, True, True]


@pytest.mark.parametrize("schema", ["{", "/nonexistent/schema.json", '{"type":"banana"}'])
def test_a_schema_that_is_none_is_a_usage_error(cli, schema):
    done = cli.run("-p", "hi", "--json-schema", schema)
    assert done.code == 64
    assert "--json-schema" in done.err
    assert cli.server.requests == ()


def test_h26_a_later_frame_sees_the_earlier_reply(cli):
    cli.script(wire.exchange(wire.text("first reply")), wire.exchange(wire.text("second")))
    stdin = (user_frame("one") + user_frame("two")).encode()
    cli.run(*STREAM, "--input-format", "stream-json", stdin=stdin)
    roles = [(m["role"], m["content"][0]["text"]) for m in cli.bodies()[1]["messages"]]
    assert roles == [("user", "one"), ("assistant", "first reply"), ("user", "two")]


def test_h27_an_interrupt_frame_cancels_the_running_tool(cli):
    endless = wire.tool_use("Bash", {"command": "sleep 600", "timeout_seconds": 600})
    cli.script(wire.exchange(endless), wire.exchange(wire.text("on")))
    process = cli.begin(*STREAM, "--input-format", "stream-json", "--allow", "Bash:sleep *", stdin=-1)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(user_frame("go").encode())
    process.stdin.flush()
    while json.loads(process.stdout.readline())["type"] != "tool_use":
        pass
    process.stdin.write(b'{"type":"control","subtype":"interrupt"}\n')
    process.stdin.flush()
    frames = []
    while not frames or frames[-1]["type"] != "result":
        frames.append(json.loads(process.stdout.readline()))
    assert frames[-1]["subtype"] == "cancelled"
    process.stdin.write(user_frame("go on").encode())
    process.stdin.close()
    rest = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert rest[-1]["result"] == "on"
    assert process.wait(HANG_S) == 0


def test_an_open_input_gets_a_result_per_prompt(cli):
    cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("two")))
    process = cli.begin(*STREAM, "--input-format", "stream-json", stdin=-1)
    assert process.stdin is not None and process.stdout is not None
    results = []
    for prompt in ("a", "b"):
        process.stdin.write(user_frame(prompt).encode())
        process.stdin.flush()
        while (frame := json.loads(process.stdout.readline()))["type"] != "result":
            pass
        results.append(frame["result"])
    process.stdin.close()
    assert results == ["one", "two"]
    assert process.stdout.read() == b""
    assert process.wait(HANG_S) == 0


def test_a_second_interrupt_ends_at_once_with_130(cli):
    held = threading.Event()
    cli.script(wire.broken(wire.text("Hel"), after=4, end=Pause(held)))
    process = cli.start("-p", "hi", *STREAM, "--include-partial-messages", "--allow", "Bash")
    assert process.stdout is not None
    while b'"text"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(HANG_S) in (124, 130)
    held.set()


def test_an_error_inside_a_stream_is_retried_and_the_text_comes_once(cli):
    cut = wire.broken(wire.text("Hel"), after=4, end=wire.error_event("overloaded_error"))
    cli.script(cut, wire.exchange(wire.text("Hello")))
    done = cli.run("-p", "hi")
    assert (done.code, done.out) == (0, "Hello\n")


def test_the_frame_reader_sees_the_retry(cli):
    cut = wire.broken(wire.text("Hel"), after=4, end=wire.error_event("overloaded_error"))
    cli.script(cut, wire.exchange(wire.text("Hello")))
    done = cli.run("-p", "hi", *STREAM)
    (retry,) = [frame for frame in done.of("system") if frame["subtype"] == "api_retry"]
    assert (retry["attempt"], retry["error_category"]) == (1, "overloaded")
    assert done.frames[-1]["result"] == "Hello"


def test_text_arrives_while_the_reply_is_still_coming(cli):
    held = threading.Event()
    first, *rest = wire.reply(wire.text("early ", "late"))
    steps = [Send(first), *(Send(piece) for piece in rest[:3]), Pause(held)]
    tail = [Send(piece) for piece in rest[3:]]
    exchange = wire.exchange(wire.text(""))
    cli.script(replace(exchange, steps=(*steps, *tail)))
    screen, terminal = os.openpty()
    process = cli.start("-p", "hi", stdout=terminal)
    os.close(terminal)
    seen = b""
    while b"early" not in seen:
        seen += os.read(screen, 100)
    held.set()
    while b"late" not in seen:
        seen += os.read(screen, 100)
    assert process.wait(HANG_S) == 0
    os.close(screen)
