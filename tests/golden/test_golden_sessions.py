"""The files of sessions, byte for byte, and what is said of files that are none."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from command_kit import Cli
from golden_kit import ONLY_READ_AND_BASH, Names, asked, check, files, part, transcript
from golden_wires import ODD, PNG, SECRET
from hang_guard import HANG_S

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Pause
from caliban_provider_anthropic.testing import wire

JSON = ("--output-format", "json")
STREAM = ("--output-format", "stream-json")
BRIEF = ("--system", "Be brief.", "--model", "claude-sonnet-4-6")
OTHER = (*BRIEF[:2], *ONLY_READ_AND_BASH)
FEW = (*BRIEF, *ONLY_READ_AND_BASH)
"""The flags of runs that read files; their tools stand in every body."""
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"a": 1.50}]}
USAGE = Usage(
    input_tokens=900, output_tokens=70, cache_read_tokens=400, cache_write_tokens=300, thinking_tokens=20
)
EVERYTHING = wire.exchange(
    wire.thinking("hm ", ODD, signature=SECRET),
    wire.redacted(SECRET),
    wire.text("I look. ", ODD),
    wire.server_block(SEARCH, input={"query": "x", "n": [1, 2.50, 1e30]}),
    wire.server_block(FOUND),
    wire.tool_use("Read", {"path": "pixel.png"}, id="t1"),
    wire.tool_use("Bash", '{"command": "ls', id="t2"),
    wire.tool_use("Read", {"path": "missing"}, id="t3"),
    usage=USAGE,
)


@pytest.fixture
def folder(cli: Cli) -> Path:
    """The folder of sessions; there are two files to attach in the workspace."""
    (cli.work / "note.txt").write_text(f"{ODD}\n", encoding="utf-8")
    (cli.work / "pixel.png").write_bytes(base64.b64decode(PNG))
    folder = cli.home / ".local" / "share" / "caliban" / "sessions"
    folder.mkdir(parents=True)
    return folder


def kill_in_a_reply(cli: Cli, *args: str) -> None:
    """Kill a run while its last reply comes: what it has shown is on the disk, and nothing more comes."""
    process = cli.begin(*args, *STREAM, "--include-partial-messages")
    assert process.stdout is not None
    while b'"delta":"Hel"' not in (line := process.stdout.readline()):
        assert line, "the run has ended"
    process.kill()
    process.communicate(timeout=HANG_S)


def test_a_session_is_written_resumed_and_forked_in_the_frozen_bytes(cli, folder):
    names = Names(cli)
    written = ""
    cli.script(EVERYTHING, *(wire.exchange(wire.text(text)) for text in ("One.", "Two.", "Three.")))
    for args in (
        ("-p", f"See @pixel.png and @note.txt: {ODD}", "--session", "old", *FEW, *JSON),
        ("-p", "more", "-r", "old", *FEW, *JSON),
        ("-p", "other", "-r", "old", "--fork-session", "--session", "new", *FEW, *JSON),
    ):
        done = cli.run(*args)
        written += names(transcript(args, done) + files(folder, keep=lambda name: not name.endswith(".lock")))
    written += names("".join(asked(request) for request in cli.server.requests[1:]))
    check("sessions/written", written)


def test_a_killed_run_leaves_the_frozen_journal_which_the_next_run_folds_in(cli, folder):
    names = Names(cli)
    hello = wire.broken(wire.text("Hel", "lo"), after=4, end=Pause(HANG_S))
    cli.script(EVERYTHING, hello, wire.exchange(wire.text("On.")), hello, wire.exchange(wire.text("End.")))
    kill_in_a_reply(cli, "-p", "See @pixel.png", "--session", "s", "--no-parallel-tools", *FEW)
    written = names(part("after the first kill", files(folder, keep=lambda name: name != "s.lock")))
    for prompt in ("go on", "and on"):
        args = ("-p", prompt, "-r", "s", *FEW, *STREAM)
        written += names(transcript(args, cli.run(*args)) + files(folder, keep=lambda name: name != "s.lock"))
        if prompt == "go on":
            kill_in_a_reply(cli, "-p", "again", "-r", "s", "--model", "claude-opus-4-7", *OTHER)
            written += names(part("after the second kill", files(folder, keep=lambda name: name != "s.lock")))
    written += names("".join(asked(request) for request in cli.server.requests[2:]))
    check("sessions/killed", written)


OLDER = """{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}"""
NEWER = """\ufeff{
  "version": 7, "name": "another", "id": "id-7", "created_at": "2024-01-02T03:04:05Z", "updated_at": 12,
  "provider": "anthropic", "model": "claude-sonnet-4-6", "mood": {"a": [1.50, "ü"]}, "tags": [],
  "total_usage": {"input_tokens": 1000, "output_tokens": 50, "cache_read_input_tokens": 10, "future": 3},
  "forked_from": {"session": "older", "id": "x", "entry": null, "why": 1}, "message_count": 99,
  "preview": "something else", "plan_mode": "yes", "prefix": {"model": "m", "n": 3}, "journal_seq": "4",
  "todos": [{"id": "1", "content": "c", "status": "open", "more": 1}, 3, {"x": 1}],
  "messages": [
    {"role": "system", "content": "Old words.", "more": 1},
    {"id": "b", "role": "user", "when": {"z": 1, "a": 2.50}, "content": [
      {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
      {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA==", "x": 1}},
      {"type": "image", "source": {"type": "file", "id": "f1"}},
      {"type": "hologram", "data": [1]}]},
    {"id": "b", "parent": 3, "role": "assistant", "family": "anthropic", "model": "claude-sonnet-4-6",
     "content": [
      {"type": "thinking", "thinking": "hm", "signature": "c2ln", "budget": 3},
      {"type": "tool_use", "id": "t1", "name": "Read", "input": "not an object"},
      {"type": "tool_use", "id": "t2", "name": "Read", "input": {"path": "note.txt"}, "caller": "me"}]},
    {"id": "", "role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t1", "content": "plain"},
      {"type": "tool_result", "tool_use_id": "t2", "is_error": 1, "content": [
        {"type": "text", "text": "ok"}, {"type": "search_result", "title": "t"}]}]},
    {"id": "open", "role": "assistant", "content": [
      {"type": "tool_use", "id": "t3", "name": "Read", "input": {"path": "note.txt"}}]}
  ]
}"""
JOURNAL = """\
{"seq":1,"type":"session","at":"2024-05-06T07:08:09.100Z","name":"s","id":"j-1","created_at":"2024-05-06T07:08:09.100Z","provider":"anthropic","model":"claude-sonnet-4-6"}
{"seq":2,"type":"message","at":"2024-05-06T07:08:10.100Z","message":{"id":"m1","parent":null,"role":"user","content":"hi"}}
{"seq":2,"type":"note","at":"2024-05-06T07:08:10.100Z","provider":"twice"}
{"seq":3,"type":"prophecy","at":"2024-05-06T07:08:11.100Z","x":1}
this is no JSON
{"seq":4,"type":"message","at":"soon","message":{"role":"nobody","content":"hi"}}
{"seq":"5","type":"note"}
{"seq":6,"type":"note","at":"2024-05-06T07:08:12.100Z","plan_mode":true,"more":1}
{"seq":7,"type":"usage","at":"2024-05-06T07:08:12.100Z","usage":{"input_tokens":-1}}
{"seq":8,"type":"note","at":"2024-05-06T07:08:12.100Z","mo"""


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [("older", "s.json", OLDER), ("newer", "s.json", NEWER), ("journal", "s.journal", JOURNAL)],
)
def test_a_file_of_another_hand_is_read_and_written_in_the_frozen_bytes(cli, folder, name, file, text):
    (folder / file).write_text(text, encoding="utf-8")
    cli.script(wire.exchange(wire.text("Yes.")))
    names = Names(cli)
    args = ("-p", "on", "-r", "s", "--no-tools", *BRIEF, *STREAM)
    written = transcript(args, cli.run(*args)) + "".join(asked(request) for request in cli.server.requests)
    for path in folder.glob("s.damaged-*"):
        path.rename(folder / "s.damaged")
    written += files(folder, keep=lambda name: name != "s.lock")
    check(f"sessions/{name}", names(written))


