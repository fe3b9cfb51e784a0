"""Real reports of users of such tools about summaries, agents and work in the background, by their numbers.

Which report is shown where is in `test_reports.py`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from command_kit import needs_procfs
from hang_guard import HANG_S, wait_until
from test_reports_commands import marked
from test_reports_tools import put

from caliban_common.message import Message, TextBlock, user
from caliban_common.testing import sample_image
from caliban_provider.testing.exchange import Exchange, Pause
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator
from caliban_sessions import SessionStore

FRAMES = ("--output-format", "stream-json")
TALK = ("-p", "--input-format", "stream-json", *FRAMES)
Body = Mapping[str, Any]


def call(name: str, **args: Any) -> Exchange:
    return wire.exchange(wire.tool_use(name, args))


def said(text: str = "ok") -> Exchange:
    return wire.exchange(wire.text(text))


@contextmanager
def served(cli, reply: Callable[[Body], Exchange]) -> Iterator[None]:
    """A strict server that makes each reply of the request's body."""
    first = cli.server
    with LoopbackServer(lambda request: reply(request.json), validator=StrictValidator()) as server:
        cli.server = server
        yield
        assert server.refused == ()
    cli.server = first


def texts(body: Body) -> list[str]:
    """All that a request says in words, results included, in order."""
    out = [block["text"] for block in body.get("system", ())]
    for block in (block for message in body["messages"] for block in message["content"]):
        parts = block["content"] if block["type"] == "tool_result" else [block]
        out += [part["text"] for part in parts if part["type"] == "text"]
    return out


def is_summary(body: Body) -> bool:
    return "You keep the memory" in texts(body)[0]


def prompt(text: str) -> bytes:
    return json.dumps({"type": "user", "content": text}).encode() + b"\n"


def control(subtype: str) -> bytes:
    return json.dumps({"type": "control", "subtype": subtype}).encode() + b"\n"


TODOS = [
    {"id": f"t{n}", "content": f"task {n}", "status": "completed" if n < 3 else "pending"} for n in range(20)
]


@pytest.mark.parametrize("trigger", ["auto", "refused"])
def test_b139_b140_a_summary_loses_no_rule_request_or_list(cli, trigger):
    put(cli.work, {"f": "word " * 400})
    bodies: list[Body] = []

    def reply(body: Body) -> Exchange:
        if is_summary(body):
            return said("Seen so far: SUMMARY-1.")
        bodies.append(body)
        if len(bodies) == 1:
            return call("TodoWrite", todos=TODOS)
        if "SUMMARY-1" in "".join(texts(body)):
            return said("done")
        if trigger == "refused" and len(bodies) == 12:
            return wire.failure(400, "invalid_request_error", "prompt is too long: 210000 tokens")
        return call("Read", path="f", limit=len(bodies))

    share = 0.006 if trigger == "auto" else 0
    flags = ("--system", "RULE-77", "--settings", json.dumps({"auto_compact_threshold": share}))
    with served(cli, reply):
        done = cli.run("-p", "do STEP-9", *FRAMES, "--session", "s", *flags)
        assert (done.code, done.frames[-1]["result"]) == (0, "done"), done.err
        words = texts(bodies[-1])
        assert (words[0], words[1].split("\n")[-1]) == ("RULE-77", "Seen so far: SUMMARY-1.")
        assert words.count("do STEP-9") == 1
        assert bodies[-1]["tools"] == bodies[0]["tools"]
        again = cli.run("-p", "and now", "-r", "s", *FRAMES)
        assert again.code == 0
    resumed = texts(bodies[-1])
    assert resumed[0] == "RULE-77" and resumed[-1] == "and now"
    for body in bodies[-2:]:
        (kept,) = [text for text in texts(body) if "- last call of TodoWrite: " in text]
        line = kept.partition("- last call of TodoWrite: ")[2].partition("\n")[0]
        assert json.loads(line)["todos"] == TODOS
    saved = json.loads((cli.home / ".local/share/caliban/sessions/s.json").read_text())
    assert saved["todos"] == TODOS


