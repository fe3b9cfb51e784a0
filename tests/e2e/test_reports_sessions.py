"""Real reports of users of such tools about conversations, by their numbers.

Which report is shown where is in `test_reports.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban_common.history import INTERRUPTED
from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, assistant, user
from caliban_provider.testing.exchange import answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_google.testing import strict as google_strict
from caliban_provider_google.testing import wire as google
from caliban_provider_openai.testing import chat
from caliban_provider_openai.testing.strict_chat import COMPATIBLE, MISTRAL, OPENAI, StrictChat
from caliban_sessions import SessionStore

FRAMES = ("--output-format", "stream-json")
Block = Mapping[str, Any]


def directory(cli) -> Path:
    return cli.home / ".local/share/caliban/sessions"


def crafted(cli, *messages: Message, name: str = "s") -> None:
    """A session on disk that holds these messages."""
    store = SessionStore(directory(cli))
    with store.open(name, provider="anthropic", model=wire.MODEL) as session:
        for message in messages:
            session.append(message)


def call(id: str, path: str = "f") -> ToolUseBlock:
    return ToolUseBlock(id=id, name="Read", input={"path": path})


def result(id: str, text: str, *, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=id, content=(TextBlock(text=text),), is_error=is_error)


def said(role: str, *blocks: Any) -> Message:
    return Message(role=role, content=blocks)


def blocks(body: Mapping[str, Any], kind: str) -> list[Block]:
    """The blocks of a kind in a request, in order."""
    return [block for message in body["messages"] for block in message["content"] if block["type"] == kind]


def texts(results: Sequence[Block]) -> list[str]:
    """What results say."""
    return [
        content if isinstance(content, str) else "".join(part["text"] for part in content)
        for content in (block["content"] for block in results)
    ]


def resumed(cli, *flags: str) -> dict[str, Any]:
    """The request that a resumed session makes; a strict server takes it."""
    cli.script(wire.exchange(wire.text("ok")))
    done = cli.run("-p", "on", "-r", "s", *flags)
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert cli.server.refused == ()
    return cli.bodies()[-1]


def test_b081_a_run_that_is_killed_in_its_first_tool_takes_a_new_prompt(cli):
    uses = [wire.tool_use("Bash", {"command": "sleep 600", "timeout_seconds": 600}, id="a")]
    uses.append(wire.tool_use("Bash", {"command": "sleep 601", "timeout_seconds": 600}, id="b"))
    cli.script(wire.exchange(*uses))
    process = cli.start("-p", "go", *FRAMES, "--allow", "Bash", "--session", "s")
    assert process.stdout is not None
    while b'"tool_use"' not in (line := process.stdout.readline()):
        assert line
    process.kill()
    process.communicate(timeout=HANG_S)
    results = blocks(resumed(cli), "tool_result")
    assert [(block["tool_use_id"], block["is_error"]) for block in results] == [("a", True), ("b", True)]
    assert texts(results) == [INTERRUPTED] * 2


def test_b082_there_is_one_result_for_each_call_of_each_turn(cli):
    crafted(
        cli,
        user("go"),
        said("assistant", call("t1")),
        said("user", result("t1", "first", is_error=True), result("t1", "again")),
        said("user", result("t1", "once more"), TextBlock(text="well")),
        said("assistant", call("t1", "g")),
        said("user", result("t1", "second turn"), result("gone", "nobody asked")),
        assistant("so"),
    )
    body = resumed(cli)
    ids = [block["id"] for block in blocks(body, "tool_use")]
    results = blocks(body, "tool_result")
    assert len(set(ids)) == 2
    assert [block["tool_use_id"] for block in results] == ids
    assert texts(results) == ["first", "second turn"]


def test_b083_a_result_whose_call_was_never_saved_is_not_sent(cli):
    crafted(cli, user("go"), said("user", result("t9", "lost")), user("and?"))
    body = resumed(cli)
    assert blocks(body, "tool_result") == []
    assert [block["text"] for block in blocks(body, "text")] == ["go", "and?", "on"]


ITSELF = replace(COMPATIBLE, is_id=lambda value: isinstance(value, str) and value != "")
"""A server that takes back whatever id it gave."""

ODD = ("functions.Read:0", "call_" + "x" * 60, "a b/c", "", "functions.Read:0")


def odd_calls(*ids: str) -> Any:
    """A reply of Chat Completions with calls of these ids."""
    deltas = (
        {
            "tool_calls": [
                {
                    "index": place,
                    "id": id,
                    "function": {"name": "Read", "arguments": json.dumps({"path": "f", "offset": place + 1})},
                }
            ]
        }
        for place, id in enumerate(ids)
    )
    return chat.exchange(chat.raw(*deltas), finish="tool_calls")


def mine(url: str, name: str = "mine") -> str:
    """Settings with an endpoint that speaks Chat Completions."""
    return f'[provider.{name}]\nkind = "openai"\nbase_url = "{url}"\napi_key_env = "MY_KEY"\n'


@pytest.fixture
def odd(cli):
    """A session in which a server has called tools by ids that only it would take."""
    (cli.work / "f").write_text("x")
    config = cli.home / ".config/caliban"
    config.mkdir(parents=True)
    replies = [odd_calls(*ODD), chat.exchange(chat.text("ok"))]
    with LoopbackServer(replies, validator=StrictChat(ITSELF)) as server:
        (config / "settings.toml").write_text(mine(f"{server.url}/v1"))
        flags = ("--provider", "mine", "--model", "m", "--session", "s")
        done = cli.run("-p", "hi", *flags, env={"MY_KEY": "k"})
        assert (done.code, done.out, server.refused) == (0, "ok\n", ()), done.err
    return config / "settings.toml"


def test_b084_anthropic_takes_the_ids_of_another_vendor(cli, odd):
    body = resumed(cli, "--provider", "anthropic", "--model", wire.MODEL)
    ids = [block["id"] for block in blocks(body, "tool_use")]
    assert [block["tool_use_id"] for block in blocks(body, "tool_result")] == ids
    assert len(set(ids)) == len(ODD)


@pytest.mark.parametrize(
    ("url", "rules"),
    [("http://api.openai.test/v1", OPENAI), ("http://api.mistral.ai/v1", MISTRAL)],
    ids=["openai", "mistral"],
)
def test_b084_other_servers_of_chat_completions_take_them(cli, odd, url, rules):
    with LoopbackServer([chat.exchange(chat.text("ok"))], validator=StrictChat(rules)) as server:
        odd.write_text(odd.read_text() + mine(url, "other"))
        flags = ("-r", "s", "--provider", "other", "--model", "gpt-4.1")
        done = cli.run("-p", "on", *flags, env={"MY_KEY": "k", "HTTP_PROXY": server.url})
        assert (done.code, done.out, server.refused) == (0, "ok\n", ()), done.err
        messages = server.requests[0].json["messages"]
    ids = [made["id"] for message in messages for made in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids
    assert len(set(ids)) == len(ODD)


def test_b084_gemini_takes_them(cli, odd):
    strict = google_strict.StrictValidator()
    with LoopbackServer([google.exchange(google.text("ok"))], validator=strict) as server:
        env = {"GEMINI_BASE_URL": server.url, "GEMINI_API_KEY": "k"}
        done = cli.run("-p", "on", "-r", "s", "--provider", "google", "--model", google.MODEL, env=env)
        assert (done.code, done.out, server.refused) == (0, "ok\n", ()), done.err


def test_b084_a_fallback_in_the_middle_of_a_turn_takes_them(cli):
    (cli.work / "f").write_text("x")
    routes = cli.home / "routes.toml"
    route = '[[router.route]]\npurpose = "main_loop"\nprovider = "{}"\nmodel = "{}"\n'
    busy = answer(503, b"busy")
    with LoopbackServer([odd_calls(*ODD), busy], validator=StrictChat(ITSELF)) as server:
        routes.write_text(
            route.format("mine", "m") + route.format("anthropic", wire.MODEL) + mine(f"{server.url}/v1")
        )
        cli.script(wire.exchange(wire.text("ok")))
        done = cli.run("-p", "hi", "--config", str(routes), env={"MY_KEY": "k"})
        assert (done.code, done.out, server.refused, cli.server.refused) == (0, "ok\n", (), ()), done.err
    ids = [block["id"] for block in blocks(cli.bodies()[0], "tool_use")]
    assert len(set(ids)) == len(ODD)


@pytest.mark.parametrize("blank", ["", " \n"])
def test_b086_a_blank_answer_is_never_sent(cli, blank):
    cli.script(*(wire.exchange(wire.text(blank)) for _ in range(3)))  # the model is urged on twice
    assert cli.run("-p", "hi", "--session", "s").code == 1
    assert {message["role"] for message in resumed(cli)["messages"]} == {"user"}


@pytest.mark.parametrize("blank", ["", " \n"])
def test_b086_a_blank_summary_replaces_nothing(cli, blank):
    (cli.work / "f").write_text("word " * 4000)
    cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"})) for _ in range(8)))
    cli.script(wire.failure(400, "invalid_request_error", "prompt is too long: 210000 tokens"))
    cli.script(wire.exchange(wire.text(blank)))
    done = cli.run("-p", "hi", "--session", "s")
    assert done.code == 1
    assert "could not be summarised: the model's summary was empty" in done.err
    assert len(blocks(resumed(cli), "tool_use")) == 8


def test_b087_a_call_without_input_is_answered_at_once_and_the_loop_has_an_end(cli):
    cli.script(*(wire.exchange(wire.tool_use("Bash", None)) for _ in range(9)))
    done = cli.run("-p", "hi", *FRAMES, "--allow", "Bash", "--max-turns", "3")
    assert (done.code, done.frames[-1]["subtype"]) == (75, "max_turns")
    assert len(cli.server.requests) == 3
    refusals = [frame["content"][0]["text"] for frame in done.of("tool_result")]
    assert ["command" in text for text in refusals] == [True] * 3