def session(*messages: object, **members: object) -> bytes:
    return json.dumps({**members, "messages": list(messages)}).encode()


MALFORMED = {
    "no JSON": b"{nonsense}",
    "torn": session({"role": "user", "content": "hi"})[:-9],
    "not UTF-8": b'{"name": "\xff"}',
    "a list": b"[]",
    "no messages": b'{"name": "s"}',
    "a message that is none": session("hi"),
    "an unknown role": session({"role": "user", "content": "hi"}, {"role": "robot", "content": "hi"}),
    "a family of another type": session({"role": "user", "family": 3, "content": "hi"}),
    "counts of another type": session({"role": "user", "content": "hi"}, total_usage={"input_tokens": "1"}),
    "too deep": b'{"messages": ' + b"[" * 200_000,
    "too deep a message": session({"role": "user", "content": json.loads("[" * 120 + "]" * 120)}),
}


def test_what_is_no_session_is_told_in_the_frozen_words(cli, folder):
    cli.script(*(wire.exchange(wire.text("Yes.")) for _ in MALFORMED))
    names = Names(cli)
    written = ""
    for number, (title, data) in enumerate(MALFORMED.items()):
        (folder / f"bad{number}.json").write_bytes(data)
        args = ("-p", "on", "-r", f"bad{number}", "--no-tools", "--system", "x")
        done = cli.run(*args)
        written += f"=== {title}\n{names(transcript(args, done))}"
        assert "Traceback" not in done.err
    check("sessions/malformed", written)


def test_a_session_that_is_in_use_is_told_in_the_frozen_words(cli, folder):
    cli.script(wire.broken(wire.text("Hel", "lo"), after=4, end=Pause(HANG_S)))
    holder = cli.begin("-p", "hi", "--session", "s", *STREAM, "--include-partial-messages")
    try:
        assert holder.stdout is not None
        while b'"delta":"Hel"' not in holder.stdout.readline():
            assert holder.poll() is None
        args = ("-p", "on", "-r", "s", *JSON)
        written = Names(cli)(transcript(args, cli.run(*args)))
    finally:
        holder.kill()
        holder.communicate(timeout=HANG_S)
    check("sessions/in-use", written.replace(f"process {holder.pid}", "process <pid>"))