def test_b139_a_request_right_before_the_summary_stays_word_for_word(cli):
    store = SessionStore(cli.home / ".local/share/caliban/sessions")
    with store.open("s", provider="anthropic", model=wire.MODEL) as session:
        for n in range(12):
            session.append(
                Message(role=("user", "assistant")[n % 2], content=(TextBlock(text=f"{n} " * 500),))
            )
    cli.script(said("SUMMARY-1"), said("done"))
    flags = ("--settings", '{"auto_compact_threshold": 0.001}')
    assert cli.run("-p", "do STEP-9", "-r", "s", *flags).out == "done\n"
    asked, after = cli.bodies()
    assert is_summary(asked) and not is_summary(after)
    assert after["messages"][-1]["content"][-1]["text"] == "do STEP-9"
    assert any("SUMMARY-1" in text for text in texts(after))


def test_b141_images_count_as_images_and_go_with_the_summary(cli):
    picture = sample_image("image/png")
    chunk = b"teXt" + bytes(1_000_000)
    padded = (1_000_000).to_bytes(4, "big") + chunk + crc32(chunk).to_bytes(4, "big")
    padded = picture[:-12] + padded + picture[-12:]
    put(cli.work, {f"{n}.png": padded for n in range(10)})
    reads = [call("Read", path=f"{n}.png") for n in range(10)]
    cli.script(*reads, said("seen"), said("SUMMARY-1"), said("done"))
    done = cli.run(*TALK, "--session", "s", stdin=prompt("look") + control("compact") + prompt("on"))
    assert done.code == 0, done.err
    (boundary,) = [frame for frame in done.of("system") if frame["subtype"] == "compact_boundary"]
    assert boundary["compact_metadata"]["pre_tokens"] < 10 * 3000
    sent = [json.dumps(body).count('"type": "image"') for body in cli.bodies()]
    assert sent[10] == 10 and sent[11] == 0 and sent[12] <= 4
    assert "[image]" in json.dumps(cli.bodies()[11])
    kept = cli.home / ".local/share/caliban/sessions"
    assert sum(file.stat().st_size for file in kept.rglob("*") if file.is_file()) < 2 * 10 * 1_500_000


def conversation(cli, *messages: Message) -> None:
    store = SessionStore(cli.home / ".local/share/caliban/sessions")
    with store.open("s", provider="anthropic", model=wire.MODEL) as session:
        for message in messages:
            session.append(message)


def test_b142_where_there_is_nothing_to_summarise_nobody_is_asked(cli):
    nothing = "the conversation could not be summarised: there is nothing old enough to compact"
    first = cli.run(*TALK, "--session", "s", stdin=control("compact"))
    assert (first.code, first.frames[-1]["error"], cli.bodies()) == (1, nothing, [])
    conversation(cli, *(user(f"{n} " * 500) if n % 2 == 0 else _answer(f"{n} " * 500) for n in range(14)))
    cli.script(said("SUMMARY-1"))
    twice = cli.run(*TALK, "-r", "s", stdin=control("compact") * 2)
    assert [frame["subtype"] for frame in twice.of("system")] == ["init", "compact_boundary"]
    assert [frame.get("error") for frame in twice.of("result")] == [nothing]
    assert len(cli.bodies()) == 1


def _answer(text: str) -> Message:
    return Message(role="assistant", content=(TextBlock(text=text),))


