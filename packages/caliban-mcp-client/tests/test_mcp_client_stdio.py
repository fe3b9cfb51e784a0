"""Programs as servers: what they get wrong is borne or ends in words, and nothing waits or stays for ever."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S

from caliban_mcp_client import (
    CallError,
    ClientParts,
    ConnectError,
    McpClient,
    ProtocolError,
    ServerGone,
    StdioTarget,
    Verdict,
    WebSocketTarget,
)
from caliban_mcp_client.content import TextContent
from caliban_mcp_client.errors import CallLost, CallTimedOut
from caliban_mcp_client.handler import DecliningHandler, ElicitResult
from caliban_mcp_client.testing.rude import manners
from caliban_mcp_client.values import CallUpdate, ResourceUpdated, ServerLost, ServerRestarted, ToolsChanged
from caliban_process import Runner

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")]

FOUR = ["echo", "add", "slow", "ask"]
SUM = {"a": 5, "b": 3}


class Adult(DecliningHandler):
    async def elicit(self, request):
        return ElicitResult(action="accept", content={"name": "Ada"})


def text_of(result) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("era", ["plain", "modern"])
@pytest.mark.parametrize("word", manners.KIND)
async def test_what_is_odd_and_means_one_thing_is_borne(program, era, word):
    with anyio.fail_after(HANG_S):
        async with program(f"{era},{word}") as client:
            assert [tool.name for tool in await client.list_tools()] == FOUR
            result = await client.call_tool("add", SUM)
            assert result.structured == {"sum": 8}
            assert text_of(result).strip("\ufffd") == "8"


@pytest.mark.parametrize(
    "word", sorted(set(manners.UNKIND) - {"wrong_id", "dropped", "garbage", "bit", "giant"})
)
async def test_what_cannot_be_read_ends_its_call_and_no_other(program, word):
    options = {"max_message_bytes": 1_000_000, "probe_timeout_s": 0.2}
    with anyio.fail_after(HANG_S):
        async with program(f"plain,{word}", **options) as client:
            if word == "id_true":  # the answer to the probe: the handshake goes on without
                assert text_of(await client.call_tool("add", SUM)) == "8"
                return
            with pytest.raises(ProtocolError):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4
            assert client.problems or word == "no_object"


async def test_a_message_that_is_too_long_ends_its_call_and_one_that_is_far_too_long_the_server(program):
    with anyio.fail_after(HANG_S):
        async with program("plain,giant", max_message_bytes=2_000_000) as client:
            with pytest.raises(ProtocolError, match="more than may be"):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4
        async with program("plain,giant", max_message_bytes=1_000_000) as client:
            with pytest.raises((CallLost, ProtocolError)):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4, "it was started again"


@pytest.mark.parametrize("word", ["wrong_id", "dropped"])
async def test_an_answer_that_never_comes_is_waited_for_as_long_as_was_said(program, word):
    with anyio.fail_after(HANG_S):
        async with program(f"plain,{word}", call_timeout_s=0.2) as client:
            with pytest.raises(CallTimedOut):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4


@pytest.mark.parametrize(
    ("words", "era", "options"),
    [
        ("plain", "legacy", {}),
        ("plain,bad_params", "legacy", {}),
        ("plain,no_error_id", "legacy", {}),
        ("modern", "modern", {}),
        ("modern,refused_version", "modern", {}),
        ("modern", "legacy", {"protocol": "legacy"}),
        ("plain,exit_on_probe", "legacy", {}),
        ("plain,silent_probe", "legacy", {"probe_timeout_s": 0.1}),
        ("late_probe", "modern", {"probe_timeout_s": 0.1}),
        ("plain,integer_version", "legacy", {}),
    ],
)
async def test_the_era_is_the_server_s(program, words, era, options):
    with anyio.fail_after(HANG_S):
        async with program(words, **options) as client:
            assert client.info.era == era
            version = "2026-07-28" if era == "modern" else "2025-06-18"
            assert client.verdict == Verdict(era=era, protocol_version=version)
            assert client.info.instructions == "Be kind."
            assert text_of(await client.call_tool("add", SUM)) == "8"


async def test_a_verdict_of_before_spares_the_probe(program):
    parts = ClientParts(verdict=Verdict(era="legacy", protocol_version="2025-06-18"))
    with anyio.fail_after(HANG_S):
        async with program("plain,exit_on_probe", parts=parts) as client:
            assert client.info.era == "legacy"
            await client.list_tools()
            with anyio.move_on_after(0.05):
                async for change in client.changes:
                    assert not isinstance(change, ServerRestarted)


@pytest.mark.parametrize(
    ("words", "kind", "match"),
    [
        ("other_versions", "version", "2031-01-01"),
        ("unknown_version", "version", "1999-01-01"),
        ("exit_at_once", "exited", "ended"),
        ("speaks_http", "exited", "ended"),
    ],
)
async def test_why_there_is_no_conversation_is_said(program, words, kind, match):
    with anyio.fail_after(HANG_S), pytest.raises(ConnectError, match=match) as caught:
        async with program(words):
            pass
    assert caught.value.kind == kind
    if words == "exit_at_once":
        assert caught.value.stderr.endswith("last words\n")
        assert len(caught.value.stderr) <= 2000


async def test_a_server_that_says_nothing_is_given_up(program):
    with anyio.fail_after(HANG_S), pytest.raises(ConnectError) as caught:
        async with program("hang", start_timeout_s=0.4, probe_timeout_s=0.1):
            pass
    assert caught.value.kind == "timed_out"


async def test_the_modern_era_alone_is_demanded_where_that_was_said(program):
    with anyio.fail_after(HANG_S), pytest.raises(ConnectError) as caught:
        async with program("plain", protocol="2026-07-28"):
            pass
    assert (caught.value.kind, "auto" in str(caught.value)) == ("version", True)


async def test_a_program_that_is_not_there_and_a_directory_that_is_not_are_told_apart(tmp_path):
    parts = ClientParts(runner=Runner())
    for target, match in (
        (StdioTarget(command="no-such-program-here"), "no program no-such-program-here"),
        (StdioTarget(command=sys.executable, cwd=str(tmp_path / "none")), "no directory"),
    ):
        with anyio.fail_after(HANG_S), pytest.raises(ConnectError, match=match) as caught:
            async with McpClient(target, parts=parts):
                pass
        assert caught.value.kind == "not_found"
    with pytest.raises(ConnectError, match="WebSocket"):
        async with McpClient(WebSocketTarget(url="ws://127.0.0.1:1"), parts=parts):
            pass
    with pytest.raises(ConnectError, match="not started here"):
        async with McpClient(StdioTarget(command="x")):
            pass


async def test_programs_get_a_few_variables_of_ours_and_those_that_were_configured(tmp_path):
    code = "import os, sys; sys.stderr.write(' '.join(sorted(os.environ))); sys.exit(1)"
    host = {"PATH": "/bin", "HOME": "/h", "OPENAI_API_KEY": "sk-x", "SSH_AUTH_SOCK": "/s", "EDITOR": "vi"}
    target = StdioTarget(command=sys.executable, args=("-c", code), env={"MINE": "1"}, host_env=host)
    with pytest.raises(ConnectError) as caught:
        async with McpClient(target, parts=ClientParts(runner=Runner())):
            pass
    names = set(caught.value.stderr.split()) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert names == {"PATH", "HOME", "MINE", "CALIBAN_MCP"}


async def test_a_call_under_way_fails_with_the_server_and_the_next_finds_it_started_again(program):
    with anyio.fail_after(HANG_S):
        async with program("plain,exit_on_call") as client:
            with pytest.raises(CallLost):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4
            changes = aiter(client.changes)
            assert await anext(changes) == ServerRestarted()
            for _ in range(3):
                with pytest.raises(CallLost):
                    await client.call_tool("add", SUM)
            with pytest.raises(ServerGone, match="again and again"):
                await client.list_tools()
            rest = [change async for change in client.changes]
            assert isinstance(rest[-1], ServerLost)


async def test_a_server_that_closes_its_output_is_started_again(program):
    with anyio.fail_after(HANG_S):
        async with program("plain,closes_output") as client:
            with pytest.raises(CallLost, match="closed its output"):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4


def children_of(stderr: str) -> list[int]:
    return [int(number) for number in re.findall(r"child (\d+)", stderr)]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the process table")
@pytest.mark.parametrize(
    "words", ["plain,forks", "plain,forks,lingers", "plain,forks_away,lingers", "plain,forks,exit_on_call"]
)
async def test_nothing_that_a_server_has_started_outlives_it(program, words):
    with anyio.fail_after(HANG_S):
        async with program(words, close_grace_s=0.1) as client:
            await client.list_tools()
            if "exit_on_call" in words:
                with pytest.raises(CallLost):
                    await client.call_tool("add", SUM)
            children = children_of(client.stderr)
    assert children
    deadline = time.monotonic() + HANG_S
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        await anyio.sleep(0.02)
    assert not any(map(is_alive, children))


async def test_clients_that_tasks_own_end_in_any_order(program):
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            clients = [program("plain,lingers", close_grace_s=0.1) for _ in range(4)]
            infos = [await group.start(client.run) for client in clients]
            assert [info.name for info in infos] == ["rude"] * 4
            for client in (clients[1], clients[3], clients[0], clients[2]):
                client.close()
                client.close()
        for client in clients:
            with pytest.raises(ServerGone):
                await client.list_tools()


async def test_progress_is_told_and_renews_the_time_up_to_a_limit(program):
    updates: list[CallUpdate] = []
    with anyio.fail_after(HANG_S):
        async with program("plain", call_timeout_s=1.5, call_limit_s=60) as client:
            result = await client.call_tool("slow", {"seconds": 2.4, "steps": 6}, on_update=updates.append)
            assert text_of(result) == "at last"
            assert [update.progress for update in updates] == [0, 1, 2, 3, 4, 5]
            assert {update.total for update in updates} == {6}
        async with program("plain", call_timeout_s=30, call_limit_s=0.3) as client:
            with pytest.raises(CallTimedOut):
                await client.call_tool("slow", {"seconds": 60, "steps": 600})


@pytest.mark.parametrize("era", ["plain", "modern"])
async def test_a_cancelled_call_is_taken_back_and_its_late_answer_is_nobody_s(program, era):
    with anyio.fail_after(HANG_S):
        async with program(era) as client:
            with anyio.move_on_after(0.05) as scope:
                await client.call_tool("slow", {"seconds": 0.4, "steps": 4})
            assert scope.cancelled_caught
            assert text_of(await client.call_tool("slow", {"seconds": 0.6, "steps": 2})) == "at last"
            assert not [line for line in client.problems if "answer" in line], "the server was told"


@pytest.mark.parametrize("era", ["plain", "modern"])
async def test_a_person_is_asked_and_defaults_are_filled_in(program, era):
    with anyio.fail_after(HANG_S):
        async with program(era, parts=ClientParts(handler=Adult())) as client:
            answer = json.loads(text_of(await client.call_tool("ask", {})))
            accepted = {"action": "accept", "content": {"name": "Ada", "age": 7}}
            assert answer == ([accepted, "s+/="] if era == "modern" else accepted)
        async with program(era) as client:
            answer = json.loads(text_of(await client.call_tool("ask", {})))
            assert answer == ([{"action": "decline"}, "s+/="] if era == "modern" else {"action": "decline"})


async def test_what_was_switched_off_is_refused_to_the_server(program):
    with anyio.fail_after(HANG_S):
        async with program("plain,asks_in_call", elicitation=()) as client:
            answer = json.loads(text_of(await client.call_tool("ask", {})))
            assert answer["code"] == -32601
            assert any("roots/list is not offered" in line for line in client.problems)
        async with program("modern", elicitation=()) as client:
            with pytest.raises(ProtocolError, match="not offered"):
                await client.call_tool("ask", {})


async def test_a_handler_that_fails_is_an_error_to_the_server_without_its_words(program):
    class Broken(DecliningHandler):
        async def elicit(self, request):
            raise ValueError("a secret")

    with anyio.fail_after(HANG_S):
        async with program("plain", parts=ClientParts(handler=Broken())) as client:
            answer = json.loads(text_of(await client.call_tool("ask", {})))
            assert (answer["code"], "secret" in str(answer)) == (-32603, False)


async def test_rounds_without_a_question_end(program, monkeypatch):
    monkeypatch.setattr("caliban_mcp_client.rounds._LAST_PAUSE_S", 0.01)
    monkeypatch.setattr("caliban_mcp_client.rounds._FIRST_PAUSE_S", 0.01)
    with anyio.fail_after(HANG_S):
        async with program("modern,never_content") as client:
            with pytest.raises(ProtocolError, match="10 rounds"):
                await client.call_tool("ask", {})


@pytest.mark.parametrize(
    ("word", "names", "match"),
    [
        ("endless_cursor", [f"t{number}" for number in range(1, 65)], "64 pages"),
        ("same_cursor", FOUR, "comes back"),
        ("pages", FOUR, None),
        ("broken_tools", [*FOUR, "bare"], "left out"),
        ("no_list", [], "no list"),
    ],
)
async def test_lists_end_and_a_broken_entry_costs_no_other(program, word, names, match):
    with anyio.fail_after(HANG_S):
        async with program(f"plain,{word}") as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools] == names
            assert match is None or any(match in line for line in client.problems)
            if word == "broken_tools":
                assert tools[-1].input_schema == {"type": "object", "properties": {}}


async def test_what_a_server_has_beside_tools_is_read(program):
    with anyio.fail_after(HANG_S):
        async with program("plain") as client:
            (prompt,) = await client.list_prompts()
            assert (prompt.name, prompt.arguments[0].required) == ("greet", True)
            filled = await client.get_prompt("greet", {"who": "Ada"})
            assert filled.messages[0].content == TextContent(text="Hello Ada")
            (resource,) = await client.list_resources()
            (template,) = await client.list_templates()
            assert (resource.size_bytes, template.uri_template) == (13, "demo://{name}")
            (contents,) = await client.read_resource(resource.uri)
            assert (contents.uri, contents.text) == ("demo://one", "what it holds")
            completion = await client.complete("prompt", "greet", "who", "A")
            assert (len(completion.values), completion.values[0], completion.has_more) == (100, "A0", True)
            await client.ping()
            await client.subscribe("demo://one")
            assert await anext(aiter(client.changes)) == ResourceUpdated(uri="demo://one")
            await client.unsubscribe("demo://one")


async def test_a_value_that_does_not_fit_its_schema_is_kept_and_told(program):
    with anyio.fail_after(HANG_S):
        async with program("plain,bad_output") as client:
            await client.list_tools()
            result = await client.call_tool("add", SUM)
            assert result.structured == {"sum": "many"}
            assert "does not fit" in result.problems[0]


async def test_changes_are_told_once_however_often_they_are_said(program):
    with anyio.fail_after(HANG_S):
        async with program("plain,changes") as client:
            await client.list_tools()
            changes = aiter(client.changes)
            assert await anext(changes) == ToolsChanged()
            with anyio.move_on_after(0.05) as scope:
                await anext(changes)
            assert scope.cancelled_caught
        async with program("modern") as client:
            assert await anext(aiter(client.changes)) == ToolsChanged(), "by a stream that was asked for"
        async with program("plain,changes_in_call") as client:
            assert text_of(await client.call_tool("add", SUM)) == "8"
            assert await anext(aiter(client.changes)) == ToolsChanged()


@pytest.mark.parametrize(
    "word", ["ping_flood", "stdout_flood", "stderr_flood", "asks_in_call", "asks_leaving", "late"]
)
async def test_floods_and_questions_hold_nothing_up(program, word):
    with anyio.fail_after(HANG_S):
        async with program(f"plain,{word}") as client:
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(client.call_tool, "add", SUM)
            assert text_of(await client.call_tool("add", SUM)) == "8"


async def test_a_failure_of_a_tool_that_is_not_there_is_the_server_s_own_error(program):
    with anyio.fail_after(HANG_S):
        async with program("plain") as client:
            with pytest.raises(CallError, match="no tool none") as caught:
                await client.call_tool("none", {})
            assert caught.value.code == -32602


async def test_arguments_with_halves_of_characters_are_sent_all_the_same(program):
    with anyio.fail_after(HANG_S):
        async with program("plain") as client:
            assert json.loads(text_of(await client.call_tool("echo", {"x": "a\ud800"}))) == {"x": "a\ufffd"}


async def test_before_and_after_a_conversation_there_is_none(program):
    client = program("plain")
    with pytest.raises(ServerGone):
        _ = client.info
    with anyio.fail_after(HANG_S):
        async with client:
            pass
        for call in (client.list_tools, client.list_prompts, client.ping):
            with pytest.raises(ServerGone):
                await call()
        assert [change async for change in client.changes] == []


async def test_a_listener_that_fails_costs_nothing_but_a_word(program):
    class Broken(DecliningHandler):
        def log(self, message):
            raise ValueError("no")

    def fail(update):
        raise ValueError("no")

    with anyio.fail_after(HANG_S):
        async with program("plain,stdout_flood", parts=ClientParts(handler=Broken())) as client:
            result = await client.call_tool("slow", {"seconds": 0.1, "steps": 2}, on_update=fail)
            assert text_of(result) == "at last"
            assert any(line.startswith("a listener that failed") for line in client.problems)


async def test_a_start_that_is_not_wanted_any_more_is_given_up(program):
    client = program("hang")
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:

            async def own():
                with pytest.raises(ConnectError, match="closed"):
                    await client.run()

            group.start_soon(own)
            await anyio.sleep(0.1)
            client.close()


async def test_logs_are_asked_for_and_handed_on(program):
    lines = []

    class Reader(DecliningHandler):
        def log(self, message):
            lines.append(message)

    for era in ("plain", "modern"):
        lines.clear()
        with anyio.fail_after(HANG_S):
            async with program(
                f"{era},logs", parts=ClientParts(handler=Reader()), log_level="debug"
            ) as client:
                while not lines:
                    await client.list_tools()
        assert (lines[0].level, lines[0].data) == ("debug", "you asked for it")


async def test_an_address_that_a_call_needs_is_shown_to_a_person_and_the_call_made_again(program):
    asked = []

    class Opening(DecliningHandler):
        async def elicit(self, request):
            asked.append(request.url)
            return ElicitResult(action="accept")

    with anyio.fail_after(HANG_S):
        async with program("plain,url_first", parts=ClientParts(handler=Opening())) as client:
            assert text_of(await client.call_tool("add", SUM)) == "8"
            assert asked == ["https://example.com/open"]
        async with program("plain,url_first") as client:
            with pytest.raises(CallError, match="-32042"):
                await client.call_tool("add", SUM)