def test_b142_a_summary_that_is_interrupted_leaves_all_as_it_was(cli):
    said_before = [user(f"{n} " * 500) if n % 2 == 0 else _answer(f"{n} " * 500) for n in range(14)]
    conversation(cli, *said_before)
    cli.script(wire.broken(wire.text("SUMM"), after=4, end=Pause(HANG_S)), said("ok"))
    process = cli.begin(*TALK, "-r", "s", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(control("compact"))
    process.stdin.flush()
    wait_until(lambda: len(cli.bodies()) == 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG_S)
    assert cli.run("-p", "on", "-r", "s").out == "ok\n"
    assert texts(cli.bodies()[-1]) == [*(message.text for message in said_before), "on"]


def test_b155_agents_that_start_agents_come_to_an_end(cli):
    cli.configure("[agents]\nmax_depth = 2\n")
    depths: list[int] = []

    def reply(body: Body) -> Exchange:
        has_agents = any(tool["name"] == "Agent" for tool in body["tools"])
        depths.append(has_agents)
        if len(body["messages"]) > 1:
            return said("done")
        # It calls for another agent whether or not there is a tool for that.
        return wire.exchange(*(wire.tool_use("Agent", {"description": "d", "prompt": "again"}) for _ in "ab"))

    with served(cli, reply):
        done = cli.run("-p", "go", *FRAMES)
    assert done.code == 0
    # One at the top, two below it, four below those: asked twice each, the last without the tool.
    assert (len(depths), depths.count(0)) == (2 * (1 + 2 + 4), 2 * 4)
    refused = [frame for frame in done.of("tool_result") if frame["is_error"]]
    assert len(refused) == 8 and all("Agent" in json.dumps(frame["content"]) for frame in refused)


@pytest.mark.parametrize("line", ["disallowedTools: Agent", "tools: Read, Glob"])
def test_b155_a_kind_of_agent_that_may_start_none_is_not_offered_it(cli, line):
    cli.configure("[agents]\nmax_depth = 5\n")
    put(
        cli.home / ".config/caliban/agents",
        {"lone.md": f"---\nname: lone\ndescription: alone\n{line}\n---\nAlone.\n"},
    )
    task = {"description": "d", "prompt": "again", "subagent_type": "lone"}
    again = call("Agent", description="d", prompt="again")
    cli.script(call("Agent", **task), again, said("child"), said("done"))
    done = cli.run("-p", "go", *FRAMES)
    assert done.code == 0
    assert "Agent" not in [tool["name"] for tool in cli.bodies()[1]["tools"]]
    assert done.of("tool_result")[0]["is_error"] is True


def shells(body: Body) -> list[str]:
    """The ids of the commands in the background that a request tells of, in their order."""
    return list(dict.fromkeys(re.findall(r"shell_id ([0-9a-f]{12})", " ".join(texts(body)))))


def results(body: Body) -> list[str]:
    content = body["messages"][-1]["content"]
    return [block["content"][0]["text"] for block in content if block["type"] == "tool_result"]


@needs_procfs
def test_b160_the_end_of_a_background_command_is_told_as_it_was(cli, is_gone):
    commands = [
        'echo $$ > pid0; sh -c "(setsid sleep 600 &) ; until [ -e go ]; do sleep 0.05; done; echo END; '
        'exit 7"; exit $?',
        "echo $$ > pid1; sleep 600",
        "sleep 600 | (trap '' TERM; touch up2; sleep 600) | cat",
        "echo $$ > pid3; sleep 600 & echo x; exit 0",
    ]
    seen: list[str] = []

    def looks(body: Body, *kinds: str) -> Exchange:
        uses = [wire.tool_use(kind, {"shell_id": id}) for kind, id in zip(kinds, shells(body), strict=True)]
        return wire.exchange(*uses)

    def pid(number: int) -> int:
        file = cli.work / f"pid{number}"
        wait_until(lambda: file.exists() and file.read_text().strip())
        return int(file.read_text())

    def reply(body: Body) -> Exchange:
        turn = len(body["messages"]) // 2
        if turn == 0:
            uses = [wire.tool_use("Bash", {"command": c, "background": True}) for c in commands]
            return wire.exchange(*uses)
        seen.extend(results(body))
        if turn == 1:
            wait_until((cli.work / "up2").exists)
            os.kill(pid(1), signal.SIGKILL)
            (cli.work / "go").touch()
            assert all(is_gone(pid(number)) for number in (0, 1, 3))
            return looks(body, *["KillShell"] * 4)
        return looks(body, *["BashOutput"] * 4) if turn == 2 else said()

    with served(cli, reply):
        process = cli.start("-p", "go", *FRAMES, "--no-permissions", env={"TREE_MARK": str(cli.work)})
        out, _ = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, out
    states = [re.search(r"Shell [0-9a-f]+: (.*) after", text)[1] for text in seen[4:]]
    # One that has ended is never relabelled, whoever wants it killed.
    how = ["exited with code 7", "ended by signal 9", "killed", "exited with code 0"]
    assert states == how * 2
    assert "END" in seen[4]
    wait_until(lambda: not marked(f"TREE_MARK={cli.work}"))


def test_b161_a_background_command_outlives_turns_and_summaries_and_its_end_is_told_once(cli):
    conversation(cli, *(user(f"{n} " * 500) if n % 2 == 0 else _answer(f"{n} " * 500) for n in range(14)))
    line = (
        "for n in `seq 20`; do echo line $n; done; until [ -e go ]; do sleep 0.1; done; echo END; touch over"
    )
    cli.script(call("Bash", command=line, background=True), said("started"), said("SUMMARY-1"))
    process = cli.begin(*TALK, "-r", "s", "--no-permissions", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None

    def frames(kind: str) -> Mapping[str, Any]:
        while (frame := json.loads(process.stdout.readline()))["type"] != kind:
            pass
        return frame

    def talk(*lines: bytes) -> None:
        process.stdin.write(b"".join(lines))
        process.stdin.flush()

    talk(prompt("start it"))
    frames("result")
    talk(control("compact"))
    frames("result")
    id = shells(cli.bodies()[1])[0]
    cli.script(call("BashOutput", shell_id=id), said("still on"))
    talk(prompt("look"))
    frames("result")
    assert "running for" in results(cli.bodies()[-1])[0]
    (cli.work / "go").touch()
    wait_until((cli.work / "over").exists)
    news: list[str] = []
    while not news:  # the command is over before its end is known of
        cli.script(said("waiting"))
        talk(prompt("and?"))
        frames("result")
        news = [text for text in texts(cli.bodies()[-1]) if text.startswith("<background_result")]
    assert re.fullmatch(
        rf'<background_result status="news">\nshell_id {id}: exited with code 0 after \d+ s: for n in .*\n'
        r"</background_result>",
        news[0],
    )
    cli.script(call("BashOutput", shell_id=id, since_offset=0), call("Glob", pattern="*"), said("all"))
    talk(prompt("read it"))
    frames("result")
    read = next(text for text in results(cli.bodies()[-2]) if text.startswith("→ Shell"))
    assert [read.split("\n")[1:][n + 1] for n in range(21)] == [*(f"line {n + 1}" for n in range(20)), "END"]
    blocks = [text for text in texts(cli.bodies()[-1]) if text.startswith("<background_result")]
    assert blocks == news
    process.stdin.close()
    process.stdout.read()
    assert process.wait(timeout=HANG_S) == 0


@needs_procfs
@pytest.mark.parametrize("kills", [True, False])
def test_b162_a_command_that_an_agent_leaves_running_is_shown_to_its_caller(cli, kills):
    put(
        cli.home / ".config/caliban/agents",
        {"worker.md": "---\nname: worker\ndescription: works\n---\nWork.\n"},
    )

    def reply(body: Body) -> Exchange:
        words = texts(body)
        if "leave it on" in words:
            if len(body["messages"]) == 1:
                return call("Bash", command="sleep 600", background=True)
            return said("I left something on.")
        if len(body["messages"]) == 1:
            return call("Agent", description="d", prompt="leave it on", subagent_type="worker")
        if kills and len(body["messages"]) == 3:
            return call("KillShell", shell_id=shells(body)[0])
        return said("done")

    marker = f"TREE_MARK={cli.work}"
    with served(cli, reply):
        done = cli.run("-p", "go", *FRAMES, "--no-permissions", env={"TREE_MARK": str(cli.work)})
        bodies = cli.bodies()
    assert done.code == 0
    (news,) = [text for text in texts(bodies[3]) if text.startswith("<background_result")]
    assert re.search(r"shell_id [0-9a-f]{12} of the agent worker: running for \d+ s: sleep 600", news)
    if kills:
        assert ": killed after" in results(bodies[4])[0]
    wait_until(lambda: not marked(marker))


@needs_procfs
def test_b167_memory_does_not_grow_with_what_was_summarised(cli):
    turns, sizes, count = 160, {}, 0
    host: list[int] = []

    def reply(body: Body) -> Exchange:
        nonlocal count
        if is_summary(body):
            return said("SUMMARY of what was")
        count += 1
        if count in (40, turns):
            status = Path(f"/proc/{host[0]}/status").read_text()
            sizes[count] = int(status.split("VmRSS:")[1].split()[0])
        (cli.work / "big").write_text("\n".join(f"{count} {n} " + "x" * 50 for n in range(700)))
        return call("Read", path="big") if count < turns else said("done")

    with served(cli, reply):
        flags = ("--max-turns", "500", "--settings", '{"auto_compact_threshold": 0.1}')
        process = cli.start("-p", "go", "--output-format", "json", "--session", "s", *flags)
        host.append(process.pid)
        out, _ = process.communicate(timeout=HANG_S)
    assert json.loads(out)["num_turns"] == turns
    assert sizes[turns] < 1.5 * sizes[40]


def test_b167_a_reply_in_three_thousand_pieces_arrives_whole(cli):
    text = "".join(chr(97 + n % 26) for n in range(3000))
    cli.script(wire.exchange(wire.text(text, piece_chars=1)))
    done = cli.run("-p", "go", *FRAMES, "--include-partial-messages")
    deltas = [frame["delta"] for frame in done.of("text")]
    assert (len(deltas), "".join(deltas), done.frames[-1]["result"]) == (3000, text, text)
